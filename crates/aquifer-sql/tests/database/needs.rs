//! Requests that read or change rows of other tables: policy covers those tables too, and tables that are always denied
//! are never mentioned.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_sql::{Settings, Style};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{Backing, File, Fixture, open};

/// Denies operations by name, to some callers or to all.
#[derive(Default)]
struct TestGate {
    denied: Vec<&'static str>,
    /// Whether every call is denied, so that callers must not learn of it.
    always: bool,
    judged_params: Mutex<Vec<Value>>,
}

impl TestGate {
    fn denies(&self, operation: &Operation) -> bool {
        self.denied.iter().any(|name| *operation.origin.own_name == **name)
    }
}

impl Gate for TestGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        self.judged_params.lock().push(Value::Object(request.judged_params().clone()));
        let mut all = std::iter::once(request.operation()).chain(request.also_needs());
        std::future::ready(match all.any(|operation| self.denies(operation)) {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        })
        .boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for TestGate {
    fn denies_always(&self, operation: &Operation) -> bool {
        self.always && self.denies(operation)
    }

    fn restricts(&self, operation: &Operation) -> bool {
        self.denies(operation)
    }

    fn judges_parameters(&self, _operation: &Operation) -> bool {
        false
    }
}

async fn fixture(settings: Settings, backing: Backing, rules: TestGate) -> (Fixture, Arc<TestGate>) {
    let rules = Arc::new(rules);
    let database = open(settings).await.unwrap();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let engine = Engine::builder(surface).gate(rules.clone()).source(database).build().unwrap();
    (Fixture { engine: Arc::new(engine), backing }, rules)
}

/// A fixture in which these operations are denied.
pub(crate) async fn denying(settings: Settings, backing: Backing, denied: &[&'static str], always: bool) -> Fixture {
    fixture(settings, backing, TestGate { denied: denied.to_vec(), always, ..TestGate::default() }).await.0
}

/// A fixture of each database in each style.
pub(crate) async fn fixtures(
    sqlite: &str,
    _postgres: &str,
    denied: &[&'static str],
    always: bool,
) -> Vec<(Fixture, bool)> {
    let mut all = Vec::new();
    for style in [Style::Tables, Style::Generic] {
        let rules = || TestGate { denied: denied.to_vec(), always, ..TestGate::default() };
        let file = File::create(sqlite);
        let settings = Settings { style, ..file.settings() };
        all.push((fixture(settings, Backing::File(file), rules()).await.0, style == Style::Generic));
        {
            let server = crate::server::Server::new(_postgres).await;
            let settings = Settings { style, ..server.settings() };
            all.push((fixture(settings, Backing::Server(server), rules()).await.0, style == Style::Generic));
        }
    }
    all
}

/// The same request in either style.
pub(crate) async fn ask(
    fixture: &Fixture,
    is_generic: bool,
    verb: &str,
    one: &str,
    many: &str,
    params: Value,
) -> Value {
    if !is_generic {
        let table = if ["list", "search"].contains(&verb) { many } else { one };
        return fixture.call(&format!("{verb}_{table}"), params).await;
    }
    let mut generic = json!({ "table_name": many });
    let (mut key, mut values) = (json!({}), json!({}));
    for (name, value) in params.as_object().unwrap() {
        match (verb, name.as_str()) {
            (_, "dry_run" | "input" | "fields" | "preset" | "filter" | "sort" | "aggregate" | "query" | "first") => {
                generic[name] = value.clone();
            }
            ("create", _) => values[name] = value.clone(),
            _ => key[name] = value.clone(),
        }
    }
    if verb == "create" {
        generic["values"] = values;
    } else if !["list", "search"].contains(&verb) {
        generic["key"] = key;
    }
    let operation =
        if ["list", "search"].contains(&verb) { format!("{verb}_records") } else { format!("{verb}_record") };
    fixture.call(&operation, generic).await
}

const TABLES: &str = "
    CREATE TABLE orders (id INTEGER PRIMARY KEY, n TEXT);
    CREATE TABLE lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id) ON DELETE CASCADE);
    CREATE TABLE parcels (id INTEGER PRIMARY KEY, line_id INTEGER REFERENCES lines(id) ON DELETE SET NULL);
    CREATE TABLE locks (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES orders(id));
    CREATE TABLE vaults (id INTEGER PRIMARY KEY, n TEXT);
    CREATE TABLE boxes (id INTEGER PRIMARY KEY, vault_id INTEGER REFERENCES vaults(id));
    INSERT INTO orders VALUES (1, 'a'), (2, 'b'), (3, 'c'); INSERT INTO lines VALUES (1, 1), (2, 1); INSERT INTO parcels VALUES (1, 1);
    INSERT INTO locks VALUES (1, 2); INSERT INTO vaults VALUES (7, 'v');";

