//! A dry run changes nothing: the whole database is compared before and after.

use serde_json::{Value, json};

use crate::support::Fixture;

/// The complete content of a SQLite file: every table, including internal ones and those behind virtual tables, and the
/// file's counters.
fn everything_in_file(fixture: &Fixture) -> String {
    let connection = fixture.file().connection();
    let mut all = String::new();
    let mut tables = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let mut names: Vec<String> = tables.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    names.push("sqlite_schema".to_owned());
    for name in names {
        let mut rows = connection.prepare(&format!("SELECT * FROM \"{name}\"")).unwrap();
        let width = rows.column_count();
        let mut rows = rows.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let cells: Vec<String> = (0..width).map(|index| format!("{:?}", row.get_ref(index).unwrap())).collect();
            all += &format!("{name}: {cells:?}\n");
        }
    }
    for pragma in ["schema_version", "user_version", "application_id", "data_version"] {
        let value: i64 = connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap();
        all += &format!("{pragma}: {}\n", if pragma == "data_version" { 0 } else { value });
    }
    all
}

const SQLITE: &str = "
    CREATE TABLE owners (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, n INTEGER DEFAULT 5, at TEXT DEFAULT CURRENT_TIMESTAMP);
    CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT, owner_id INTEGER REFERENCES owners(id) ON DELETE CASCADE ON UPDATE CASCADE,
        label TEXT, size INTEGER CHECK (size > 0), loud TEXT AS (upper(label)) STORED);
    CREATE TABLE parts (id INTEGER PRIMARY KEY AUTOINCREMENT, thing_id INTEGER REFERENCES things(id) ON DELETE SET NULL);
    CREATE TABLE later (id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL REFERENCES owners(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, words TEXT);
    CREATE TABLE loose (a TEXT UNIQUE ON CONFLICT REPLACE, b TEXT UNIQUE ON CONFLICT ROLLBACK, c TEXT UNIQUE ON CONFLICT IGNORE);
    CREATE VIRTUAL TABLE things_fts USING fts5(label, content='things', content_rowid='id');
    CREATE TRIGGER a AFTER INSERT ON owners BEGIN INSERT INTO log(words) VALUES ('insert ' || new.id); END;
    CREATE TRIGGER b AFTER UPDATE ON owners BEGIN INSERT INTO log(words) VALUES ('update ' || new.id); UPDATE things SET size = size + 1; END;
    CREATE TRIGGER c AFTER DELETE ON owners BEGIN INSERT INTO log(words) VALUES ('delete ' || old.id); END;
    CREATE TRIGGER d AFTER INSERT ON things BEGIN INSERT INTO things_fts(rowid, label) VALUES (new.id, new.label); END;
    CREATE TRIGGER e AFTER DELETE ON things BEGIN INSERT INTO things_fts(things_fts, rowid, label) VALUES ('delete', old.id, old.label); END;
    CREATE TRIGGER f BEFORE INSERT ON owners WHEN new.name = 'undo' BEGIN SELECT RAISE(ROLLBACK, 'no'); END;
    INSERT INTO owners (id, name) VALUES (1, 'Ann'), (2, 'Bob');
    INSERT INTO things (id, owner_id, label, size) VALUES (10, 1, 'lamp', 1), (11, 1, 'chair', 2);
    INSERT INTO parts VALUES (5, 10);
    INSERT INTO loose VALUES ('a', 'b', 'c');";

/// Dry runs of every kind, successful and not.
fn dry_run_calls() -> Vec<(&'static str, Value)> {
    vec![
        ("create_owner", json!({ "name": "Cy" })),
        ("create_owner", json!({})),
        ("create_owner", json!({ "id": 100, "name": "Di" })),
        ("create_owner", json!({ "name": "Ann" })),
        ("create_owner", json!({ "name": "undo" })),
        ("create_thing", json!({ "label": "x", "size": 1, "owner_id": 1 })),
        ("create_thing", json!({ "label": "x", "size": 0 })),
        ("create_thing", json!({ "label": "x", "owner_id": 99 })),
        ("create_later", json!({ "id": 1, "owner_id": 99 })),
        ("create_later", json!({ "id": 1, "owner_id": 1 })),
        ("update_owner", json!({ "id": 1, "input": { "name": "Anna" } })),
        ("update_owner", json!({ "id": 1, "input": { "name": "Bob" } })),
        ("update_owner", json!({ "id": 1, "input": {} })),
        ("update_thing", json!({ "id": 10, "input": { "size": -1 } })),
        ("update_thing", json!({ "id": 10, "input": { "owner_id": 2, "label": "y" } })),
        ("delete_owner", json!({ "id": 1 })),
        ("delete_owner", json!({ "id": 99 })),
        ("delete_thing", json!({ "id": 10 })),
        ("delete_part", json!({ "id": 5, "if_match": "nonsense" })),
    ]
}

async fn call_dry_run(fixture: &Fixture, operation: &str, mut params: Value) -> Value {
    params["dry_run"] = true.into();
    fixture.call(operation, params).await
}

#[tokio::test]
async fn r_req_9_a_dry_run_leaves_a_file_unchanged() {
    for journal in ["DELETE", "WAL"] {
        let fixture = Fixture::sqlite(&format!("PRAGMA journal_mode = {journal}; {SQLITE}")).await;
        let before = everything_in_file(&fixture);
        let loose = [json!({ "a": "a" }), json!({ "b": "b" }), json!({ "c": "c" }), json!({ "a": "n", "b": "n" })];
        let loose = loose.into_iter().map(|params| ("create_loose", params));
        let (mut done, mut refused) = (0, 0);
        for (operation, params) in dry_run_calls().into_iter().chain(loose) {
            let answer = call_dry_run(&fixture, operation, params.clone()).await;
            *(if answer["success"] == json!(true) { &mut done } else { &mut refused }) += 1;
            assert_eq!(everything_in_file(&fixture), before, "{operation} {params}: {answer}");
        }
        assert!(done >= 10 && refused >= 8, "{done} {refused}");
        // The predicted keys are assigned next, and everything still works.
        let predicted =
            call_dry_run(&fixture, "create_owner", json!({ "name": "Cy" })).await["data"]["after"]["id"].clone();
        assert_eq!(fixture.call_ok("create_owner", json!({ "name": "Cy" })).await["id"], predicted);
        assert_eq!(fixture.value("SELECT count(*) FROM log WHERE words = 'insert 3'").await, "1");
    }
}

/// A delete that cascades to many rows does not fit into memory: pages are spilled and restored.
#[tokio::test]
async fn r_req_9_a_dry_run_that_spills_leaves_a_file_unchanged() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE owners (id INTEGER PRIMARY KEY);
         CREATE TABLE things (id INTEGER PRIMARY KEY, owner_id INTEGER REFERENCES owners(id) ON DELETE CASCADE, body BLOB);
         CREATE INDEX of_owner ON things(owner_id);
         INSERT INTO owners VALUES (1);
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4000)
         INSERT INTO things SELECT i, 1, randomblob(2000) FROM n;",
    )
    .await;
    let digest = "SELECT count(*) || ' ' || sum(length(body)) || ' ' || hex(max(body)) FROM things";
    let before = fixture.value(digest).await;
    assert_eq!(call_dry_run(&fixture, "delete_owner", json!({ "id": 1 })).await["data"]["would"], "delete");
    assert_eq!(fixture.value(digest).await, before);
    assert_eq!(fixture.value("PRAGMA integrity_check").await, "ok");
}

