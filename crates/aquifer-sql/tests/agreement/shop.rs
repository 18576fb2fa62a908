//! The rows of the case tables: every field type, missing values, ties, and special characters.

use std::sync::Arc;

use aquifer_query::collection::{ComputedValue, Field};
use aquifer_query::{Collection, FieldType};
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras};
use crate::memory::computed;
use crate::tables::{StorageFormat, Table};

pub(crate) fn field(name: &str, field_type: FieldType) -> Field {
    Field { name: name.into(), field_type, nullable: true, description: None }
}

pub(crate) fn derived(name: &str, field_type: FieldType) -> ComputedValue {
    ComputedValue { name: name.into(), field_type, description: None, filterable: true, sortable: true }
}

pub(crate) fn words(words: &[&str]) -> FieldType {
    FieldType::Enum(words.iter().map(|word| Arc::from(*word)).collect())
}

/// Things and their parts.
pub(crate) fn tables() -> Vec<Table> {
    let things = Collection {
        name: "things".into(),
        fields: vec![
            field("id", FieldType::Integer),
            field("title", FieldType::Text),
            field("status", words(&["closed", "late", "open"])),
            field("grade", words(&["a", "b", "c"])),
            field("amount", FieldType::Integer),
            field("big", FieldType::Integer),
            field("price", FieldType::Number),
            field("weight", FieldType::Number),
            field("urgent", FieldType::Boolean),
            field("created_at", FieldType::Time),
            field("due_on", FieldType::Date),
            field("data", FieldType::Bytes),
            field("meta", FieldType::Json),
            field("memo", FieldType::Json),
        ],
        computed: vec![
            derived("size_class", FieldType::Text),
            derived("age_days", FieldType::Integer),
            derived("parts_count", FieldType::Integer),
        ],
        key: vec!["id".into()],
        text: vec!["title".into()],
        presets: [("brief".into(), vec!["id".into(), "status".into()])].into(),
        versions: true,
        ..Collection::default()
    };
    let parts = Collection {
        name: "parts".into(),
        fields: vec![field("id", FieldType::Integer), field("thing_id", FieldType::Integer)],
        key: vec!["id".into()],
        versions: true,
        ..Collection::default()
    };
    let table = |name, singular, collection, sqlite, postgres| Table { name, singular, collection, sqlite, postgres };
    vec![
        table(
            "things",
            "thing",
            things,
            "(id INTEGER PRIMARY KEY, title TEXT, status TEXT CHECK (status IN ('closed', 'late', 'open')), \
             grade TEXT CHECK (grade IN ('a', 'b', 'c')), amount INTEGER, big BIGINT, price DECIMAL(12, 4), weight REAL, \
             urgent BOOLEAN, created_at TIMESTAMP, due_on DATE, data BLOB, meta JSON, memo JSON)",
            "(id int4 PRIMARY KEY, title text, status text CHECK (status IN ('closed', 'late', 'open')), \
             grade grade, amount int2, big int8, price numeric(12, 4), weight float8, \
             urgent bool, created_at timestamptz, due_on date, data bytea, meta jsonb, memo json)",
        ),
        table(
            "parts",
            "part",
            parts,
            "(id INTEGER PRIMARY KEY, thing_id INTEGER REFERENCES things (id))",
            "(id int4 PRIMARY KEY, thing_id int4 REFERENCES things (id))",
        ),
    ]
}

