//! Changes are rehearsed before anybody is asked to confirm them: what cannot succeed is refused with the error of the real
//! call, the question says what would happen, nothing is left behind, and nobody waits long (R-SAF-3).

use std::sync::Arc;

use aquifer_engine::gate::{Decision, Gate, Pass, Rules};
use aquifer_engine::rehearsal::{Preview, Rehearsal, RehearsalResult, RowCount, RowFate};
use aquifer_engine::{Context, Engine};
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_sql::Settings;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Backing, File, Fixture, open};

/// Asks about every change, and keeps what the rehearsals found. After `allow`, everything runs.
#[derive(Default)]
struct AskingGate {
    found: Mutex<Vec<RehearsalResult>>,
    allow: Mutex<bool>,
    restricted: Vec<&'static str>,
}

fn confirmation_required() -> Failure {
    Failure::new(Code::ConfirmationRequired, "This operation requires confirmation")
}

impl AskingGate {
    fn allows(&self, request: &Checked) -> bool {
        *self.allow.lock() || request.operation().category == Category::Read
    }
}

impl Gate for AskingGate {
    fn decide<'a>(&'a self, request: &'a Checked, _context: &'a Context) -> BoxFuture<'a, Decision> {
        std::future::ready(match self.allows(request) {
            true => Decision::Allow(Pass::default()),
            false => Decision::Refuse(confirmation_required()),
        })
        .boxed()
    }

    fn decide_rehearsed<'a>(
        &'a self,
        request: &'a Checked,
        rehearsal: &'a dyn Rehearsal,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        async move {
            if self.allows(request) {
                return Decision::Allow(Pass::default());
            }
            let found = rehearsal.rehearse(request, context).await;
            self.found.lock().push(found.clone());
            Decision::Refuse(match found {
                RehearsalResult::WouldFail(failure) => failure,
                _ => confirmation_required(),
            })
        }
        .boxed()
    }

    fn as_rules(&self) -> Option<&dyn Rules> {
        Some(self)
    }
}

impl Rules for AskingGate {
    fn restricts(&self, operation: &Operation) -> bool {
        self.restricted.iter().any(|name| *operation.origin.own_name == **name)
    }
}

/// A database behind the gate.
struct Asked {
    fixture: Fixture,
    gate: Arc<AskingGate>,
}

