//! A catalog with every kind of parameter, and the shortest way to ask it.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::{Operation, Role};
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::{Kind, Parameter, SchemaReader, Types};
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_protocol::validate::{Checked, Strictness, route};
use serde_json::{Value, json};

pub(crate) fn surface(mode: Mode, profile: &str) -> Surface {
    Surface::new(mode, Profile::known(profile).unwrap(), "").unwrap()
}

pub(crate) fn crude() -> Surface {
    surface(Mode::Semantic, "crude")
}

/// An operation whose parameters are written as a JSON Schema.
pub(crate) fn operation(name: &str, category: Category, schema: &Value, types: &mut Types) -> Operation {
    let mut reader = SchemaReader::new(schema);
    let read = reader.read(schema);
    types.extend(reader.into_types());
    let mut operation = Operation::new(name, category, schema["description"].as_str().unwrap_or("An operation."));
    if let Kind::Object(shape) = read.kind {
        operation.parameters = shape.fields;
    }
    operation
}

pub(crate) fn everything() -> (Vec<Operation>, Types) {
    let mut types = Types::new();
    let create = json!({
        "description": "Create a user.",
        "properties": {
            "user_name": { "type": "string", "minLength": 2, "maxLength": 20, "pattern": "^[a-z]+$", "description": "The login name." },
            "age": { "type": "integer", "minimum": 0, "maximum": 150 },
            "score": { "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "multipleOf": 0.25 },
            "role": { "type": "string", "enum": ["admin", "editor", "viewer"], "default": "viewer" },
            "email": { "type": "string", "format": "email" },
            "born": { "type": "string", "format": "date" },
            "seen": { "type": "string", "format": "date-time" },
            "tags": { "type": "array", "items": { "type": "string", "maxLength": 5 }, "minItems": 1, "maxItems": 3, "uniqueItems": true },
            "address": { "$ref": "#/$defs/Address" },
            "fields": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
            "nickname": { "type": ["string", "null"] },
            "password": { "type": "string", "writeOnly": true },
            "raw": { "type": "string", "allowNul": true },
            "anything": {},
            "labels": { "type": "object", "additionalProperties": { "type": "integer" } },
            "old": { "type": "boolean", "deprecated": true }
        },
        "required": ["user_name"],
        "$defs": {
            "Address": {
                "type": "object",
                "description": "Where somebody lives.",
                "properties": {
                    "city": { "type": "string" },
                    "zip": { "type": "integer", "default": 0 },
                    "next": { "$ref": "#/$defs/Address" }
                },
                "required": ["city"],
                "additionalProperties": false
            }
        }
    });
    let update = json!({
        "description": "Update a user.",
        "properties": {
            "user_id": { "type": "integer" },
            "input": {
                "type": "object",
                "properties": {
                    "age": { "type": "integer", "nullable": true },
                    "profile": { "type": "object", "properties": { "bio": { "type": "string" }, "lines": { "type": "integer", "default": 3 } }, "additionalProperties": false }
                },
                "additionalProperties": false
            }
        },
        "required": ["user_id", "input"]
    });
    let get = json!({ "description": "Get a user.", "properties": { "user_id": { "type": "integer" } }, "required": ["user_id"] });
    let none = json!({ "description": "List users.", "properties": {} });
    let mut describe =
        operation("get_schema", Category::Read, &json!({ "description": "Describe the tables." }), &mut types);
    describe.role = Role::Discovery;
    let mut grant =
        operation("execute_grant", Category::Execute, &json!({ "description": "Grant a permission." }), &mut types);
    grant.role = Role::Authorization;
    let operations = vec![
        operation("create_user", Category::Create, &create, &mut types),
        operation("get_user", Category::Read, &get, &mut types),
        operation("list_users", Category::Read, &none, &mut types),
        operation("update_user", Category::Update, &update, &mut types),
        operation("delete_user", Category::Delete, &get, &mut types),
        operation("execute_backup", Category::Execute, &json!({ "description": "Back everything up." }), &mut types),
        describe,
        grant,
    ];
    (operations, types)
}

pub(crate) fn catalog() -> Catalog {
    let (operations, types) = everything();
    Catalog::build(operations, types, &crude()).unwrap()
}

/// Parses, routes and checks one request.
pub(crate) fn check(request: Value) -> Result<Checked, Failure> {
    check_with(request, Strictness::Strict)
}

pub(crate) fn check_with(request: Value, strictness: Strictness) -> Result<Checked, Failure> {
    let catalog = catalog();
    let parsed = parse(request.as_object().unwrap().clone(), 100).map_err(|not| not.failure().clone())?;
    let ParsedRequest::One(request) = parsed else { panic!("a batch") };
    route(&catalog, &crude(), &Receiver::Unified, request)?.check(&catalog, strictness)
}

/// The failure as the caller gets it.
pub(crate) fn envelope(failure: Failure) -> Value {
    aquifer_protocol::response::Response::Failure(failure).render(&Limits::default()).value()
}

pub(crate) fn parameter(name: &str) -> Parameter {
    catalog().operation("create_user").unwrap().parameter(name).unwrap().clone()
}