/// Every thing in its common form.
pub(crate) fn things() -> Vec<Value> {
    let rows = [
        (
            json!({ "id": 1, "title": "Broken door", "status": "open", "grade": "a", "amount": 3,
                "big": "9007199254740993", "price": 10, "weight": 1.5, "urgent": true,
                "created_at": "2026-01-01T00:00:00Z", "due_on": "2026-02-01", "data": "AAE=",
                "meta": { "floor": 1, "room": "Hall", "tags": ["red", "blue"], "ok": true, "size": { "w": 2.5 } },
                "memo": { "by": "Ann" } }),
            "light",
            Some(59),
            2,
        ),
        (
            json!({ "id": 2, "title": "Open window", "status": "closed", "grade": "b", "amount": -5,
                "big": "-9007199254740993", "price": 2.5, "weight": -0.25, "urgent": false,
                "created_at": "2026-02-01T00:00:00Z", "due_on": "2026-01-15", "data": "",
                "meta": { "floor": 2, "room": "hall", "tags": [], "ok": false, "size": { "w": 10 } },
                "memo": { "by": "bob" } }),
            "light",
            Some(28),
            1,
        ),
        (
            json!({ "id": 3, "title": "Broken window and door", "status": null, "grade": null, "amount": null,
                "big": null, "price": null, "weight": null, "urgent": null, "created_at": null, "due_on": null,
                "data": null, "meta": null, "memo": null }),
            "unknown",
            None,
            0,
        ),
        (
            json!({ "id": 4, "title": null, "status": "late", "grade": "c", "amount": 3, "big": 9_007_199_254_740_991_i64,
                "price": 10, "weight": 1.5, "urgent": true, "created_at": "2026-01-15T10:00:00Z",
                "due_on": "2026-02-01", "data": "/+8=",
                "meta": { "floor": "2", "room": null, "tags": ["blue"], "ok": 1 }, "memo": "Ann" }),
            "light",
            Some(45),
            0,
        ),
        (
            json!({ "id": 5, "title": "École RÉSUMÉ", "status": "open", "grade": "a", "amount": 0,
                "big": "9007199254740992", "price": 0, "weight": 0, "urgent": false,
                "created_at": "2025-12-31T23:59:59Z", "due_on": "2024-02-29", "data": "AA==",
                "meta": { "floor": 2.0, "room": "École", "tags": ["red", ["x"], null, 7], "ok": null },
                "memo": { "by": null } }),
            "light",
            Some(59),
            3,
        ),
        (
            json!({ "id": 6, "title": "100% sure_thing C:\\dir", "status": "open", "grade": null, "amount": null,
                "big": null, "price": -1.25, "weight": 1e20, "urgent": null, "created_at": null, "due_on": null,
                "data": null, "meta": ["a", "b"], "memo": [1] }),
            "heavy",
            None,
            0,
        ),
        (
            json!({ "id": 7, "title": "It's \"quoted\" 😀 ok", "status": "late", "grade": "b", "amount": 7,
                "big": "9223372036854775807", "price": 99_999_999.999_9, "weight": 0.1, "urgent": true,
                "created_at": "2026-02-01T00:00:00Z", "due_on": "2026-03-01", "data": "3q2+7w==", "meta": "plain",
                "memo": 12 }),
            "light",
            Some(28),
            0,
        ),
        (
            json!({ "id": 8, "title": "straße STRASSE", "status": "closed", "grade": "c", "amount": 3, "big": 0,
                "price": 10, "weight": -1.5, "urgent": false, "created_at": "2026-02-28T12:00:00Z",
                "due_on": "2026-02-28", "data": "AAE=", "meta": { "floor": -3, "room": "Keller", "size": { "w": 2.5 } },
                "memo": true }),
            "light",
            Some(1),
            0,
        ),
        (
            json!({ "id": 9, "title": "null", "status": "open", "grade": "a", "amount": 1, "big": 5, "price": 3,
                "weight": 2, "urgent": null, "created_at": "2026-03-01T12:00:01Z", "due_on": "2026-02-01",
                "data": null, "meta": { "floor": 1, "room": "null" }, "memo": { "by": "12" } }),
            "light",
            Some(-1),
            0,
        ),
        (
            json!({ "id": 10, "title": "", "status": null, "grade": null, "amount": 3, "big": 5, "price": 3,
                "weight": 1.5, "urgent": true, "created_at": "2026-03-01T12:00:00Z", "due_on": null, "data": null,
                "meta": null, "memo": { "by": 12 } }),
            "light",
            Some(0),
            0,
        ),
    ];
    let more = |class: &str, age: Option<i64>, parts: i64| {
        [("size_class", json!(class)), ("age_days", json!(age)), ("parts_count", json!(parts))]
    };
    rows.iter().map(|(row, class, age, parts)| computed(row, &more(class, *age, *parts))).collect()
}

fn parts() -> Vec<Value> {
    let field_type = [(1, 1), (2, 1), (3, 2), (4, 5), (5, 5), (6, 5)];
    field_type.iter().map(|(id, thing)| json!({ "id": id, "thing_id": thing })).collect()
}

fn settings(settings: &mut aquifer_sql::Settings) {
    let computed = aquifer_sql::ComputedSettings {
        name: "size_class".to_owned(),
        sql: "CASE WHEN weight > 100 THEN 'heavy' WHEN weight IS NULL THEN 'unknown' ELSE 'light' END".to_owned(),
        field_type: FieldType::Text,
        description: None,
        filterable: true,
        sortable: true,
    };
    let table_settings = aquifer_sql::TableSettings {
        presets: [("brief".to_owned(), vec!["id".to_owned(), "status".to_owned()])].into(),
        computed: vec![computed],
        ..aquifer_sql::TableSettings::default()
    };
    settings.tables.insert("things".to_owned(), table_settings);
}

/// All engines with the things inserted.
pub(crate) async fn shop(format: StorageFormat) -> EngineSet {
    shop_without(format, &[]).await
}

/// Some engines with the things inserted. A JSON null in a column counts as missing.
pub(crate) async fn shop_without(format: StorageFormat, without: &'static [&'static str]) -> EngineSet {
    let extras = Extras {
        format,
        without,
        types: "CREATE TYPE grade AS ENUM ('a', 'b', 'c')",
        settings: Some(settings),
        ..Extras::default()
    };
    let engines = EngineSet::new(tables(), &[("things", things()), ("parts", parts())], extras).await;
    engines.run("UPDATE things SET meta = 'null' WHERE id = 10").await;
    engines
}
