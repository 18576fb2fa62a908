//! Types that only PostgreSQL has, compared with the reference.

use aquifer_query::{Collection, FieldType};
use serde_json::{Value, json};

use crate::engines::{EngineSet, Extras};
use crate::shop::{field, words};
use crate::tables::Table;

fn list(field_type: FieldType) -> FieldType {
    FieldType::List(Some(Box::new(field_type)))
}

fn tables() -> Vec<Table> {
    let collection = Collection {
        name: "kinds".into(),
        fields: vec![
            field("id", FieldType::Integer),
            field("code", FieldType::Text),
            field("token", FieldType::Uuid),
            field("tags", list(FieldType::Text)),
            field("numbers", list(FieldType::Integer)),
            field("flags", list(FieldType::Boolean)),
            field("small", FieldType::Number),
            field("exact", FieldType::Number),
            field("at", FieldType::Time),
            field("mood", words(&["sad", "ok", "happy"])),
            field("address", FieldType::Text),
        ],
        key: vec!["id".into()],
        text: vec!["code".into()],
        versions: true,
        ..Collection::default()
    };
    vec![Table {
        name: "kinds",
        singular: "kind",
        collection,
        sqlite: "",
        postgres: "(id int4 PRIMARY KEY, code char(3), token uuid, tags text[], numbers int8[], flags bool[], small float4, \
                   exact numeric, at timestamp, mood mood, address inet)",
    }]
}

fn rows() -> Vec<Value> {
    vec![
        json!({ "id": 1, "code": "abc", "token": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "tags": ["red", "blue"],
            "numbers": [1, 2], "flags": [true], "small": 0.1, "exact": "12345678901234567890.12345",
            "at": "2026-01-01T00:00:00Z", "mood": "happy", "address": "10.0.0.1/32" }),
        json!({ "id": 2, "code": "abd", "token": "0d1b0a22-0000-4000-8000-000000000000", "tags": [], "numbers": [],
            "flags": [], "small": 1.5, "exact": 0.5, "at": "2026-01-01T00:00:00.25Z", "mood": "sad",
            "address": "::1/128" }),
        json!({ "id": 3, "code": null, "token": null, "tags": null, "numbers": null, "flags": null, "small": null,
            "exact": null, "at": null, "mood": null, "address": null }),
        json!({ "id": 4, "code": "ABC", "token": "ffffffff-ffff-4fff-bfff-ffffffffffff",
            "tags": ["red", null, "with \"quotes\", a comma and {braces} \\"], "numbers": ["9007199254740993", null],
            "flags": [false, null], "small": -3.4e38, "exact": 7, "at": "2026-02-01T00:00:00Z", "mood": "ok",
            "address": "10.0.0.2/32" }),
        json!({ "id": 5, "code": "xyz", "token": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "tags": ["RED"],
            "numbers": [2], "flags": [true, false], "small": 0.1, "exact": 7.25, "at": "2026-01-01T00:00:00Z",
            "mood": "ok", "address": "10.0.0.10/32" }),
    ]
}

async fn engines() -> EngineSet {
    let extras = Extras {
        types: "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
        without: &["sqlite"],
        settings: Some(|settings| {
            settings.tables.entry("kinds".to_owned()).or_default().show = vec!["token".to_owned()]
        }),
        ..Extras::default()
    };
    EngineSet::new(tables(), &[("kinds", rows())], extras).await
}

