//! Roles with limited permissions: what they cannot see is never mentioned, and what they cannot do is refused clearly.

use serde_json::{Value, json};

use crate::server::Server;
use crate::support::{Backing, Fixture};

/// A fixture whose role has these permissions (`ROLE` is its name).
async fn fixture(tables: &str, rights: &str) -> Fixture {
    let server = Server::new(tables).await;
    let role = server.role().await;
    server.run(&rights.replace("ROLE", &role)).await;
    let settings = server.settings_of(&role);
    Fixture::with_settings(settings, Backing::Server(server)).await
}

/// Everything that introspection shows.
async fn describe_everything(fixture: &Fixture) -> String {
    let mut all = String::new();
    for name in fixture.operations() {
        all += &fixture.details(&name).await.to_string();
    }
    let types = fixture.call_ok("introspect", json!({ "query": "types" })).await;
    for kind in types["types"].as_array().unwrap() {
        all += &fixture.call_ok("introspect", json!({ "query": "types", "name": kind["name"] })).await.to_string();
    }
    all
}

const PEOPLE: &str = "
    CREATE TABLE people (
        id int PRIMARY KEY, name text NOT NULL, email text UNIQUE, salary int DEFAULT 1000 CONSTRAINT fair_salary CHECK (salary > 0),
        ssn text NOT NULL DEFAULT 'none' CONSTRAINT one_ssn UNIQUE, boss_ssn text REFERENCES people (ssn),
        words tsvector GENERATED ALWAYS AS (to_tsvector('english', ssn)) STORED);
    CREATE INDEX ON people USING gin (to_tsvector('english', ssn || ' ' || name));
    CREATE TABLE diaries (id int PRIMARY KEY, person_id int REFERENCES people ON DELETE CASCADE, body text);
    CREATE TABLE keyed_by_secret (code text PRIMARY KEY, note text);
    CREATE TABLE needs_secret (id int PRIMARY KEY, open text, hidden text NOT NULL);
    INSERT INTO people (id, name, email, ssn) VALUES (1, 'Ann', 'ann@example.com', '111'), (2, 'Bob', 'bob@example.com', '222');
    INSERT INTO diaries VALUES (1, 1, 'x');
    INSERT INTO keyed_by_secret VALUES ('a', 'one'), ('b', 'two'), ('c', 'two');";

