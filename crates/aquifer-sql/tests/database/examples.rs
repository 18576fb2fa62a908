//! R-INT-2: every example succeeds when it is sent. Those of changes are sent as dry runs.

use aquifer_sql::Style;
use serde_json::{Value, json};

use crate::support::{Fixture, on_both};

/// Keys of several kinds, references, rules and a table without rows.
const TABLES: &str = "
    CREATE TABLE experiments (experiment_id INTEGER PRIMARY KEY, name VARCHAR(256) NOT NULL UNIQUE);
    CREATE TABLE runs (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY, experiment_id INTEGER NOT NULL REFERENCES experiments,
        status VARCHAR(9) NOT NULL CHECK (status IN ('RUNNING', 'DONE')));
    CREATE TABLE tags (key VARCHAR(250) NOT NULL, value VARCHAR(5), run_uuid VARCHAR(32) NOT NULL REFERENCES runs,
        PRIMARY KEY (key, run_uuid));
    CREATE TABLE profiles (run_uuid VARCHAR(32) NOT NULL PRIMARY KEY REFERENCES runs, note VARCHAR(20));
    CREATE TABLE counters (id INTEGER NOT NULL, n INTEGER NOT NULL UNIQUE, PRIMARY KEY (id));
    CREATE TABLE empty_parents (code VARCHAR(5) NOT NULL PRIMARY KEY);
    CREATE TABLE orphans (code VARCHAR(5) NOT NULL PRIMARY KEY REFERENCES empty_parents);
    INSERT INTO experiments VALUES (1, 'text'), (2, 'b');
    INSERT INTO runs VALUES ('aaaa', 1, 'DONE'), ('bbbb', 1, 'RUNNING'), ('cccc', 2, 'DONE');
    INSERT INTO tags VALUES ('text', 'v', 'aaaa'), ('k', 'v', 'bbbb');
    INSERT INTO profiles VALUES ('aaaa', 'x'), ('bbbb', 'y');
    INSERT INTO counters VALUES (1, 1), (2, 2);";

on_both!(r_int_2_every_example_succeeds, every_example, TABLES, TABLES);

async fn every_example(fixture: &Fixture) {
    assert_all_succeed(fixture).await;
    let example = |details: &Value| details["examples"].as_array().unwrap().clone();
    // A table without rows has no row to read, and a row that refers to it cannot be created.
    for operation in ["get_empty_parent", "delete_empty_parent", "create_orphan", "get_orphan"] {
        assert_eq!(example(&fixture.details(operation).await), Vec::<Value>::new(), "{operation}");
    }
    for operation in [
        "get_run",
        "create_run",
        "create_tag",
        "create_profile",
        "create_counter",
        "update_run",
        "delete_run",
        "get_tag",
    ] {
        assert_eq!(example(&fixture.details(operation).await).len(), 1, "{operation}");
    }
    // Introspection leaves nothing behind, and answers the same again (R-INT-7).
    assert_eq!(fixture.value("SELECT count(*) FROM runs").await, "3");
    let before = fixture.details("get_run").await;
    fixture.run_sql("INSERT INTO runs VALUES ('0000', 1, 'DONE')").await;
    assert_eq!(fixture.details("get_run").await, before);
}

#[tokio::test]
async fn r_int_2_every_generic_example_succeeds() {
    let fixture = Fixture::sqlite_with(TABLES, |settings| settings.style = Style::Generic).await;
    assert_all_succeed(&fixture).await;
    let relationships = fixture.details("query_relationships").await;
    assert_eq!(relationships["examples"].as_array().unwrap().len(), 1, "{relationships}");
}

/// Hidden columns are not read for examples, and an example does not show a key that looks like a secret.
#[tokio::test]
async fn r_int_2_examples_reveal_nothing_hidden() {
    let fixture = Fixture::sqlite_with(
        "CREATE TABLE django_session (session_key varchar(40) NOT NULL PRIMARY KEY, session_data TEXT NOT NULL, expire_date datetime NOT NULL);
         INSERT INTO django_session VALUES ('hunterzz', 'hunterzz', '2026-01-01 10:00:00.5');
         CREATE TABLE links (code TEXT PRIMARY KEY NOT NULL);
         INSERT INTO links VALUES ('ghp_0123456789abcdefghijklmnopqrstuvwxyz');",
        |settings| settings.include = vec!["django_session".to_owned(), "links".to_owned()],
    )
    .await;
    for operation in fixture.operations() {
        let details = fixture.details(&operation).await.to_string();
        assert!(!details.contains("hunterzz") && !details.contains("ghp_"), "{operation}: {details}");
    }
    let session = fixture.call_ok("get_django_session", json!({ "rowid": 1 })).await;
    assert_eq!(session["expire_date"], "2026-01-01T10:00:00.5Z");
    assert!(!session.to_string().contains("hunterzz"));
}

async fn assert_all_succeed(fixture: &Fixture) {
    let mut count = 0;
    for operation in fixture.operations() {
        let details = fixture.details(&operation).await;
        for example in details["examples"].as_array().unwrap() {
            let mut params = example["request"]["params"].clone();
            let parameters = details["parameters"].as_array().unwrap();
            if parameters.iter().any(|parameter| parameter["name"] == "dry_run") {
                params["dry_run"] = json!(true);
            }
            fixture.call_ok(&operation, params).await;
            count += 1;
        }
        for parameter in details["parameters"].as_array().unwrap() {
            let is_column = !["fields", "preset"].contains(&parameter["name"].as_str().unwrap());
            let is_described = parameter["description"].as_str().is_some_and(|words| !words.is_empty());
            let verb = operation.split('_').next().unwrap();
            let has_columns = ["get", "create", "update", "delete"].contains(&verb);
            assert!(is_described || !(is_column && has_columns), "{operation}: {parameter}");
        }
    }
    assert!(count >= 8, "{count}");
}
