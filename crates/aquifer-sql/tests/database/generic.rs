//! Generic operations: policy covers the table behind every alias.

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_sql::{Settings, Style};
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::support::{Backing, File, Fixture, open};

/// A gate that denies operations by name, and records the operations it is asked about.
#[derive(Default)]
struct TestGate {
    denied: Vec<&'static str>,
    judged: Mutex<Vec<String>>,
}

impl Gate for TestGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        let all = std::iter::once(request.operation()).chain(request.also_needs());
        let mut names: Vec<String> = all.map(|operation| operation.origin.own_name.to_string()).collect();
        let is_denied = names.iter().any(|name| self.denied.contains(&name.as_str()));
        if let Some(table) = request.operation().origin.backing.table() {
            names.push(format!("table {table}"));
        }
        self.judged.lock().push(names.join(" "));
        std::future::ready(match is_denied {
            true => Decision::Refuse(Failure::new(Code::PermissionDenied, "Permission denied")),
            false => Decision::Allow(Pass::default()),
        })
        .boxed()
    }
}

impl TestGate {
    fn last(&self) -> String {
        self.judged.lock().last().cloned().unwrap_or_default()
    }
}

async fn fixture(settings: Settings, backing: Backing, denied: &[&'static str]) -> (Fixture, Arc<TestGate>) {
    let rules = Arc::new(TestGate { denied: denied.to_vec(), ..TestGate::default() });
    let database = open(Settings { style: Style::Generic, ..settings }).await.unwrap();
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    let engine = Engine::builder(surface).gate(rules.clone()).source(database).build().unwrap();
    (Fixture { engine: Arc::new(engine), backing }, rules)
}

const TABLES: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE Orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), note TEXT);
    CREATE TABLE order_lines (id INTEGER PRIMARY KEY, order_id INTEGER REFERENCES Orders(id), n INTEGER);
    CREATE TABLE \"Odd Name\" (\"The Key\" INTEGER PRIMARY KEY, dry_run TEXT);
    INSERT INTO customers VALUES (1, 'Ann'); INSERT INTO Orders VALUES (1, 1, 'x'); INSERT INTO order_lines VALUES (1, 1, 5);";

#[tokio::test]
async fn r_saf_2_policy_sees_the_table_behind_every_alias() {
    let file = File::create(TABLES);
    let (fixture, rules) = fixture(file.settings(), Backing::File(file), &[]).await;
    for alias in ["orders", "order", "Orders", "Order", "ORDERS", "oRdErS"] {
        let key = json!({ "id": 1 });
        for (operation, params, judged) in [
            ("list_records", json!({}), "list_orders table Orders"),
            ("search_records", json!({ "query": "x" }), "search_orders table Orders"),
            ("get_record", json!({ "key": key }), "get_order table Orders"),
            ("create_record", json!({ "values": { "note": "y" }, "dry_run": true }), "create_order table Orders"),
            ("update_record", json!({ "key": key, "input": { "note": "z" } }), "update_order table Orders"),
            ("delete_record", json!({ "key": key, "dry_run": true }), "delete_order table Orders"),
            ("get_table_schema", json!({}), "get_table_schema list_orders"),
        ] {
            let mut params = params;
            params["table_name"] = alias.into();
            let answer = fixture.call(operation, params).await;
            assert!(answer["success"] == json!(true) || operation == "delete_record", "{operation} {alias}: {answer}");
            assert_eq!(rules.last(), judged, "{operation} {alias}");
        }
    }
    for (alias, judged) in [
        ("order_lines", "list_order_lines table order_lines"),
        ("order_line", "list_order_lines table order_lines"),
        ("OrderLine", "list_order_lines table order_lines"),
        ("Odd Name", "list_odd_names table Odd Name"),
        ("odd-name", "list_odd_names table Odd Name"),
    ] {
        fixture.call_ok("list_records", json!({ "table_name": alias })).await;
        assert_eq!(rules.last(), judged, "{alias}");
    }
    // Unknown names are not passed to the gate, and the nearest name is suggested in its usable form.
    let before = rules.judged.lock().len();
    let error = fixture.call_err("list_records", json!({ "table_name": "ordres" }), "NOT_FOUND_RESOURCE").await;
    assert_eq!(error["details"]["suggestions"][0], "orders", "{error}");
    for nonsense in ["", "_", "sqlite_schema", "orders; --", "main.orders"] {
        fixture.call_err("list_records", json!({ "table_name": nonsense }), "NOT_FOUND_RESOURCE").await;
    }
    assert_eq!(rules.judged.lock().len(), before);
    let listed = fixture.call_ok("list_tables", json!({ "sort": "name" })).await;
    let names: Vec<&str> =
        listed["items"].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["customers", "odd_names", "order_lines", "orders"]);
    for name in names {
        let schema = fixture.call_ok("get_table_schema", json!({ "table_name": name })).await;
        assert_eq!(schema["table_name"], name);
    }
}