#[tokio::test]
async fn r_saf_2_a_delete_needs_permission_for_its_cascades() {
    for (denied, refused, refused_dry) in [
        (vec!["delete_line"], true, true),
        (vec!["update_parcel"], true, true),
        (vec!["update_line"], false, false),
        (vec!["delete_parcel"], false, false),
        (vec!["delete_lock"], false, false),
        // A dry run also counts the rows.
        (vec!["list_lines"], false, true),
        (vec!["list_parcels"], false, true),
    ] {
        for (fixture, is_generic) in fixtures(TABLES, TABLES, &denied, false).await {
            let dry = ask(&fixture, is_generic, "delete", "order", "orders", json!({ "id": 1, "dry_run": true })).await;
            assert_eq!(dry["error"]["code"] == "PERMISSION_DENIED", refused_dry, "{denied:?}: {dry}");
            let done = ask(&fixture, is_generic, "delete", "order", "orders", json!({ "id": 1 })).await;
            assert_eq!(done["error"]["code"] == "PERMISSION_DENIED", refused, "{denied:?}: {done}");
            let left = if refused { "2" } else { "0" };
            assert_eq!(fixture.value("SELECT count(*) FROM lines").await, left, "{denied:?}: {done}");
            // A delete without cascades needs nothing else.
            let other = ask(&fixture, is_generic, "delete", "parcel", "parcels", json!({ "id": 1 })).await;
            assert_eq!(other["success"] == json!(true), denied != ["delete_parcel"], "{denied:?}: {other}");
        }
    }
}

/// A reference by a hidden column cascades all the same.
#[tokio::test]
async fn r_saf_2_a_delete_needs_permission_for_cascades_by_hidden_columns() {
    let file = File::create(TABLES);
    let mut settings = file.settings();
    let hide = aquifer_sql::TableSettings { hide: vec!["order_id".to_owned()], ..Default::default() };
    settings.tables.insert("lines".to_owned(), hide);
    let rules = TestGate { denied: vec!["delete_line"], ..TestGate::default() };
    let (fixture, _) = fixture(settings, Backing::File(file), rules).await;
    fixture.call_err("delete_order", json!({ "id": 1 }), "PERMISSION_DENIED").await;
}

#[tokio::test]
async fn r_saf_5_tables_that_are_always_denied_are_not_named() {
    let all = ["list", "search", "get", "create", "update", "delete"];
    let denied: Vec<&'static str> = all
        .iter()
        .flat_map(|verb| {
            ["lock", "vault", "line"].map(|table| {
                let plural = if ["list", "search"].contains(verb) { "s" } else { "" };
                &*format!("{verb}_{table}{plural}").leak()
            })
        })
        .filter(|name| *name != "delete_line")
        .collect();
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &denied, true).await {
        for (verb, one, many, params) in [
            ("delete", "order", "orders", json!({ "id": 2, "dry_run": true })),
            ("delete", "order", "orders", json!({ "id": 2 })),
            ("create", "box", "boxes", json!({ "id": 1, "vault_id": 99, "dry_run": true })),
            ("create", "box", "boxes", json!({ "id": 1, "vault_id": 99 })),
            ("delete", "order", "orders", json!({ "id": 1, "dry_run": true })),
        ] {
            let answer = ask(&fixture, is_generic, verb, one, many, params.clone()).await;
            let words = answer.to_string().replace("vault_id", "");
            assert!(!["lock", "vault", "lines"].iter().any(|name| words.contains(name)), "{verb} {params}: {answer}");
            let is_told = answer["data"]["also"]["another table"]["deleted"] == json!(2)
                || answer["error"]["message"].as_str().is_some_and(|message| {
                    message.contains("of another table") || message.contains("other rows, hidden from you, refer to it")
                });
            assert!(is_told, "{verb} {params}: {answer}");
        }
    }
}

#[tokio::test]
async fn r_saf_2_a_row_count_needs_permission_for_the_counted_table() {
    let count = "_computed.lines_count";
    let refused = [
        ("list", json!({ "fields": ["id", count] })),
        ("list", json!({ "filter": { count: { "gt": 1 } } })),
        ("list", json!({ "filter": { "or": [{ "id": 1 }, { "not": { count: 0 } }] } })),
        ("list", json!({ "sort": count })),
        ("list", json!({ "sort": [{ "field": count, "order": "desc" }] })),
        ("list", json!({ "aggregate": { "all": { "sum": count } } })),
        ("search", json!({ "query": "a", "fields": [count] })),
        ("get", json!({ "id": 1, "fields": [count] })),
    ];
    let allowed = [
        ("list", json!({})),
        ("list", json!({ "fields": "full" })),
        ("list", json!({ "fields": ["id", "_computed.locks_count"] })),
        ("list", json!({ "filter": { "n": "lines_count" } })),
        ("search", json!({ "query": count })),
        ("get", json!({ "id": 1 })),
    ];
    for (fixture, is_generic) in fixtures(TABLES, TABLES, &["list_lines"], false).await {
        for (verb, params) in &refused {
            let answer = ask(&fixture, is_generic, verb, "order", "orders", params.clone()).await;
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{verb} {params}: {answer}");
        }
        for (verb, params) in &allowed {
            let answer = ask(&fixture, is_generic, verb, "order", "orders", params.clone()).await;
            assert_eq!(answer["success"], json!(true), "{verb} {params}: {answer}");
        }
    }
}