#[tokio::test]
async fn columns_without_select_permission_are_never_mentioned() {
    let fixture = fixture(
        PEOPLE,
        "GRANT SELECT (id, name, email) ON people TO ROLE;
         GRANT INSERT (id, name, email) ON people TO ROLE;
         GRANT UPDATE (name, ssn) ON people TO ROLE;
         GRANT DELETE ON people TO ROLE;
         GRANT SELECT (note) ON keyed_by_secret TO ROLE;
         GRANT SELECT (id, open), INSERT, UPDATE (open) ON needs_secret TO ROLE;",
    )
    .await;
    let names = fixture.operations();
    assert!(!names.iter().any(|name| name.contains("diar")), "{names:?}");
    let everything = describe_everything(&fixture).await;
    for hidden in ["ssn", "salary", "diar", "hidden", "\"code\""] {
        assert!(!everything.contains(hidden), "{hidden} is told");
    }
    let ann = fixture.call_ok("get_person", json!({ "id": 1 })).await;
    let shown: Vec<&String> = ann.as_object().unwrap().keys().collect();
    assert_eq!(shown, ["id", "name", "email", "_etag"]);
    assert_eq!(fixture.walk("list_people", json!({ "fields": "full", "sort": { "field": "name" } }), 1).await.len(), 2);
    for control in [
        json!({ "fields": ["ssn"] }),
        json!({ "filter": { "ssn": "111" } }),
        json!({ "sort": { "field": "salary" } }),
        json!({ "aggregate": { "s": { "sum": "salary" } } }),
    ] {
        let error = fixture.call_err("list_people", control, "VALIDATION_UNKNOWN_FIELD").await;
        assert!(!error["message"].as_str().unwrap().contains("boss"), "{error}");
    }
    // The index would reveal what may not be read.
    let answer = fixture.call("search_people", json!({ "query": "ann" })).await;
    assert_eq!(answer["data"]["items"][0]["id"], 1, "{answer}");
    assert!(fixture.details("search_people").await["description"].as_str().unwrap().contains("There is no index"));
    // Writing is limited to what was granted.
    let made = fixture.call_ok("create_person", json!({ "id": 3, "name": "Cy", "email": "cy@example.com" })).await;
    assert_eq!(made["name"], "Cy");
    assert_eq!(fixture.call_ok("update_person", json!({ "id": 3, "input": { "name": "Cyd" } })).await["name"], "Cyd");
    fixture.call_err("update_person", json!({ "id": 3, "input": { "email": "x" } }), "VALIDATION_UNKNOWN_FIELD").await;
    fixture.call_err("update_person", json!({ "id": 3, "input": { "ssn": "x" } }), "VALIDATION_UNKNOWN_FIELD").await;
    fixture.call_err("create_person", json!({ "id": 4, "name": "x", "salary": 1 }), "VALIDATION_UNKNOWN_PARAM").await;
    // The violation of a constraint over hidden columns is not named: the default collides with Cy's.
    let error = fixture.call_err("create_person", json!({ "id": 5, "name": "Di" }), "CONFLICT_CONSTRAINT").await;
    assert!(!error.to_string().contains("ssn"), "{error}");
    // Deleting needs no permission to update.
    fixture.call_ok("delete_person", json!({ "id": 3 })).await;
    let error =
        fixture.call_err("delete_person", json!({ "id": 1, "if_match": "old" }), "CONFLICT_VERSION_MISMATCH").await;
    assert!(error["details"]["current_etag"].is_string());
    // Without its key a table can still be read completely.
    assert_eq!(fixture.walk("list_keyed_by_secrets", json!({}), 2).await.len(), 3);
    // A row cannot be created if a hidden column needs a value.
    assert!(!names.contains(&"create_needs_secret".to_owned()), "{names:?}");
}

#[tokio::test]
async fn a_role_may_be_limited_to_delete() {
    let fixture = fixture(
        "CREATE TABLE jobs (id int PRIMARY KEY, name text); INSERT INTO jobs VALUES (1, 'a'), (2, 'b');",
        "GRANT SELECT, DELETE ON jobs TO ROLE",
    )
    .await;
    assert_eq!(fixture.operations(), ["delete_job", "get_job", "list_jobs", "search_jobs"]);
    let version = fixture.call_ok("get_job", json!({ "id": 1 })).await["_etag"].clone();
    fixture.run_sql("UPDATE jobs SET name = 'c' WHERE id = 1").await;
    fixture.call_err("delete_job", json!({ "id": 1, "if_match": version }), "CONFLICT_VERSION_MISMATCH").await;
    fixture.call_ok("delete_job", json!({ "id": 1, "dry_run": true })).await;
    assert_eq!(fixture.call_ok("delete_job", json!({ "id": 1 })).await["name"], "c");
}

const ROWS: &str = "
    CREATE TABLE notes (id int PRIMARY KEY, owner text NOT NULL DEFAULT current_user, body text, public boolean NOT NULL DEFAULT false);
    ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
    CREATE POLICY own ON notes USING (owner = current_user) WITH CHECK (owner = current_user);
    CREATE POLICY shared ON notes FOR SELECT USING (public);
    INSERT INTO notes (id, owner, body, public) VALUES (1, 'somebody', 'private', false), (2, 'somebody', 'shared', true);";