#[tokio::test]
async fn r_saf_2_an_ambiguous_table_name_is_refused() {
    let file = File::create(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY); CREATE TABLE \"order\" (id INTEGER PRIMARY KEY);
         CREATE TABLE big_box (id INTEGER PRIMARY KEY); CREATE TABLE bigbox (id INTEGER PRIMARY KEY);",
    );
    let (fixture, rules) = fixture(file.settings(), Backing::File(file), &[]).await;
    // The names of list_tables are never ambiguous, and neither are exact names.
    for name in ["order", "orders"] {
        fixture.call_ok("list_records", json!({ "table_name": name })).await;
        assert_eq!(rules.last(), format!("list_{name} table {name}"));
    }
    fixture.call_ok("list_records", json!({ "table_name": "bigbox" })).await;
    assert_eq!(rules.last(), "list_bigboxes table bigbox");
    let error = fixture.call_err("list_records", json!({ "table_name": "BigBox" }), "VALIDATION_INVALID_VALUE").await;
    assert_eq!(error["details"]["suggestions"], json!(["big_boxes", "bigboxes"]), "{error}");
}

/// Tables whose own operations would be named like the generic ones.
#[tokio::test]
async fn r_saf_2_tables_named_like_generic_operations_get_other_names() {
    let file = File::create(
        "CREATE TABLE records (id INTEGER PRIMARY KEY, a TEXT); CREATE TABLE tables (id INTEGER PRIMARY KEY);
         CREATE TABLE table_schema (id INTEGER PRIMARY KEY); INSERT INTO records VALUES (1, 'x');",
    );
    let (fixture, rules) = fixture(file.settings(), Backing::File(file), &[]).await;
    let row = fixture.call_ok("get_record", json!({ "table_name": "records", "key": { "id": 1 } })).await;
    assert_eq!(row["a"], "x");
    assert!(rules.last().starts_with("get_record_x") && rules.last().ends_with("table records"), "{}", rules.last());
    for table in ["tables", "table_schema"] {
        assert_eq!(fixture.call_ok("list_records", json!({ "table_name": table })).await["items"], json!([]));
    }
    assert_eq!(fixture.call_ok("list_tables", json!({})).await["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn r_saf_2_a_denied_table_is_denied_on_every_path() {
    let file = File::create(TABLES);
    let denied = ["list_orders", "update_order"];
    let (fixture, rules) = fixture(file.settings(), Backing::File(file), &denied).await;
    let root = |table: &str| json!({ "element_type": table, "id": 1 });
    let refused = [
        ("list_records", json!({ "table_name": "order" })),
        ("update_record", json!({ "table_name": "ORDER", "key": { "id": 1 }, "input": { "note": "z" } })),
        ("update_order", json!({ "id": 1, "input": { "note": "z" } })),
        ("get_table_schema", json!({ "table_name": "Orders" })),
        // Every table that a walk may reach.
        ("query_relationships", json!({ "root": root("orders"), "direction": "both" })),
        ("query_relationships", json!({ "root": root("Order"), "direction": "incoming" })),
        ("query_relationships", json!({ "root": root("customer"), "direction": "incoming" })),
        (
            "query_relationships",
            json!({ "root": root("customers"), "direction": "both", "depth": 3, "include": ["root"] }),
        ),
        ("query_relationships", json!({ "root": root("order_lines"), "direction": "outgoing" })),
    ];
    for (operation, params) in refused {
        fixture.call_err(operation, params, "PERMISSION_DENIED").await;
    }
    let allowed = [
        ("list_records", json!({ "table_name": "customers" })),
        ("query_relationships", json!({ "root": root("customers"), "direction": "outgoing", "depth": 5 })),
        ("query_relationships", json!({ "root": root("order_line"), "direction": "incoming" })),
        (
            "query_relationships",
            json!({ "root": root("customers"), "direction": "both", "relationship": "order_lines.order_id" }),
        ),
    ];
    for (operation, params) in allowed {
        let answer = fixture.call(operation, params.clone()).await;
        assert_eq!(answer["success"], json!(true), "{operation} {params}: {answer}");
        assert!(!answer.to_string().contains("orders:"), "{answer}");
    }
    assert!(rules.last().starts_with("query_relationships list_customers"), "{}", rules.last());
    assert_eq!(fixture.value("SELECT note FROM Orders").await, "x");
}

/// In these objects every name is a column, never a control in any spelling.
#[tokio::test]
async fn r_req_3_the_key_object_accepts_no_controls() {
    let file = File::create(TABLES);
    let (fixture, _) = fixture(file.settings(), Backing::File(file), &[]).await;
    for name in [
        "dry_run",
        "dryRun",
        "DRY_RUN",
        "dry-run",
        "if_match",
        "ifMatch",
        "input",
        "Input",
        "confirmationToken",
        "fields",
    ] {
        for (operation, params) in [
            ("create_record", json!({ "table_name": "orders", "values": { "note": "a", name: true } })),
            (
                "update_record",
                json!({ "table_name": "orders", "key": { "id": 1, name: true }, "input": { "note": "a" } }),
            ),
            ("delete_record", json!({ "table_name": "order_lines", "key": { "id": 1, name: true } })),
        ] {
            let answer = fixture.call(operation, params).await;
            assert_eq!(answer["error"]["code"], "VALIDATION_INVALID_VALUE", "{operation} {name}: {answer}");
        }
    }
    // A column cannot be given twice under two names.
    for params in [
        json!({ "table_name": "Odd Name", "values": { "The Key": 1, "the_key": 2 } }),
        json!({ "table_name": "Odd Name", "values": { "dry_run": "a", "dry_run_column": "b" } }),
    ] {
        fixture.call_err("create_record", params, "VALIDATION_INVALID_VALUE").await;
    }
    let input = json!({ "dry_run": "a", "dry_run_column": "b" });
    let twice = json!({ "table_name": "Odd Name", "key": { "The Key": 1 }, "input": input });
    fixture.call_err("update_record", twice, "VALIDATION_INVALID_VALUE").await;
    // A column named like a control is addressed by its own name.
    let made = fixture
        .call_ok("create_record", json!({ "table_name": "Odd Name", "values": { "The Key": 1, "dry_run": "kept" } }))
        .await;
    assert_eq!(made["dry_run_column"], "kept");
    assert_eq!(fixture.value("SELECT dry_run FROM \"Odd Name\"").await, "kept");
    let _: Value = made;
}

#[tokio::test]
async fn r_saf_2_tables_of_several_schemas_are_distinguished() {
    let server = crate::server::Server::new(
        "CREATE SCHEMA sales; CREATE TABLE orders (id int PRIMARY KEY); CREATE TABLE sales.orders (id int PRIMARY KEY);
         CREATE TABLE sales.\"Leads\" (id int PRIMARY KEY);",
    )
    .await;
    let mut settings = server.settings();
    settings.schemas = vec!["public".to_owned(), "sales".to_owned()];
    let (fixture, rules) = fixture(settings, Backing::Server(server), &[]).await;
    for (alias, judged) in [
        ("orders", "list_orders table orders"),
        ("public.orders", "list_orders table orders"),
        ("sales.orders", "list_sales_orders table orders"),
        ("sales_orders", "list_sales_orders table orders"),
        ("SALES.ORDERS", "list_sales_orders table orders"),
        ("sales.Leads", "list_sales_leads table Leads"),
        ("Leads", "list_sales_leads table Leads"),
        ("leads", "list_sales_leads table Leads"),
    ] {
        fixture.call_ok("list_records", json!({ "table_name": alias })).await;
        assert_eq!(rules.last(), judged, "{alias}");
    }
    fixture.call_err("list_records", json!({ "table_name": "Orders" }), "VALIDATION_INVALID_VALUE").await;
}