/// An abandoned dry run is rolled back like any other.
#[tokio::test]
async fn r_req_9_an_abandoned_dry_run_keeps_nothing() {
    let fixture = Fixture::sqlite(SQLITE).await;
    let before = everything_in_file(&fixture);
    for round in 0..40 {
        let engine = fixture.engine.clone();
        let task = tokio::spawn(async move {
            crate::support::call(&engine, "create_owner", json!({ "name": format!("n{round}"), "dry_run": true })).await
        });
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
    }
    // The next change waits for what is still in progress.
    call_dry_run(&fixture, "create_owner", json!({ "name": "last" })).await;
    assert_eq!(everything_in_file(&fixture), before);
}

mod postgres {
    use aquifer_engine::Source;
    use tokio_postgres::AsyncMessage;

    use super::*;
    use crate::server::Server;
    use crate::support::{Backing, open};

    /// Every row of every table, every sequence, and every large object.
    async fn everything(fixture: &Fixture) -> String {
        let tables = fixture
            .value(
                "SELECT string_agg(query_to_xml(format('SELECT * FROM %s AS t ORDER BY t::text', c.oid::regclass), true, false, '')::text, E'\\n' ORDER BY c.oid)
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 WHERE c.relkind IN ('r', 'p', 'm') AND n.nspname NOT IN ('pg_catalog', 'information_schema')",
            )
            .await;
        let sequences = fixture
            .value(
                "SELECT string_agg(query_to_xml(format('SELECT last_value, is_called FROM %s', c.oid::regclass), true, false, '')::text, E'\\n' ORDER BY c.oid)
                 FROM pg_class c WHERE c.relkind = 'S'",
            )
            .await;
        let objects =
            fixture.value("SELECT count(*) || ' ' || coalesce(sum(length(data)), 0) FROM pg_largeobject").await;
        let objects = format!("{objects} {}", fixture.value("SELECT count(*) FROM pg_largeobject_metadata").await);
        format!("{tables}\n{sequences}\n{objects}")
    }

