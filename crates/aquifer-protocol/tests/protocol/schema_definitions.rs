//! References of large documents: chains, inheritance, and definitions that live elsewhere.

use std::sync::Arc;

use aquifer_protocol::schema::{Definition, Definitions, Kind, Schema, SchemaReader, Types, type_words};
use serde_json::{Value, json};

fn read(json: &Value) -> (Schema, Types) {
    let mut reader = SchemaReader::new(json);
    let schema = reader.read(json);
    (schema, reader.into_types())
}

fn field<'a>(types: &'a Types, name: &str, field: &str) -> &'a Schema {
    let Kind::Object(shape) = &types[name].kind else { panic!("{name} is no object: {:?}", types[name]) };
    &shape.fields.iter().find(|one| &*one.name == field).expect("the field").schema
}

#[test]
fn r_dis_7_a_long_chain_of_references_keeps_every_type() {
    let mut definitions = serde_json::Map::new();
    for index in 0..500 {
        let next = format!("#/$defs/T{}", index + 1);
        definitions
            .insert(format!("T{index}"), json!({ "type": "object", "properties": { "next": { "$ref": next } } }));
    }
    definitions.insert("T500".to_owned(), json!({ "type": "object", "properties": { "end": { "type": "string" } } }));
    let (_, types) = read(&json!({ "$ref": "#/$defs/T0", "$defs": definitions }));
    assert_eq!(types.len(), 501);
    assert_eq!(type_words(field(&types, "T499", "next")), "T500");
    assert_eq!(type_words(field(&types, "T500", "end")), "string");
}

#[test]
fn r_dis_7_a_type_may_contain_what_inherits_from_it() {
    let (_, types) = read(&json!({ "$ref": "#/$defs/Base", "$defs": {
        "Base": { "type": "object", "properties": { "derived": { "$ref": "#/$defs/Derived" }, "id": { "type": "integer" } } },
        "Derived": { "allOf": [{ "$ref": "#/$defs/Alias" }, { "properties": { "name": { "type": "string" } } }] },
        "Alias": { "$ref": "#/$defs/Base" }
    } }));
    assert_eq!(type_words(field(&types, "Base", "derived")), "Derived");
    assert_eq!(type_words(field(&types, "Derived", "id")), "integer");
    assert_eq!(type_words(field(&types, "Derived", "name")), "string");
}

#[test]
fn r_dis_7_a_described_reference_stays_a_reference() {
    let (schema, _) = read(&json!({
        "allOf": [{ "$ref": "#/$defs/User" }, { "description": "The owner." }, { "type": "object", "nullable": true }],
        "$defs": { "User": { "type": "object", "properties": { "id": { "type": "integer" } } } }
    }));
    assert_eq!(type_words(&schema), "User | null");
    assert_eq!(schema.description.as_deref(), Some("The owner."));
}

#[test]
fn r_dis_7_alternatives_that_only_require_fields_keep_the_shape() {
    let (schema, _) = read(&json!({
        "type": "object", "properties": { "a": {}, "b": {} }, "anyOf": [{ "required": ["a"] }, { "required": ["b"] }]
    }));
    let Kind::Object(shape) = schema.kind else { panic!("no object") };
    assert_eq!(shape.fields.len(), 2);
}

#[test]
fn r_dis_7_exclusive_bounds_may_be_flags() {
    let (schema, _) = read(
        &json!({ "type": "integer", "minimum": 1, "exclusiveMinimum": true, "maximum": 9, "exclusiveMaximum": false }),
    );
    assert_eq!((schema.range.minimum, schema.range.above), (None, Some(1.0)));
    assert_eq!((schema.range.maximum, schema.range.below), (Some(9.0), None));
}

#[test]
fn r_dis_7_null_alone_is_null() {
    assert_eq!(type_words(&read(&json!({ "const": null })).0), "null");
    assert!(read(&json!({ "type": "string", "enum": [null] })).0.allowed.is_none());
}

/// Definitions under a prefix, with names of their own.
struct Components<'a>(&'a Value);

impl<'a> Definitions<'a> for Components<'a> {
    fn find(&mut self, reference: &str) -> Option<Definition<'a>> {
        let schema = self.0.pointer(reference.strip_prefix('#')?)?;
        let name: Arc<str> = reference.rsplit('/').next()?.into();
        Some(Definition { name, schema })
    }
}

#[test]
fn r_dis_7_definitions_may_live_anywhere_and_steps_are_bounded() {
    let document = json!({ "components": { "schemas": { "Pet": { "type": "object", "properties": { "name": { "type": "string" } } } } } });
    let mut reader = SchemaReader::with_definitions(Components(&document), 1_000);
    let pets = reader.read(&json!({ "type": "array", "items": { "$ref": "#/components/schemas/Pet" } }));
    assert!(reader.is_complete());
    let Kind::Array(Some(items)) = &pets.kind else { panic!("no array") };
    assert_eq!(type_words(items), "Pet");
    assert!(reader.types().contains_key("Pet"));
    let mut reader = SchemaReader::with_definitions(Components(&document), 2);
    reader.read(&json!({ "$ref": "#/components/schemas/Pet" }));
    assert!(!reader.is_complete());
}
