//! SQLite tables with `ON CONFLICT` clauses. Creating or updating one row must not delete another, nor report success
//! if nothing was changed.

use serde_json::{Value, json};

use crate::support::Fixture;

#[tokio::test]
async fn r_saf_1_a_conflict_is_an_error_despite_on_conflict_clauses() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE codes (id INTEGER PRIMARY KEY, a TEXT UNIQUE ON CONFLICT REPLACE, b TEXT UNIQUE on
            /* no matter how */ conflict IGNORE, c TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'x');
         INSERT INTO codes (id, a, b) VALUES (1, 'a1', 'b1'), (2, 'a2', 'b2');
         CREATE TABLE keyed (k TEXT PRIMARY KEY ON CONFLICT REPLACE, n INTEGER); INSERT INTO keyed VALUES ('x', 1), ('y', 2);
         CREATE TABLE pairs (a TEXT, b TEXT, CONSTRAINT once UNIQUE (a, b) ON CONFLICT ROLLBACK);
         INSERT INTO pairs VALUES ('a', 'b');",
    )
    .await;
    let before = contents(&fixture).await;
    for (operation, params, code) in [
        ("create_code", json!({ "a": "a1", "b": "new", "c": "c" }), "CONFLICT_ALREADY_EXISTS"),
        ("create_code", json!({ "a": "new", "b": "b1", "c": "c" }), "CONFLICT_ALREADY_EXISTS"),
        ("update_code", json!({ "id": 2, "input": { "a": "a1" } }), "CONFLICT_ALREADY_EXISTS"),
        ("update_code", json!({ "id": 2, "input": { "b": "b1" } }), "CONFLICT_ALREADY_EXISTS"),
        ("update_code", json!({ "id": 2, "input": { "c": null } }), "VALIDATION_INVALID_TYPE"),
        ("create_keyed", json!({ "k": "x", "n": 5 }), "CONFLICT_ALREADY_EXISTS"),
        ("create_pair", json!({ "a": "a", "b": "b" }), "CONFLICT_ALREADY_EXISTS"),
    ] {
        for dry_run in [true, false] {
            let mut params = params.clone();
            params["dry_run"] = json!(dry_run);
            fixture.call_err(operation, params, code).await;
            assert_eq!(contents(&fixture).await, before, "{operation}");
        }
    }
    fixture.call_ok("create_code", json!({ "a": "a3", "b": "b3" })).await;
    assert_eq!(fixture.call_ok("update_code", json!({ "id": 3, "input": { "a": "a4" } })).await["a"], "a4");
}

/// Without conflict clauses in the table none is added to the statement: it would override those of triggers.
#[tokio::test]
async fn triggers_keep_their_own_conflict_clauses() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, topic TEXT); CREATE TABLE topics (name TEXT PRIMARY KEY);
         CREATE TRIGGER noted AFTER INSERT ON notes BEGIN INSERT OR IGNORE INTO topics VALUES (new.topic); END;
         CREATE TRIGGER changed AFTER UPDATE ON notes BEGIN INSERT OR REPLACE INTO topics VALUES (new.topic); END;",
    )
    .await;
    for id in 1..3 {
        fixture.call_ok("create_note", json!({ "id": id, "topic": "same" })).await;
        fixture.call_ok("update_note", json!({ "id": id, "input": { "topic": "same" } })).await;
    }
    assert_eq!(fixture.value("SELECT count(*) FROM topics").await, "1");
}

async fn contents(fixture: &Fixture) -> Vec<Value> {
    let mut all = Vec::new();
    for operation in ["list_codes", "list_keyeds", "list_pairs"] {
        all.push(fixture.call_ok(operation, json!({ "fields": "full" })).await["items"].clone());
    }
    all
}