/// Rows of a child table are also rows of its parent.
#[tokio::test]
async fn r_saf_2_a_table_needs_permission_for_its_descendants() {
    let sql = "CREATE TABLE bases (id int PRIMARY KEY, n text); CREATE TABLE middles (x text) INHERITS (bases);
        CREATE TABLE kids (y text) INHERITS (middles); INSERT INTO kids VALUES (5, 'hushword', 'x', 'y');
        CREATE TABLE tags (id int PRIMARY KEY, base_id int REFERENCES bases);";
    for exclude in ["", "middles"] {
        for (verb, params) in [
            ("list", json!({})),
            ("get", json!({ "id": 5 })),
            ("update", json!({ "id": 5, "input": { "n": "changed" } })),
            ("delete", json!({ "id": 5 })),
        ] {
            let server = crate::server::Server::new(sql).await;
            let mut settings = server.settings();
            settings.exclude.extend(Some(exclude.to_owned()).filter(|pattern| !pattern.is_empty()));
            let rules =
                TestGate { denied: vec!["list_kids", "update_kid", "delete_kid", "get_kid"], ..TestGate::default() };
            let (fixture, _) = fixture(settings, Backing::Server(server), rules).await;
            let answer = ask(&fixture, false, verb, "basis", "bases", params.clone()).await;
            assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{exclude} {verb} {params}: {answer}");
            assert_eq!(fixture.value("SELECT n FROM kids").await, "hushword");
            fixture.call_ok("list_tags", json!({})).await;
        }
    }
}

/// Rules see all names of a table, whichever the caller uses.
#[tokio::test]
async fn r_saf_2_rules_see_every_name_of_a_table() {
    let server =
        crate::server::Server::new("CREATE SCHEMA sales; CREATE TABLE sales.orders (id int PRIMARY KEY);").await;
    let settings = Settings { style: Style::Generic, schemas: vec!["sales".to_owned()], ..server.settings() };
    let (fixture, rules) = fixture(settings, Backing::Server(server), TestGate::default()).await;
    for used in ["orders", "order", "sales.orders", "SALES.Orders", "Orders"] {
        for operation in ["list_records", "get_table_schema"] {
            fixture.call_ok(operation, json!({ "table_name": used })).await;
            let judged = rules.judged_params.lock().last().cloned().unwrap_or_default();
            for name in ["orders", "order", "sales.orders", used] {
                let names = judged["table_name"].as_array().cloned().unwrap_or_default();
                assert!(names.contains(&json!(name)), "{operation} {used}: {judged}");
            }
        }
    }
}

/// Tables that are always denied are not suggested, and do not make a name ambiguous.
#[tokio::test]
async fn r_saf_5_an_ambiguous_name_suggests_no_denied_table() {
    let sql = "CREATE SCHEMA sales; CREATE SCHEMA hr; CREATE SCHEMA it;
        CREATE TABLE sales.orders (id int PRIMARY KEY); CREATE TABLE hr.orders (id int PRIMARY KEY);
        CREATE TABLE it.orders (id int PRIMARY KEY); CREATE TABLE pets (id int PRIMARY KEY);";
    let names =
        ["list_hr_orders", "search_hr_orders", "get_hr_order", "create_hr_order", "update_hr_order", "delete_hr_order"];
    let more =
        ["list_it_orders", "search_it_orders", "get_it_order", "create_it_order", "update_it_order", "delete_it_order"];
    for (denied, expected) in [
        (names.to_vec(), Some(vec!["sales_orders", "it_orders"])),
        (names.iter().chain(&more).copied().collect(), None),
    ] {
        let server = crate::server::Server::new(sql).await;
        let schemas = ["public", "sales", "hr", "it"].map(str::to_owned).to_vec();
        let settings = Settings { style: Style::Generic, schemas, ..server.settings() };
        let rules = TestGate { denied, always: true, ..TestGate::default() };
        let (fixture, _) = fixture(settings, Backing::Server(server), rules).await;
        let answer = fixture.call("list_records", json!({ "table_name": "Orders" })).await;
        assert!(!answer.to_string().contains("hr_"), "{answer}");
        match expected {
            Some(names) => assert_eq!(answer["error"]["details"]["suggestions"], json!(names), "{answer}"),
            None => assert_eq!(answer["success"], json!(true), "{answer}"),
        }
    }
}
