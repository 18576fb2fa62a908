//! What a path of SQLite can lead to: SQLite accepts references to any columns, and a path must lead to at most one row.

use aquifer_sql::TableSettings;
use serde_json::json;

use crate::support::Fixture;

/// Each of these tables has a note for a code, and a table of notes that refer to it. Two of its rows have equal codes
/// unless a path may lead to them.
const TABLES: &str = "
    PRAGMA foreign_keys = OFF;
    CREATE TABLE looser (code TEXT COLLATE NOCASE NOT NULL, note TEXT);
    CREATE UNIQUE INDEX looser_codes ON looser (code COLLATE BINARY);
    CREATE TABLE looser_keys (code TEXT COLLATE NOCASE NOT NULL, note TEXT, PRIMARY KEY (code COLLATE BINARY));
    CREATE TABLE partial (code TEXT NOT NULL, note TEXT, gone INTEGER);
    CREATE UNIQUE INDEX partial_codes ON partial (code) WHERE gone IS NULL;
    CREATE TABLE configured (code TEXT NOT NULL, note TEXT);
    CREATE TABLE keyless (code TEXT NOT NULL, note TEXT);
    CREATE TABLE exact (code TEXT COLLATE NOCASE NOT NULL, note TEXT);
    CREATE UNIQUE INDEX exact_codes ON exact (code);
    CREATE TABLE keyed (code TEXT PRIMARY KEY, note TEXT);
    CREATE TABLE tight (code TEXT PRIMARY KEY, note TEXT) WITHOUT ROWID;
    CREATE TABLE nullable (code TEXT PRIMARY KEY, note TEXT);
    CREATE TABLE numbered (id INTEGER PRIMARY KEY, note TEXT);
    INSERT INTO looser VALUES ('a', 'one'), ('A', 'two');
    INSERT INTO looser_keys VALUES ('a', 'one'), ('A', 'two');
    INSERT INTO partial VALUES ('a', 'one', NULL), ('a', 'two', 1);
    INSERT INTO configured VALUES ('a', 'one'), ('a', 'two');
    INSERT INTO keyless VALUES ('1', 'one'), ('1', 'two');
    INSERT INTO exact VALUES ('A', 'one'), ('b', 'two');
    INSERT INTO keyed VALUES ('a', 'one'), ('A', 'two');
    INSERT INTO tight VALUES ('a', 'one'), ('A', 'two');
    INSERT INTO nullable VALUES (NULL, 'zero'), ('a', 'one'), (NULL, 'two');
    INSERT INTO numbered VALUES (1, 'one'), (2, 'two');
    CREATE TABLE uses (
        id INTEGER PRIMARY KEY,
        looser_code TEXT REFERENCES looser (code),
        looser_key_code TEXT REFERENCES looser_keys (code),
        partial_code TEXT REFERENCES partial (code),
        configured_code TEXT REFERENCES configured (code),
        keyless_code TEXT REFERENCES keyless,
        exact_code TEXT REFERENCES exact (code),
        keyed_code TEXT REFERENCES keyed,
        tight_code TEXT REFERENCES tight (code),
        nullable_code TEXT REFERENCES nullable,
        numbered_id INTEGER REFERENCES numbered
    );
    INSERT INTO uses VALUES (7, 'a', 'a', 'a', 'a', '1', 'a', 'a', 'a', 'a', 1);";

#[tokio::test]
async fn r_col_5_a_path_leads_only_to_unique_columns() {
    let fixture = Fixture::sqlite_with(TABLES, |settings| {
        let key = TableSettings { key: vec!["code".to_owned()], ..TableSettings::default() };
        settings.tables.insert("configured".to_owned(), key);
    })
    .await;
    for name in ["looser", "looser_key", "partial", "configured", "keyless"] {
        let path = format!("{name}.note");
        fixture.call_err("list_uses", json!({ "fields": [path] }), "VALIDATION_UNKNOWN_FIELD").await;
    }
    for name in ["exact", "keyed", "tight", "nullable", "numbered"] {
        let path = format!("{name}.note");
        let found = fixture.call_ok("list_uses", json!({ "fields": ["id", path] })).await;
        assert_eq!(found["items"], json!([{ "id": 7, name: { "note": "one" } }]), "{name}");
    }
}
