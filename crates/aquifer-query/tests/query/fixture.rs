//! A small collection with every kind of field.

use std::sync::Arc;

use aquifer_query::collection::{Collection, ComputedValue, Field, FieldType};
use aquifer_query::evaluate::evaluate;
use aquifer_query::{CursorKey, QueryKind, parse_query};
use serde_json::{Value, json};

pub(crate) fn key() -> CursorKey {
    CursorKey::new([7; 32])
}

pub(crate) fn collection() -> Collection {
    let field =
        |name: &str, field_type: FieldType| Field { name: name.into(), field_type, nullable: true, description: None };
    Collection {
        name: "tickets".into(),
        fields: vec![
            field("id", FieldType::Integer),
            field("title", FieldType::Text),
            field("status", FieldType::Enum(["open", "closed", "late"].map(Arc::from).into())),
            field("price", FieldType::Number),
            field("urgent", FieldType::Boolean),
            field("created_at", FieldType::Time),
            field("meta", FieldType::Json),
            field("tags", FieldType::List(Some(Box::new(FieldType::Text)))),
        ],
        computed: vec![
            ComputedValue {
                name: "age_days".into(),
                field_type: FieldType::Integer,
                description: None,
                filterable: true,
                sortable: true,
            },
            ComputedValue {
                name: "size".into(),
                field_type: FieldType::Integer,
                description: None,
                filterable: false,
                sortable: false,
            },
        ],
        key: vec!["id".into()],
        text: vec!["title".into()],
        ..Collection::default()
    }
}

pub(crate) fn items() -> Vec<Value> {
    vec![
        json!({ "id": 1, "title": "Broken door", "status": "open", "price": 10, "urgent": true, "created_at": "2026-01-01T00:00:00Z", "meta": { "room": { "floor": 1 } }, "tags": ["a"], "_computed": { "age_days": 30, "size": 1 } }),
        json!({ "id": 2, "title": "Open window", "status": "closed", "price": 2.5, "urgent": false, "created_at": "2026-02-01T00:00:00Z", "meta": { "room": { "floor": 2 } }, "tags": [], "_computed": { "age_days": 20, "size": 2 } }),
        json!({ "id": 3, "title": "Broken window and door", "status": "open", "price": null, "urgent": null, "created_at": null, "meta": null, "tags": null, "_computed": { "age_days": null, "size": 3 } }),
        json!({ "id": 4, "title": null, "status": "late", "price": 10, "urgent": true, "created_at": "2026-01-15T12:00:00+02:00", "meta": { "room": "attic" }, "tags": ["a", "b"], "_computed": { "age_days": 10, "size": 4 } }),
    ]
}

pub(crate) fn ask(params: Value) -> Value {
    ask_as(QueryKind::List, params)
}

pub(crate) fn ask_as(family: QueryKind, params: Value) -> Value {
    let collection = collection();
    let parsed = parse_query(&collection, family, params.as_object().unwrap(), &key())
        .unwrap_or_else(|failure| panic!("{params}: {}", failure.message()));
    evaluate(&collection, &parsed.plan, &items(), &key()).data
}

/// The ids of the matching items.
pub(crate) fn ids(params: Value) -> Vec<i64> {
    ask(params)["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
}