impl Asked {
    async fn with_settings(settings: Settings, backing: Backing, restricted: &[&'static str]) -> Self {
        let gate = Arc::new(AskingGate { restricted: restricted.to_vec(), ..AskingGate::default() });
        let database = open(settings).await.unwrap();
        let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
        let engine = Engine::builder(surface).gate(gate.clone()).source(database).build().unwrap();
        Self { fixture: Fixture { engine: Arc::new(engine), backing }, gate }
    }

    /// Rehearses a call; the database stays as it is.
    async fn rehearse(&self, operation: &str, params: Value) -> RehearsalResult {
        *self.gate.allow.lock() = false;
        self.gate.found.lock().clear();
        self.fixture.call(operation, params).await;
        self.gate.found.lock().pop().unwrap_or_default()
    }

    async fn preview(&self, operation: &str, params: Value) -> Preview {
        match self.rehearse(operation, params.clone()).await {
            RehearsalResult::WouldDo(preview) => *preview,
            other => panic!("{operation} {params}: {other:?}"),
        }
    }

    /// The answers of the rehearsal and of the real call.
    async fn both(&self, operation: &str, params: Value) -> (Value, Value) {
        *self.gate.allow.lock() = false;
        let rehearsed = self.fixture.call(operation, params.clone()).await;
        *self.gate.allow.lock() = true;
        (rehearsed, self.fixture.call(operation, params).await)
    }
}

/// A SQLite file and, with the feature, a PostgreSQL database.
async fn asked(sqlite: &str, postgres: &str, restricted: &[&'static str]) -> Vec<Asked> {
    let file = File::create(sqlite);
    let mut all = vec![Asked::with_settings(file.settings(), Backing::File(file), restricted).await];
    {
        let server = Server::new(postgres).await;
        all.push(Asked::with_settings(server.settings(), Backing::Server(server), restricted).await);
    }
    let _ = postgres;
    all
}

/// Both databases understand this.
const CLINIC: &str = "
    CREATE TABLE treatments (id INTEGER PRIMARY KEY, code TEXT UNIQUE, name TEXT NOT NULL, price INTEGER CHECK (price > 0),
        parent_id INTEGER REFERENCES treatments(id) ON DELETE SET NULL);
    CREATE TABLE visit_treatments (id INTEGER PRIMARY KEY, treatment_id INTEGER NOT NULL REFERENCES treatments(id) ON DELETE RESTRICT);
    CREATE TABLE stocks (id INTEGER PRIMARY KEY, treatment_id INTEGER REFERENCES treatments(id));
    CREATE TABLE laters (id INTEGER PRIMARY KEY, treatment_id INTEGER REFERENCES treatments(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE notes (id INTEGER PRIMARY KEY, treatment_id INTEGER REFERENCES treatments(id) ON DELETE CASCADE, words TEXT);
    CREATE TABLE replies (id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES notes(id) ON DELETE CASCADE);
    CREATE TABLE locks (id INTEGER PRIMARY KEY, reply_id INTEGER REFERENCES replies(id));
    CREATE TABLE bundles (a INTEGER, b TEXT, name TEXT, PRIMARY KEY (a, b));
    CREATE TABLE items (id INTEGER PRIMARY KEY, a INTEGER, b TEXT, FOREIGN KEY (a, b) REFERENCES bundles(a, b) ON DELETE CASCADE);
    INSERT INTO treatments VALUES (1, 'BLOOD', 'Blood test', 10, NULL), (2, 'REST', 'Rest', 5, 1), (3, 'ECG', 'ECG', 7, 3),
        (4, 'XRAY', 'X-ray', 20, NULL), (5, 'DEEP', 'Deep', 1, NULL), (6, 'LATE', 'Late', 1, NULL);
    INSERT INTO visit_treatments VALUES (1, 4), (2, 4), (3, 4);
    INSERT INTO stocks VALUES (1, 4), (2, 1);
    INSERT INTO laters VALUES (1, 6);
    INSERT INTO notes VALUES (1, 2, 'a'), (2, 2, 'b'), (3, 5, 'c');
    INSERT INTO replies VALUES (1, 1), (2, 1), (3, 2), (4, 3);
    INSERT INTO locks VALUES (1, 4);
    INSERT INTO bundles VALUES (1, 'x', 'One'), (1, 'y', 'Two');
    INSERT INTO items VALUES (1, 1, 'x'), (2, 1, 'x'), (3, 1, 'y');";

/// What cannot succeed is refused with exactly the error of the real call.
#[tokio::test]
async fn r_saf_3_a_rehearsal_fails_like_the_real_call() {
    let calls = [
        ("delete_treatment", json!({ "id": 4 }), "CONFLICT_CONSTRAINT"),
        ("delete_treatment", json!({ "id": 1 }), "CONFLICT_CONSTRAINT"),
        ("delete_treatment", json!({ "id": 5 }), "CONFLICT_CONSTRAINT"),
        ("delete_treatment", json!({ "id": 6 }), "CONFLICT_CONSTRAINT"),
        ("delete_treatment", json!({ "id": 99 }), "NOT_FOUND_RESOURCE"),
        ("delete_treatment", json!({ "id": 2, "if_match": "other" }), "CONFLICT_VERSION_MISMATCH"),
        ("update_treatment", json!({ "id": 99, "input": { "name": "x" } }), "NOT_FOUND_RESOURCE"),
        ("update_treatment", json!({ "id": 1, "input": { "code": "REST" } }), "CONFLICT_ALREADY_EXISTS"),
        ("update_treatment", json!({ "id": 1, "input": { "parent_id": 99 } }), "CONFLICT_CONSTRAINT"),
        ("create_treatment", json!({ "id": 9, "code": "REST", "name": "x" }), "CONFLICT_ALREADY_EXISTS"),
        ("create_stock", json!({ "id": 9, "treatment_id": 99 }), "CONFLICT_CONSTRAINT"),
        ("create_later", json!({ "id": 9, "treatment_id": 99 }), "CONFLICT_CONSTRAINT"),
        ("delete_bundle", json!({ "a": 1, "b": "z" }), "NOT_FOUND_RESOURCE"),
    ];
    let sqlite = "CREATE TRIGGER gold BEFORE INSERT ON treatments WHEN new.name = 'gold' BEGIN SELECT RAISE(ABORT, 'No gold'); END;";
    // PostgreSQL rehearses no unknown trigger.
    let gold = ("create_treatment", json!({ "id": 9, "name": "gold" }), "UPSTREAM_ERROR");
    for asked in asked(&format!("{CLINIC}{sqlite}"), CLINIC, &[]).await {
        let is_file = matches!(asked.fixture.backing, Backing::File(_));
        for (operation, params, code) in calls.iter().chain(is_file.then_some(&gold)) {
            let (rehearsed, real) = asked.both(operation, params.clone()).await;
            assert_eq!(rehearsed["error"]["code"], *code, "{operation} {params}: {rehearsed}");
            assert_eq!(rehearsed, real, "{operation} {params}");
        }
        // Every referring table is named with its number of rows.
        let (refused, _) = asked.both("delete_treatment", json!({ "id": 4 })).await;
        assert_eq!(
            refused["error"]["message"],
            "Resource 'treatment' cannot be deleted: 3 rows of 'visit_treatments' (treatment_id) and 1 row of 'stocks' \
             (treatment_id) refer to it. Delete or change those first"
        );
        let first = json!({ "table": "visit_treatments", "fields": ["treatment_id"], "rows": 3 });
        assert_eq!(refused["error"]["details"]["referring"][0], first);
        // The obstacle may be a row that refers to one that would be deleted with it.
        let (refused, _) = asked.both("delete_treatment", json!({ "id": 5 })).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("1 row of 'locks' (reply_id) refers to it"), "{message}");
    }
}

/// The preview names the row, what is deleted with it and what loses its reference, at every depth.
#[tokio::test]
async fn r_saf_3_a_rehearsal_tells_what_would_happen() {
    for asked in asked(CLINIC, CLINIC, &[]).await {
        let preview = asked.preview("delete_treatment", json!({ "id": 2 })).await;
        assert_eq!((preview.noun.as_str(), &preview.key), ("treatment", &vec![("id".to_owned(), json!(2))]));
        assert_eq!(preview.labels, ["REST", "Rest"]);
        let affected: Vec<_> =
            preview.affected.iter().map(|group| (group.plural.as_str(), group.count, group.fate)).collect();
        let deleted = |plural, count| (plural, RowCount::Exactly(count), RowFate::Deleted);
        assert_eq!(affected, [deleted("notes", 2), deleted("replies", 3)]);
        // A row that refers to itself is no obstacle and not counted; it loses nothing that matters.
        let preview = asked.preview("delete_treatment", json!({ "id": 3 })).await;
        assert!(preview.affected.iter().all(|group| group.fate == RowFate::Cleared), "{preview:?}");
        // A composite key.
        let preview = asked.preview("delete_bundle", json!({ "a": 1, "b": "x" })).await;
        assert_eq!(preview.key, [("a".to_owned(), json!(1)), ("b".to_owned(), json!("x"))]);
        assert_eq!((&preview.labels[0], preview.affected[0].count), (&"One".to_owned(), RowCount::Exactly(2)));
        assert_eq!(preview.affected[0].fields, ["a", "b"]);
        // An update tells what changes.
        let input = json!({ "name": "Röntgen", "price": 20 });
        let preview = asked.preview("update_treatment", json!({ "id": 4, "input": input })).await;
        let fields = preview.fields.unwrap();
        assert_eq!(fields.len(), 1, "the price stays");
        assert_eq!((&fields[0].from, &fields[0].to), (&json!("X-ray"), &json!("Röntgen")));
        let preview = asked.preview("create_treatment", json!({ "id": 9, "name": "New" })).await;
        assert_eq!((preview.labels, preview.key), (vec!["New".to_owned()], Vec::new()));
        // The row as it is and as it would be, without its version.
        assert_eq!((preview.before.len(), &preview.after["name"]), (0, &json!("New")));
        let preview = asked.preview("update_treatment", json!({ "id": 4, "input": { "name": "Röntgen" } })).await;
        assert_eq!((&preview.before["name"], &preview.after["name"]), (&json!("X-ray"), &json!("Röntgen")));
        assert!(preview.before.contains_key("price") && !preview.before.contains_key("_etag"), "{preview:?}");
        let preview = asked.preview("delete_treatment", json!({ "id": 2 })).await;
        assert_eq!((&preview.before["name"], preview.after.len()), (&json!("Rest"), 0));
    }
}

/// Rows of tables that may not be listed freely are neither counted nor named, and neither is the row itself.
#[tokio::test]
async fn r_saf_5_a_rehearsal_tells_nothing_of_rows_that_may_not_be_read() {
    let restricted = ["list_notes", "list_visit_treatments", "list_bundles"];
    for asked in asked(CLINIC, CLINIC, &restricted).await {
        let preview = asked.preview("delete_treatment", json!({ "id": 2 })).await;
        assert!(preview.affects_unreadable, "{preview:?}");
        assert!(preview.affected.iter().all(|group| group.plural == "replies"), "{preview:?}");
        let (refused, real) = asked.both("delete_treatment", json!({ "id": 4 })).await;
        assert_eq!(
            refused["error"]["message"],
            "Resource 'treatment' cannot be deleted: 1 row of 'stocks' (treatment_id) and other rows, hidden from you, refer \
             to it. Delete or change those first"
        );
        assert!(!refused.to_string().contains("visit_treatments"), "{refused}");
        assert_eq!(refused, real);
        let preview = asked.preview("update_bundle", json!({ "a": 1, "b": "x", "input": { "name": "n" } })).await;
        assert_eq!((preview.labels.len(), preview.fields), (0, None));
        assert!(preview.before.is_empty() && preview.after.is_empty());
    }
}

/// Triggers that write elsewhere run, and what they wrote is rolled back; the real call runs them once.
#[tokio::test]
async fn r_saf_3_a_rehearsal_leaves_nothing_behind() {
    let tables =
        "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE audits (id INTEGER, words TEXT);
        INSERT INTO things VALUES (1, 'a'), (2, 'b');";
    let sqlite = "CREATE TRIGGER t AFTER DELETE ON things BEGIN INSERT INTO audits VALUES (old.id, 'deleted'); END;";
    let postgres = "CREATE FUNCTION log() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO audits VALUES (OLD.id, 'deleted'); RETURN OLD; END $$;
        CREATE TRIGGER t AFTER DELETE ON things FOR EACH ROW EXECUTE FUNCTION log();";
    for asked in asked(&format!("{tables}{sqlite}"), &format!("{tables}{postgres}"), &[]).await {
        let is_file = matches!(asked.fixture.backing, Backing::File(_));
        for _ in 0..3 {
            // An unknown trigger is not proven to leave nothing behind, so PostgreSQL does not run it.
            let found = asked.rehearse("delete_thing", json!({ "id": 1 })).await;
            assert_eq!(found.preview().is_some(), is_file, "{found:?}");
        }
        assert_eq!(asked.fixture.value("SELECT count(*) FROM audits").await, "0");
        assert_eq!(asked.fixture.value("SELECT count(*) FROM things").await, "2");
        let (_, real) = asked.both("delete_thing", json!({ "id": 1 })).await;
        assert_eq!(real["success"], true, "{real}");
        assert_eq!(asked.fixture.value("SELECT count(*) FROM audits").await, "1");
        // The data changed between the question and the confirmation: the real call decides.
        asked.rehearse("delete_thing", json!({ "id": 2 })).await;
        asked.fixture.run_sql("DELETE FROM things WHERE id = 2").await;
        *asked.gate.allow.lock() = true;
        asked.fixture.call_err("delete_thing", json!({ "id": 2 }), "NOT_FOUND_RESOURCE").await;
    }
}

/// Many rows without an index: counting stops, and so many rows are not deleted on trial.
#[tokio::test]
async fn r_saf_3_a_rehearsal_counts_up_to_a_limit() {
    let tables = |numbers: &str| {
        format!(
            "CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT);
             CREATE TABLE many (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owners(id) ON DELETE CASCADE);
             CREATE TABLE kept (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owners(id));
             INSERT INTO owners VALUES (1, 'a'), (2, 'b');
             INSERT INTO many SELECT i, 1 FROM {numbers};
             INSERT INTO kept SELECT i, 2 FROM {numbers};"
        )
    };
    let sqlite =
        tables("(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i FROM n)");
    let postgres = tables("generate_series(1, 30000) AS n(i)");
    for asked in asked(&sqlite, &postgres, &[]).await {
        let preview = asked.preview("delete_owner", json!({ "id": 1 })).await;
        assert_eq!(preview.affected[0].count, RowCount::MoreThan(10_000), "{preview:?}");
        let (refused, _) = asked.both("delete_owner", json!({ "id": 2 })).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("more than 10,000 rows of 'kepts' (owner_id) refer to it"), "{message}");
        assert_eq!(asked.fixture.value("SELECT count(*) FROM many").await, "30000");
    }
}

/// Tables that refer to each other: every row is counted once, and the walk ends.
#[tokio::test]
async fn r_saf_3_cycles_of_references_end() {
    let tables = |link: &str| {
        format!(
            "CREATE TABLE eggs (id INTEGER PRIMARY KEY, hen_id INTEGER);
             CREATE TABLE hens (id INTEGER PRIMARY KEY, egg_id INTEGER REFERENCES eggs(id) ON DELETE CASCADE,
                 mother_id INTEGER REFERENCES hens(id) ON DELETE CASCADE);
             {link}
             INSERT INTO eggs VALUES (1, NULL), (2, NULL); INSERT INTO hens VALUES (1, 1, NULL), (2, 2, 1);
             UPDATE eggs SET hen_id = 2 WHERE id = 1; UPDATE eggs SET hen_id = 1 WHERE id = 2;"
        )
    };
    let sqlite = tables("").replace("hen_id INTEGER)", "hen_id INTEGER REFERENCES hens(id) ON DELETE CASCADE)");
    let postgres = tables("ALTER TABLE eggs ADD FOREIGN KEY (hen_id) REFERENCES hens ON DELETE CASCADE;");
    for asked in asked(&sqlite, &postgres, &[]).await {
        let preview = asked.preview("delete_egg", json!({ "id": 1 })).await;
        let rows: u64 = preview
            .affected
            .iter()
            .map(|group| match group.count {
                RowCount::Exactly(count) | RowCount::MoreThan(count) => count,
            })
            .sum();
        assert_eq!(rows, 3, "the other egg and both hens: {preview:?}");
    }
}

/// A writer that holds its lock does not stop the question, and a rehearsal does not stop a writer.
#[tokio::test]
async fn r_saf_3_a_locked_database_is_not_waited_for() {
    let asked = asked(CLINIC, CLINIC, &[]).await;
    let locked = asked[0].fixture.file().connection();
    locked.execute_batch("BEGIN IMMEDIATE").unwrap();
    let found = asked[0].rehearse("delete_treatment", json!({ "id": 2 })).await;
    assert!(matches!(found, RehearsalResult::Unknown), "{found:?}");
    locked.execute_batch("COMMIT").unwrap();
    assert!(asked[0].rehearse("delete_treatment", json!({ "id": 2 })).await.preview().is_some());
    locked.execute_batch("UPDATE notes SET words = 'z'").unwrap();
    {
        let (client, connection) = {
            let config: tokio_postgres::Config = asked[1].fixture.server().url().parse().unwrap();
            config.connect(tokio_postgres::NoTls).await.unwrap()
        };
        tokio::spawn(connection);
        client.batch_execute("BEGIN; SELECT FROM treatments WHERE id = 2 FOR UPDATE").await.unwrap();
        let found = asked[1].rehearse("delete_treatment", json!({ "id": 2 })).await;
        assert!(matches!(found, RehearsalResult::Unknown), "{found:?}");
        client.batch_execute("COMMIT").await.unwrap();
        assert!(asked[1].rehearse("delete_treatment", json!({ "id": 2 })).await.preview().is_some());
    }
}

/// Rehearsals and real changes at the same time: every real change is made, and nothing else.
#[tokio::test]
async fn r_saf_3_rehearsals_do_not_disturb_concurrent_changes() {
    let tables = "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT);";
    for asked in asked(tables, tables, &[]).await {
        let database = Arc::new(asked);
        for id in 1..=8 {
            database.fixture.run_sql(&format!("INSERT INTO things VALUES ({id}, 'n')")).await;
        }
        let rehearsals = futures::future::join_all((1..=8).map(|id| {
            let database = database.clone();
            async move { database.rehearse("delete_thing", json!({ "id": id })).await }
        }));
        let writes = async {
            for id in 1..=8 {
                database.fixture.run_sql(&format!("UPDATE things SET name = 'm' WHERE id = {id}")).await;
            }
        };
        tokio::join!(rehearsals, writes);
        assert_eq!(database.fixture.value("SELECT count(*) FROM things WHERE name = 'm'").await, "8");
    }
}

mod postgres {
    use super::*;

    /// A trigger whose effects outlive a rollback is not run: the question is asked without a rehearsal. Sequences of
    /// keys are not drawn from, and a key that another session takes meanwhile is no reason to refuse.
    #[tokio::test]
    async fn r_saf_3_what_cannot_be_undone_is_not_rehearsed() {
        let sql = "CREATE SEQUENCE drawn;
            CREATE TABLE things (id int PRIMARY KEY, name text);
            CREATE TABLE serials (id serial PRIMARY KEY, name text UNIQUE);
            CREATE FUNCTION draw() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('drawn'); RETURN OLD; END $$;
            CREATE TRIGGER t AFTER DELETE ON things FOR EACH ROW EXECUTE FUNCTION draw();
            INSERT INTO things VALUES (1, 'a'); INSERT INTO serials (id, name) VALUES (1, 'taken');";
        let server = Server::new(sql).await;
        let asked = Asked::with_settings(server.settings(), Backing::Server(server), &[]).await;
        let found = asked.rehearse("delete_thing", json!({ "id": 1 })).await;
        assert!(matches!(found, RehearsalResult::Unknown), "{found:?}");
        assert_eq!(asked.fixture.value("SELECT is_called FROM drawn").await, "f");
        // The predicted key 1 is taken.
        let found = asked.rehearse("create_serial", json!({ "name": "new" })).await;
        assert!(matches!(found, RehearsalResult::Unknown), "{found:?}");
        let found = asked.rehearse("create_serial", json!({ "id": 2, "name": "taken" })).await;
        assert!(matches!(found, RehearsalResult::WouldFail(_)), "{found:?}");
        assert_eq!(asked.fixture.value("SELECT is_called FROM serials_id_seq").await, "f");
    }

    /// Rows that the database hides from its user prevent the deletion, and are not counted.
    #[tokio::test]
    async fn r_saf_5_rows_behind_a_policy_are_not_counted() {
        let server = Server::new(
            "CREATE TABLE owners (id int PRIMARY KEY, name text);
             CREATE TABLE secrets (id int PRIMARY KEY, owner_id int REFERENCES owners, is_public bool);
             INSERT INTO owners VALUES (1, 'a'), (2, 'b');
             INSERT INTO secrets VALUES (1, 1, false), (2, 1, false), (3, 2, true), (4, 2, false);
             ALTER TABLE secrets ENABLE ROW LEVEL SECURITY;
             CREATE POLICY p ON secrets USING (is_public);",
        )
        .await;
        let role = server.role().await;
        server.run(&format!("GRANT SELECT, DELETE ON owners TO {role}; GRANT SELECT ON secrets TO {role}")).await;
        let asked = Asked::with_settings(server.settings_of(&role), Backing::Server(server), &[]).await;
        let (rehearsed, real) = asked.both("delete_owner", json!({ "id": 1 })).await;
        let message = &rehearsed["error"]["message"];
        assert_eq!(message, "Resource 'owner' cannot be deleted: other rows refer to it", "{rehearsed}");
        assert_eq!(rehearsed, real);
        let (rehearsed, real) = asked.both("delete_owner", json!({ "id": 2 })).await;
        let message = rehearsed["error"]["message"].as_str().unwrap();
        assert!(message.contains("1 row of 'secrets' (owner_id) refers to it"), "{message}");
        assert_eq!(rehearsed, real);
    }
}