#[tokio::test]
async fn row_level_security_shows_and_changes_own_rows_only() {
    let fixture =
        fixture(ROWS, "GRANT ALL ON notes TO ROLE; INSERT INTO notes (id, owner, body) VALUES (3, 'ROLE', 'mine')")
            .await;
    let ids: Vec<Value> =
        fixture.walk("list_notes", json!({}), 1).await.iter().map(|note| note["id"].clone()).collect();
    assert_eq!(ids, [json!(2), json!(3)]);
    let counted = fixture.call_ok("list_notes", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(counted["aggregations"]["n"], 2);
    fixture.call_err("get_note", json!({ "id": 1 }), "NOT_FOUND_RESOURCE").await;
    fixture.call_err("update_note", json!({ "id": 1, "input": { "body": "x" } }), "NOT_FOUND_RESOURCE").await;
    fixture.call_err("delete_note", json!({ "id": 1 }), "NOT_FOUND_RESOURCE").await;
    assert_eq!(
        fixture.call_ok("update_note", json!({ "id": 3, "input": { "body": "still mine" } })).await["body"],
        "still mine"
    );
    // Shared rows may be read but not changed; the error says so instead of "not found".
    assert_eq!(fixture.call_ok("get_note", json!({ "id": 2 })).await["body"], "shared");
    for (operation, params) in [
        ("update_note", json!({ "id": 2, "input": { "body": "x" } })),
        ("update_note", json!({ "id": 2, "input": { "body": "x" }, "dry_run": true })),
        ("delete_note", json!({ "id": 2 })),
        ("delete_note", json!({ "id": 2, "dry_run": true })),
        ("create_note", json!({ "id": 9, "owner": "somebody", "body": "x" })),
        ("update_note", json!({ "id": 3, "input": { "owner": "somebody" } })),
    ] {
        let error = fixture.call_err(operation, params, "PERMISSION_DENIED").await;
        let message = error["message"].as_str().unwrap();
        assert!(message.starts_with("Permission denied: ") && message.contains("the database"), "{error}");
    }
    let error = fixture.call_err("create_note", json!({ "id": 1, "body": "x" }), "CONFLICT_ALREADY_EXISTS").await;
    assert_eq!(error["details"]["fields"], json!(["id"]));
    assert_eq!(fixture.call_ok("create_note", json!({ "id": 10, "body": "x" })).await["body"], "x");
    assert_eq!(fixture.call_ok("delete_note", json!({ "id": 10 })).await["id"], 10);
    assert_eq!(fixture.value("SELECT string_agg(body, ',' ORDER BY id) FROM notes").await, "private,shared,still mine");
}

#[tokio::test]
async fn row_level_security_may_allow_delete_but_not_update() {
    let fixture = fixture(
        "CREATE TABLE notes (id int PRIMARY KEY, body text);
         ALTER TABLE notes ENABLE ROW LEVEL SECURITY;
         CREATE POLICY s ON notes FOR SELECT USING (true);
         CREATE POLICY d ON notes FOR DELETE USING (id > 1);
         INSERT INTO notes VALUES (1, 'a'), (2, 'b');",
        "GRANT ALL ON notes TO ROLE",
    )
    .await;
    fixture.call_err("update_note", json!({ "id": 2, "input": { "body": "x" } }), "PERMISSION_DENIED").await;
    fixture.call_err("delete_note", json!({ "id": 1 }), "PERMISSION_DENIED").await;
    fixture.call_ok("delete_note", json!({ "id": 2 })).await;
    fixture.call_err("create_note", json!({ "id": 3 }), "PERMISSION_DENIED").await;
}

/// Permissions revoked at run time.
#[tokio::test]
async fn revoked_permissions_are_reported() {
    let fixture = fixture(
        "CREATE TABLE notes (id int PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'a');",
        "GRANT ALL ON notes TO ROLE",
    )
    .await;
    fixture.run_sql("REVOKE ALL ON notes FROM PUBLIC; DO $$ DECLARE r text; BEGIN FOR r IN SELECT grantee FROM information_schema.table_privileges WHERE table_name = 'notes' AND grantee LIKE 'role%' AND privilege_type = 'UPDATE' LOOP EXECUTE format('REVOKE UPDATE ON notes FROM %I', r); END LOOP; END $$;").await;
    fixture.call_err("update_note", json!({ "id": 1, "input": { "body": "x" } }), "PERMISSION_DENIED").await;
    assert_eq!(fixture.call_ok("get_note", json!({ "id": 1 })).await["body"], "a");
    assert!(fixture.engine.reload().await.is_empty());
    fixture.call_err("update_note", json!({ "id": 1, "input": { "body": "x" } }), "NOT_FOUND_OPERATION").await;
}
