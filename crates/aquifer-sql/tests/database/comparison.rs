//! How column values are compared. Policy has to know this, so that a rule about one spelling covers all.

use std::sync::Arc;

use aquifer_engine::Source;
use aquifer_protocol::schema::{Comparison, Kind, Schema};
use aquifer_sql::{Database, TableSettings};
use serde_json::json;

use crate::support::{File, Fixture, open};

/// How introspection says that a parameter, or a field of its `input`, is compared.
fn parameter_comparison(database: &Arc<Database>, operation: &str, parameter: &str) -> Comparison {
    let offering = database.offering();
    let operation = offering.operations.iter().find(|known| *known.name == *operation).unwrap();
    if let Some(known) = operation.parameter(parameter) {
        return element(&known.schema).comparison;
    }
    let Kind::Object(shape) = &operation.parameter("input").unwrap().schema.kind else { panic!("{parameter}") };
    let field = shape.fields.iter().find(|field| *field.name == *parameter).unwrap_or_else(|| panic!("{parameter}"));
    element(&field.schema).comparison
}

fn element(schema: &Schema) -> &Schema {
    match &schema.kind {
        Kind::Array(Some(element)) => element,
        _ => schema,
    }
}

/// The same for the type of the rows.
fn field_comparison(database: &Arc<Database>, name: &str, field: &str) -> Comparison {
    let offering = database.offering();
    let Kind::Object(shape) = &offering.types[name].kind else { panic!("{name}") };
    element(&shape.fields.iter().find(|known| *known.name == *field).unwrap().schema).comparison
}

#[tokio::test]
async fn r_saf_2_sqlite_columns_report_their_comparison() {
    let file = File::create(
        "CREATE TABLE people (login TEXT COLLATE NOCASE PRIMARY KEY, name TEXT, code TEXT COLLATE RTRIM, label VARCHAR(9) COLLATE nocase,
            word TEXT COLLATE NOCASE CHECK (word IN ('a', 'b')), number STRING, id UUID, n INTEGER, kept TEXT, loose);
         CREATE UNIQUE INDEX one_kept ON people(kept COLLATE NOCASE);
         CREATE TABLE codes (code TEXT, PRIMARY KEY (code COLLATE NOCASE)) WITHOUT ROWID;
         CREATE TABLE mixed (a TEXT COLLATE RTRIM UNIQUE COLLATE RTRIM, b TEXT COLLATE RTRIM);
         CREATE UNIQUE INDEX other_b ON mixed(b COLLATE NOCASE);
         CREATE VIEW seen AS SELECT login, upper(name) AS loud, name FROM people;",
    );
    let mut settings = file.settings();
    settings
        .tables
        .insert("seen".to_owned(), TableSettings { key: vec!["login".to_owned()], ..TableSettings::default() });
    let database = open(settings).await.unwrap();
    for (operation, parameter, expected) in [
        ("get_person", "login", Comparison::IgnoreCase),
        ("update_person", "login", Comparison::IgnoreCase),
        ("delete_person", "login", Comparison::IgnoreCase),
        ("create_person", "login", Comparison::IgnoreCase),
        ("update_person", "name", Comparison::Exact),
        ("update_person", "code", Comparison::IgnoreTrailingBlanks),
        ("create_person", "label", Comparison::IgnoreCase),
        ("create_person", "word", Comparison::IgnoreCase),
        // '1', '01' and '1.0' are equal in a numeric column.
        ("create_person", "number", Comparison::Unknown),
        ("create_person", "id", Comparison::Unknown),
        ("create_person", "n", Comparison::Exact),
        ("create_person", "loose", Comparison::Exact),
        // The index compares more loosely than the column.
        ("create_person", "kept", Comparison::IgnoreCase),
        ("get_code", "code", Comparison::IgnoreCase),
        ("create_mixed", "a", Comparison::IgnoreTrailingBlanks),
        ("create_mixed", "b", Comparison::Unknown),
        ("get_seen", "login", Comparison::IgnoreCase),
    ] {
        assert_eq!(parameter_comparison(&database, operation, parameter), expected, "{operation} {parameter}");
    }
    assert_eq!(field_comparison(&database, "Person", "login"), Comparison::IgnoreCase);
    assert_eq!(field_comparison(&database, "Seen", "loud"), Comparison::Unknown);
    assert_eq!(field_comparison(&database, "Seen", "name"), Comparison::Exact);
}