    const POSTGRES: &str = "
        CREATE TABLE owners (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text UNIQUE, n serial, at timestamptz DEFAULT now());
        CREATE TABLE things (id serial PRIMARY KEY, owner_id int REFERENCES owners ON DELETE CASCADE ON UPDATE CASCADE, label text,
            size int CHECK (size > 0), loud text GENERATED ALWAYS AS (upper(label)) STORED);
        CREATE TABLE parts (id int GENERATED BY DEFAULT AS IDENTITY (START 7 INCREMENT 5) PRIMARY KEY, thing_id int REFERENCES things ON DELETE SET NULL);
        CREATE TABLE later (id int PRIMARY KEY, owner_id int NOT NULL REFERENCES owners DEFERRABLE INITIALLY DEFERRED);
        CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.name = 'undo' THEN RAISE EXCEPTION 'no'; END IF; NEW.at := now(); PERFORM pg_notify('changed', NEW.name); RETURN NEW; END $$;
        CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON owners FOR EACH ROW EXECUTE FUNCTION stamp();
        INSERT INTO owners (name) VALUES ('Ann'), ('Bob');
        INSERT INTO things (id, owner_id, label, size) VALUES (10, 1, 'lamp', 1), (11, 1, 'chair', 2);
        INSERT INTO parts VALUES (5, 10);
        SELECT lo_from_bytea(0, 'large');";

