//! Any JSON object is a request that gets one answer: parsed, routed and checked without a panic, and without a message
//! that could be taken for a leak.

use std::sync::OnceLock;

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, Request, parse};
use aquifer_protocol::schema::{Kind, SchemaReader};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::{Strictness, route};
use serde_json::{Map, Value, json};

fn surface() -> Surface {
    Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap()
}

/// A catalog with every kind of parameter.
fn catalog() -> &'static Catalog {
    static CATALOG: OnceLock<Catalog> = OnceLock::new();
    CATALOG.get_or_init(|| {
        let schema = json!({
            "properties": {
                "text": { "type": "string", "minLength": 2, "maxLength": 9, "pattern": "^[a-z]+$" },
                "when": { "type": "string", "format": "date-time" },
                "count": { "type": "integer", "minimum": -3, "exclusiveMaximum": 10, "multipleOf": 2 },
                "one": { "enum": ["a", 2, null] },
                "many": { "type": "array", "items": { "$ref": "#/$defs/Tree" }, "uniqueItems": true, "maxItems": 4 },
                "either": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "number" } }] },
                "free": {}
            },
            "required": ["text"],
            "$defs": { "Tree": { "type": "object", "properties": { "left": { "$ref": "#/$defs/Tree" } }, "additionalProperties": false } }
        });
        let mut reader = SchemaReader::new(&schema);
        let read = reader.read(&schema);
        let mut operation = Operation::new("create_x", Category::Create, "Create.");
        if let Kind::Object(shape) = read.kind {
            operation.parameters = shape.fields;
        }
        Catalog::build([operation], reader.into_types(), &surface()).unwrap()
    })
}

fn check_request(request: Result<Request, Failure>) {
    let checked = request.and_then(|request| {
        route(catalog(), &surface(), &Receiver::Unified, request)?.check(catalog(), Strictness::Strict)
    });
    if let Err(failure) = checked {
        assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
    }
}

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let Ok(object) = serde_json::from_slice::<Map<String, Value>>(bytes) else { return };
    // Once as it is, and once as the parameters of an operation that exists.
    let wrapped = Map::from_iter([
        ("operation".to_owned(), "create_x".into()),
        ("params".to_owned(), Value::Object(object.clone())),
    ]);
    for arguments in [object, wrapped] {
        match parse(arguments, 10) {
            Ok(ParsedRequest::One(request)) => check_request(Ok(request)),
            Ok(ParsedRequest::Batch(batch)) => batch.items.into_iter().for_each(|item| check_request(item.request)),
            Err(not) => check_request(Err(not.failure().clone())),
        }
    }
}