fn page(ids: &[i64]) -> Value {
    let items: Value = ids.iter().map(|id| json!({ "id": id })).collect();
    json!({ "items": items, "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } })
}

#[tokio::test]
async fn r_col_3_operators_on_types_of_postgres() {
    let filters = [
        (json!({ "token": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" }), vec![1, 5]),
        (json!({ "token": "A0EEBC999C0B4EF8BB6D6BB9BD380A11" }), vec![1, 5]),
        (json!({ "token": ["0d1b0a22-0000-4000-8000-000000000000", null] }), vec![2, 3]),
        (json!({ "token": { "ne": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" } }), vec![2, 3, 4]),
        (json!({ "token": { "gt": "0d1b0a22-0000-4000-8000-000000000000" } }), vec![1, 4, 5]),
        (json!({ "token": { "lte": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" } }), vec![1, 2, 5]),
        (json!({ "token": { "not_in": ["ffffffff-ffff-4fff-bfff-ffffffffffff"] } }), vec![1, 2, 3, 5]),
        (json!({ "token": { "is_null": true } }), vec![3]),
        (json!({ "tags": { "contains": "red" } }), vec![1, 4]),
        (json!({ "tags": { "contains": "RED" } }), vec![5]),
        (json!({ "tags": { "contains": "with \"quotes\", a comma and {braces} \\" } }), vec![4]),
        (json!({ "tags": { "contains": "NULL" } }), vec![]),
        (json!({ "not": { "tags": { "contains": "red" } } }), vec![2, 3, 5]),
        (json!({ "tags": ["red", "blue"] }), vec![1]),
        (json!({ "tags": [] }), vec![2]),
        (json!({ "tags": { "eq": ["RED"] } }), vec![5]),
        (json!({ "tags": { "ne": ["RED"] } }), vec![1, 2, 3, 4]),
        (json!({ "tags": { "in": [["RED"], [], null] } }), vec![2, 3, 5]),
        (json!({ "tags": { "not_in": [["RED"], []] } }), vec![1, 3, 4]),
        (json!({ "tags": { "in": [] } }), vec![]),
        (json!({ "tags": null }), vec![3]),
        (json!({ "numbers": { "contains": 2 } }), vec![1, 5]),
        (json!({ "numbers": { "contains": "9007199254740993" } }), vec![4]),
        (json!({ "numbers": { "contains": 3 } }), vec![]),
        (json!({ "numbers": [1, 2] }), vec![1]),
        (json!({ "flags": { "contains": true } }), vec![1, 5]),
        (json!({ "small": 0.1 }), vec![1, 5]),
        (json!({ "small": { "gt": 0.1 } }), vec![2]),
        (json!({ "small": { "lt": 1e300 } }), vec![1, 2, 4, 5]),
        (json!({ "small": { "gt": -1e300 } }), vec![1, 2, 4, 5]),
        (json!({ "small": [1e300, 1.5, 1e-300] }), vec![2]),
        (json!({ "exact": { "gt": 7 } }), vec![1, 5]),
        (json!({ "exact": "12345678901234567890.12345" }), vec![1]),
        (json!({ "exact": [0.5, 7.0] }), vec![2, 4]),
        (json!({ "at": "2026-01-01T01:00:00+01:00" }), vec![1, 5]),
        (json!({ "at": { "gt": "2026-01-01" } }), vec![2, 4]),
        (json!({ "at": { "lt": "2026-01-01T00:00:00.2500001Z" } }), vec![1, 2, 5]),
        (json!({ "code": "abc" }), vec![1]),
        (json!({ "code": { "contains": "AB" } }), vec![1, 2, 4]),
        (json!({ "code": ["xyz", null] }), vec![3, 5]),
        (json!({ "mood": { "contains": "A" } }), vec![1, 2]),
        (json!({ "address": "10.0.0.1/32" }), vec![1]),
        (json!({ "address": ["::1/128", "10.0.0.2/32"] }), vec![2, 4]),
        (json!({ "address": { "starts_with": "10.0.0.1" } }), vec![1, 5]),
    ];
    let engines = engines().await;
    let ask =
        |(filter, ids): (Value, Vec<i64>)| ("list_kinds", json!({ "filter": filter, "fields": ["id"] }), page(&ids));
    engines.check(filters.into_iter().map(ask)).await;
    let refusals = [
        (json!({ "token": "no" }), "VALIDATION_INVALID_TYPE"),
        (json!({ "token": { "contains": "a0" } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "tags": "red" }), "VALIDATION_INVALID_TYPE"),
        (json!({ "tags": [1] }), "VALIDATION_INVALID_TYPE"),
        (json!({ "tags": { "gt": ["a"] } }), "VALIDATION_INVALID_VALUE"),
        (json!({ "tags": { "contains": 1 } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "tags.0": "red" }), "VALIDATION_UNKNOWN_FIELD"),
        (json!({ "numbers": { "contains": 1.5 } }), "VALIDATION_INVALID_TYPE"),
        (json!({ "mood": "glad" }), "VALIDATION_INVALID_VALUE"),
    ];
    let ask = |(filter, code)| ("list_kinds", json!({ "filter": filter }), json!({ "error": code }));
    engines.check(refusals.into_iter().map(ask)).await;
}

#[tokio::test]
async fn r_col_4_r_col_5_r_col_6_order_fields_and_sums_of_types_of_postgres() {
    let engines = engines().await;
    let sorted = |field: &str, ids: &[i64]| ("list_kinds", json!({ "sort": field, "fields": ["id"] }), page(ids));
    engines
        .check([
            sorted("token", &[2, 1, 5, 4, 3]),
            sorted("small", &[4, 1, 5, 2, 3]),
            sorted("exact", &[2, 4, 5, 1, 3]),
            sorted("at", &[1, 5, 2, 4, 3]),
            sorted("code", &[4, 1, 2, 5, 3]),
        ])
        .await;
    let sums = [
        (
            json!({ "lo": { "min": "token" }, "hi": { "max": "token" } }),
            json!({ "lo": "0d1b0a22-0000-4000-8000-000000000000", "hi": "ffffffff-ffff-4fff-bfff-ffffffffffff" }),
        ),
        (json!({ "lo": { "min": "small" }, "hi": { "max": "small" } }), json!({ "lo": -3.4e38, "hi": 1.5 })),
        (
            json!({ "by": { "group_by": "token" } }),
            json!({ "by": {
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11": 2, "0d1b0a22-0000-4000-8000-000000000000": 1,
                "ffffffff-ffff-4fff-bfff-ffffffffffff": 1, "null": 1 } }),
        ),
        (
            json!({ "by": { "group_by": "numbers" } }),
            json!({ "by": { "[1,2]": 1, "[2]": 1, "[]": 1, "[\"9007199254740993\",null]": 1, "null": 1 } }),
        ),
        (json!({ "by": { "group_by": "small" } }), json!({ "by": { "0.1": 2, "1.5": 1, "-3.4e+38": 1, "null": 1 } })),
    ];
    let ask = |(aggregate, sums)| ("list_kinds", json!({ "aggregate": aggregate }), json!({ "aggregations": sums }));
    engines.check(sums.into_iter().map(ask)).await;
    let whole = |id: usize| ("get_kind", json!({ "id": id }), rows()[id - 1].clone());
    engines.check([whole(1), whole(2), whole(3), whole(4), whole(5)]).await;
}

/// Behavior documented for PostgreSQL only.
#[tokio::test]
async fn r_col_4_enumerations_sort_in_declaration_order() {
    let extras = Extras {
        types: "CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy')",
        without: &["memory", "sqlite"],
        ..Extras::default()
    };
    let engines = EngineSet::new(tables(), &[("kinds", rows())], extras).await;
    let by_mood = |order: &str| json!({ "sort": { "field": "mood", "order": order }, "fields": ["id"] });
    engines
        .check([
            ("list_kinds", by_mood("asc"), page(&[2, 4, 5, 1, 3])),
            ("list_kinds", by_mood("desc"), page(&[1, 5, 4, 2, 3])),
            ("list_kinds", json!({ "filter": { "mood": { "gte": "ok" } }, "fields": ["id"] }), page(&[1, 4, 5])),
            (
                "list_kinds",
                json!({ "aggregate": { "lo": { "min": "mood" }, "hi": { "max": "mood" }, "s": { "sum": "exact" } } }),
                json!({ "aggregations": { "lo": "sad", "hi": "happy", "s": "12345678901234567904.87345" } }),
            ),
        ])
        .await;
}