    #[tokio::test]
    async fn r_req_9_a_dry_run_leaves_a_database_unchanged() {
        let fixture = Fixture::postgres(POSTGRES).await;
        // A listener for notifications.
        let mut config: tokio_postgres::Config = fixture.server().url().parse().unwrap();
        let (client, mut connection) = config.application_name("tests").connect(tokio_postgres::NoTls).await.unwrap();
        let (send, mut heard) = tokio::sync::mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notification) = message {
                    let _ = send.send(notification.payload().to_owned());
                }
            }
        });
        client.batch_execute("LISTEN changed").await.unwrap();
        let before = everything(&fixture).await;
        let (mut done, mut refused) = (0, 0);
        for (operation, mut params) in dry_run_calls() {
            if operation == "create_owner" {
                // Only the database sets this one.
                params.as_object_mut().unwrap().remove("id");
            }
            let answer = call_dry_run(&fixture, operation, params.clone()).await;
            *(if answer["success"] == json!(true) { &mut done } else { &mut refused }) += 1;
            assert_eq!(everything(&fixture).await, before, "{operation} {params}: {answer}");
        }
        assert!(done >= 9 && refused >= 8, "{done} {refused}");
        // The predicted keys are assigned next.
        for (operation, params) in [
            ("create_owner", json!({ "name": "Cy" })),
            ("create_thing", json!({ "label": "x" })),
            ("create_part", json!({})),
        ] {
            let predicted = call_dry_run(&fixture, operation, params.clone()).await["data"]["after"].clone();
            let made = fixture.call_ok(operation, params).await;
            assert_eq!((&predicted["id"], &predicted["n"]), (&made["id"], &made["n"]), "{operation}");
        }
        assert_eq!(heard.recv().await.as_deref(), Some("Cy"), "only what was really done is told");
    }

    /// Sequences of every kind, each used by its own table.
    #[tokio::test]
    async fn r_req_9_a_dry_run_draws_from_no_sequence() {
        let fixture = Fixture::postgres(
            "CREATE SEQUENCE \"Odd 'Name\"; CREATE SEQUENCE down INCREMENT -2 MAXVALUE 100 START 50; CREATE SEQUENCE shared START 7;
             CREATE SCHEMA other; CREATE SEQUENCE other.away;
             CREATE TABLE odds (id int PRIMARY KEY DEFAULT nextval('\"Odd ''Name\"'), a int);
             CREATE TABLE downs (id bigint PRIMARY KEY DEFAULT nextval('down'), a int);
             CREATE TABLE twins (id int PRIMARY KEY DEFAULT nextval('shared'), b int DEFAULT nextval('shared'), a int);
             CREATE TABLE orders (code text PRIMARY KEY DEFAULT 'ORD-' || lpad(nextval('other.away')::text, 5, '0'), a int);
             CREATE TABLE smalls (id smallserial PRIMARY KEY, a int);
             CREATE TABLE bigs (id bigserial PRIMARY KEY, a int);
             CREATE DOMAIN numbered AS int DEFAULT nextval('shared');
             CREATE TABLE domains (id int PRIMARY KEY, n numbered, a int);
             CREATE TABLE both_ways (id int PRIMARY KEY, n int DEFAULT nextval('shared') + nextval('shared'), a int);
             CREATE FUNCTION draw() RETURNS int LANGUAGE sql AS $$ SELECT nextval('shared')::int $$;
             CREATE TABLE hiddens (id int PRIMARY KEY, n int DEFAULT draw(), a int UNIQUE CHECK (a > 0), b int REFERENCES downs, c varchar(3));
             CREATE TABLE texts (id int PRIMARY KEY, n int DEFAULT nextval('sha' || 'red'), a int);
             CREATE TABLE measured (at date NOT NULL, id int GENERATED ALWAYS AS IDENTITY, a int, PRIMARY KEY (at, id)) PARTITION BY RANGE (at);
             CREATE TABLE measured_2026 PARTITION OF measured FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
             INSERT INTO hiddens (id, n, a) VALUES (1, 1, 1);",
        )
        .await;
        let before = everything(&fixture).await;
        for (table, params) in [
            ("odd", json!({ "a": 1 })),
            ("down", json!({ "a": 1 })),
            ("twin", json!({ "a": 1 })),
            ("twin", json!({ "id": 9 })),
            ("order", json!({ "a": 1 })),
            ("small", json!({ "a": 1 })),
            ("big", json!({})),
            ("domain", json!({ "id": 1 })),
            ("both_way", json!({ "id": 1 })),
            ("hidden", json!({ "id": 2, "a": 2 })),
            ("text", json!({ "id": 1 })),
            ("measured", json!({ "at": "2026-05-01", "a": 1 })),
        ] {
            let answer = call_dry_run(&fixture, &format!("create_{table}"), params.clone()).await;
            assert_eq!(answer["success"], json!(true), "{table}: {answer}");
            assert_eq!(everything(&fixture).await, before, "{table} {params}: {answer}");
        }
        let after = async |table: &str, params: Value| {
            call_dry_run(&fixture, &format!("create_{table}"), params).await["data"]["after"].clone()
        };
        assert_eq!(after("order", json!({})).await["code"], "ORD-00001");
        assert_eq!(after("down", json!({})).await["id"], 50);
        let twin = after("twin", json!({})).await;
        assert_eq!((&twin["id"], &twin["b"]), (&json!(7), &json!(8)));
        fixture.call_ok("create_down", json!({})).await;
        assert_eq!(after("down", json!({})).await["id"], 48);
        fixture.call_ok("delete_down", json!({ "id": 50 })).await;
        // A default that cannot be predicted is not tried, with a warning; errors are found all the same.
        let answer = call_dry_run(&fixture, "create_hidden", json!({ "id": 2, "a": 2 })).await;
        assert_eq!(answer["warnings"][0]["code"], "DRY_RUN_NOT_TRIED", "{answer}");
        let kept = everything(&fixture).await;
        for (params, code) in [
            (json!({ "id": 1, "a": 2 }), "CONFLICT_ALREADY_EXISTS"),
            (json!({ "id": 2, "a": 1 }), "CONFLICT_ALREADY_EXISTS"),
            (json!({ "id": 2, "a": 0 }), "VALIDATION_INVALID_VALUE"),
            (json!({ "id": 2, "b": 99 }), "CONFLICT_CONSTRAINT"),
            (json!({ "id": 2, "c": "abcd" }), "VALIDATION_INVALID_VALUE"),
        ] {
            let answer = call_dry_run(&fixture, "create_hidden", params.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{params}: {answer}");
        }
        assert_eq!(everything(&fixture).await, kept);
        // With an explicit value no sequence is used.
        let answer = call_dry_run(&fixture, "create_hidden", json!({ "id": 2, "a": 2, "n": 5 })).await;
        assert!(answer["data"]["after"]["_etag"].is_string(), "{answer}");
    }

    /// A role that cannot read sequences, and one that cannot use them.
    #[tokio::test]
    async fn r_req_9_a_dry_run_needs_no_more_permissions_than_the_change() {
        let server = Server::new(
            "CREATE TABLE things (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int);
             CREATE TABLE letters (id serial PRIMARY KEY, a int);
             CREATE TABLE cards (id serial PRIMARY KEY, a int);
             CREATE TABLE narrow (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a int);
             INSERT INTO things (a) VALUES (1), (2);",
        )
        .await;
        let role = server.role().await;
        server
            .run(&format!(
                "GRANT SELECT, INSERT ON things, letters, cards TO {role}; GRANT USAGE ON SEQUENCE letters_id_seq TO {role};
                 GRANT SELECT, INSERT (a) ON narrow TO {role};"
            ))
            .await;
        let fixture = Fixture::with_settings(server.settings_of(&role), Backing::Server(server)).await;
        let before = everything(&fixture).await;
        assert_eq!(call_dry_run(&fixture, "create_thing", json!({ "a": 3 })).await["data"]["after"]["id"], 3);
        assert_eq!(call_dry_run(&fixture, "create_letter", json!({ "a": 3 })).await["data"]["after"]["id"], 1);
        let refused = call_dry_run(&fixture, "create_card", json!({ "a": 3 })).await;
        assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "{refused}");
        let narrow = call_dry_run(&fixture, "create_narrow", json!({ "a": 3 })).await;
        assert_eq!(narrow["warnings"][0]["code"], "DRY_RUN_NOT_TRIED", "{narrow}");
        assert_eq!(everything(&fixture).await, before);
        fixture.call_err("create_card", json!({ "a": 3 }), "PERMISSION_DENIED").await;
        assert_eq!(fixture.call_ok("create_narrow", json!({ "a": 3 })).await["id"], 1);
    }

    /// Errors are explained by querying the database, which runs the checks of domains once more. A query that fails
    /// because it would write does not prevent the next one.
    #[tokio::test]
    async fn r_req_9_explaining_an_error_leaves_no_trace() {
        let fixture = Fixture::postgres(
            "CREATE TABLE log (id serial PRIMARY KEY, words text);
             CREATE FUNCTION noted(text) RETURNS bool LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (words) VALUES ($1); RETURN true; END $$;
             CREATE DOMAIN noted_text AS text CHECK (noted(VALUE));
             CREATE DOMAIN short AS text CHECK (length(VALUE) < 3);
             CREATE TABLE things (id int PRIMARY KEY, a noted_text, s short, ip inet, at date);
             INSERT INTO things (id) VALUES (1); TRUNCATE log;",
        )
        .await;
        for (operation, params) in [
            ("create_thing", json!({ "id": 2, "a": "x", "ip": "no address" })),
            ("create_thing", json!({ "id": 2, "s": "x", "a": "x", "ip": "no address", "at": "2026-01-01" })),
            ("update_thing", json!({ "id": 1, "input": { "a": "x", "ip": "no address" } })),
        ] {
            for dry_run in [true, false] {
                let mut params = params.clone();
                params["dry_run"] = dry_run.into();
                let error = fixture.call_err(operation, params.clone(), "VALIDATION_INVALID_VALUE").await;
                assert!(error.to_string().contains("ip"), "{params}: {error}");
                assert_eq!(fixture.value("SELECT count(*) FROM log").await, "0", "{params}: {error}");
            }
        }
    }

    /// Whether introspection, and with it policy, may rely on a dry run.
    #[tokio::test]
    async fn r_req_9_a_dry_run_is_safe_only_if_it_leaves_no_trace() {
        let quiet =
            "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.at := now(); RETURN NEW; END $$;";
        let loud = "CREATE TABLE log (id serial PRIMARY KEY, words text);
                    CREATE FUNCTION loud() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log (words) VALUES ('x'); RETURN NULL; END $$;";
        let thing = "CREATE TABLE things (id int PRIMARY KEY, a int, at timestamptz);";
        let child = "CREATE TABLE parts (id int PRIMARY KEY, thing_id int REFERENCES things ON DELETE CASCADE);";
        // The schema, and which of create, update and delete leave no trace.
        for (made, safe) in [
            (thing.to_owned(), [true, true, true]),
            (format!("{thing}{quiet} CREATE TRIGGER t BEFORE INSERT OR UPDATE ON things FOR EACH ROW EXECUTE FUNCTION quiet();"), [true, true, true]),
            (format!("{thing}{loud} CREATE TRIGGER t AFTER INSERT ON things FOR EACH ROW EXECUTE FUNCTION loud();"), [false, true, true]),
            (format!("{thing}{loud} CREATE TRIGGER t AFTER UPDATE OR DELETE ON things FOR EACH ROW EXECUTE FUNCTION loud();"), [true, false, false]),
            (format!("{thing}{loud} CREATE TRIGGER t AFTER DELETE ON things FOR EACH STATEMENT EXECUTE FUNCTION loud(); ALTER TABLE things DISABLE TRIGGER t;"), [true, true, true]),
            (format!("{thing}{loud} CREATE CONSTRAINT TRIGGER t AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION loud();"), [false, true, true]),
            // Through references.
            (format!("{thing}{child}{loud} CREATE TRIGGER t AFTER DELETE ON parts FOR EACH ROW EXECUTE FUNCTION loud();"), [true, true, false]),
            (format!("{thing}{loud} CREATE SCHEMA away; CREATE TABLE away.parts (id int, thing_id int REFERENCES things ON DELETE SET NULL);
                      CREATE TRIGGER t AFTER UPDATE ON away.parts FOR EACH ROW EXECUTE FUNCTION loud();"), [true, true, false]),
            (format!("{thing}{loud} CREATE TABLE parts (id serial, thing_id serial REFERENCES things ON DELETE SET DEFAULT);"), [true, true, false]),
            (format!("{thing}{child}{loud} CREATE TRIGGER t AFTER INSERT ON parts FOR EACH ROW EXECUTE FUNCTION loud();"), [true, true, true]),
            // Rules, checks, policies, partitions, unknown code.
            (format!("{thing}{loud} CREATE RULE r AS ON INSERT TO things DO ALSO INSERT INTO log (words) VALUES ('x');"), [false, true, true]),
            (format!("{loud}CREATE FUNCTION odd(int) RETURNS bool LANGUAGE sql AS $$ SELECT nextval('log_id_seq') > $1 $$;
                      CREATE TABLE things (id int PRIMARY KEY, a int CHECK (odd(a)));"), [false, false, false]),
            (format!("{loud}CREATE TABLE things (id int NOT NULL, a int, PRIMARY KEY (id)) PARTITION BY RANGE (id);
                      CREATE TABLE things_1 PARTITION OF things FOR VALUES FROM (0) TO (10);
                      CREATE TRIGGER t AFTER INSERT ON things_1 FOR EACH ROW EXECUTE FUNCTION loud();"), [false, false, true]),
            (format!("{thing} CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
                      CREATE TRIGGER t BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION f();"), [false, true, true]),
            // Implicit calls.
            (
                format!(
                    "{thing}{quiet} CREATE FUNCTION fresh(int, int) RETURNS int LANGUAGE sql AS $$ SELECT 1 $$;
                      CREATE OPERATOR @@@ (FUNCTION = fresh, LEFTARG = int, RIGHTARG = int);
                      CREATE TRIGGER t BEFORE INSERT ON things FOR EACH ROW EXECUTE FUNCTION quiet();"
                ),
                [false, true, true],
            ),
            // Sequences of the table itself are predicted.
            ("CREATE TABLE things (id serial PRIMARY KEY, a int);".to_owned(), [true, true, true]),
        ] {
            let server = Server::new(&made).await;
            let database = open(server.settings()).await.unwrap();
            let operations = database.offering().operations;
            let found = ["create_thing", "update_thing", "delete_thing"].map(|name| {
                operations.iter().find(|operation| *operation.name == *name).unwrap().safety.has_safe_dry_run
            });
            assert_eq!(found, safe, "{made}");
        }
    }
}