/// The description matches the database: a row is found under another spelling exactly where it says so.
#[tokio::test]
async fn r_saf_2_rows_are_found_by_the_reported_comparison() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE a (k TEXT COLLATE NOCASE PRIMARY KEY); INSERT INTO a VALUES ('admin');
         CREATE TABLE b (k TEXT COLLATE RTRIM PRIMARY KEY); INSERT INTO b VALUES ('admin');
         CREATE TABLE c (k TEXT PRIMARY KEY); INSERT INTO c VALUES ('admin');
         CREATE TABLE d (k STRING PRIMARY KEY); INSERT INTO d VALUES ('7');",
    )
    .await;
    for (operation, key, is_found) in [
        ("get_a", "ADMIN", true),
        ("get_b", "admin  ", true),
        ("get_b", "ADMIN", false),
        ("get_c", "ADMIN", false),
        ("get_c", "admin ", false),
        ("get_d", "07", true),
    ] {
        let answer = fixture.call(operation, json!({ "k": key })).await;
        assert_eq!(answer["success"], json!(is_found), "{operation} {key:?}: {answer}");
    }
}

#[tokio::test]
async fn r_saf_2_postgres_columns_report_their_comparison() {
    let fixture = Fixture::postgres(
        "CREATE EXTENSION citext; CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE DOMAIN mail AS citext; CREATE TYPE mood AS ENUM ('ok', 'sad');
         CREATE TABLE people (login citext PRIMARY KEY, name text, code char(5), mail mail, loose text COLLATE loose, fine text COLLATE \"C\",
            id uuid, label varchar(9), cut name, host inet, tags citext[], ids uuid[], words text[], span interval, hosts inet[], moods mood[], content bytea, contents bytea[], at time, price money,
            mac macaddr, numbers int4range, bits bit(4), number oid, letter \"char\", feeling text CHECK (feeling IN ('a', 'b')));
         INSERT INTO people (login, id) VALUES ('admin', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
         CREATE TABLE keyed (id uuid PRIMARY KEY); INSERT INTO keyed VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
         CREATE TABLE fixed (k char(5) PRIMARY KEY); INSERT INTO fixed VALUES ('ab');",
    )
    .await;
    let database = open(fixture.server().settings()).await.unwrap();
    for (operation, parameter, expected) in [
        ("get_person", "login", Comparison::IgnoreCase),
        ("create_person", "name", Comparison::Exact),
        ("create_person", "code", Comparison::IgnoreTrailingBlanks),
        ("update_person", "mail", Comparison::IgnoreCase),
        ("update_person", "loose", Comparison::Unknown),
        ("update_person", "fine", Comparison::Exact),
        ("update_person", "id", Comparison::Uuid),
        ("update_person", "label", Comparison::Exact),
        ("update_person", "cut", Comparison::Opaque),
        ("update_person", "host", Comparison::Opaque),
        ("update_person", "tags", Comparison::IgnoreCase),
        ("update_person", "ids", Comparison::Uuid),
        ("update_person", "words", Comparison::Exact),
        ("update_person", "span", Comparison::Opaque),
        ("update_person", "hosts", Comparison::Opaque),
        ("update_person", "moods", Comparison::Exact),
        ("update_person", "content", Comparison::Exact),
        ("update_person", "contents", Comparison::Opaque),
        ("update_person", "at", Comparison::Opaque),
        ("update_person", "price", Comparison::Opaque),
        ("update_person", "mac", Comparison::Opaque),
        ("update_person", "numbers", Comparison::Opaque),
        ("update_person", "bits", Comparison::Opaque),
        ("update_person", "number", Comparison::Opaque),
        ("update_person", "letter", Comparison::Opaque),
        ("update_person", "feeling", Comparison::Exact),
        ("delete_keyed", "id", Comparison::Uuid),
        ("delete_fixed", "k", Comparison::IgnoreTrailingBlanks),
    ] {
        assert_eq!(parameter_comparison(&database, operation, parameter), expected, "{operation} {parameter}");
    }
    assert_eq!(field_comparison(&database, "Person", "login"), Comparison::IgnoreCase);
    for (operation, params) in [
        ("get_person", json!({ "login": "ADMIN" })),
        ("get_keyed", json!({ "id": "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11" })),
        ("get_fixed", json!({ "k": "ab " })),
    ] {
        fixture.call_ok(operation, params).await;
    }
}
