//! Tables and calls for tests of `query_sql`, the same for SQLite and PostgreSQL.

use std::collections::BTreeMap;

use aquifer_sql::{Settings, TableSettings};
use serde_json::{Value, json};

use crate::support::Fixture;

/// People have a hidden column, the vault is excluded, and grown people are a view that reads the hidden column.
pub(crate) const TABLES: &str = "
    CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, hushword TEXT);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, person_id INTEGER REFERENCES people(id), place TEXT, paid REAL);
    CREATE TABLE vault (id INTEGER PRIMARY KEY, content TEXT);
    CREATE VIEW grown AS SELECT id, name FROM people WHERE hushword IS NOT NULL;
    INSERT INTO people VALUES (1, 'Ann', 30, 'hunterzz'), (2, 'Bob', 40, 'hunterzz'), (3, 'O''Hara', NULL, NULL);
    INSERT INTO visits VALUES (1, 1, 'Rome', 1.5), (2, 1, 'Oslo', 2.5), (3, 2, 'Rome', NULL);
    INSERT INTO vault VALUES (1, 'hunterzz');";

/// The content of what may not be read.
pub(crate) const SECRET: &str = "hunterzz";

pub(crate) const DENIED: &str = "PERMISSION_DENIED";
pub(crate) const INVALID: &str = "VALIDATION_INVALID_VALUE";

pub(crate) fn enable(settings: &mut Settings) {
    settings.query_sql = true;
    settings.exclude = vec!["vault".to_owned()];
    let hidden = TableSettings { hide: vec!["hushword".to_owned()], ..TableSettings::default() };
    settings.tables = BTreeMap::from([("people".to_owned(), hidden)]);
}

/// The rows of a statement.
pub(crate) async fn rows(fixture: &Fixture, sql: &str, params: Value) -> Value {
    fixture.call_ok("query_sql", json!({ "sql": sql, "params": params })).await["rows"].clone()
}

/// A statement is refused with this code, and its answer tells nothing.
pub(crate) async fn assert_refused(fixture: &Fixture, sql: &str, code: &str) {
    let answer = fixture.call("query_sql", json!({ "sql": sql })).await;
    assert_eq!(answer["error"]["code"], code, "{sql}: {answer}");
    assert!(!answer.to_string().contains(SECRET), "{sql}: {answer}");
}
