//! Broken and malicious descriptions: reading them terminates, and the result is consistent.

use aquifer_protocol::catalog::Catalog;
use aquifer_rest::openapi::{self, ReadOptions};
use serde_json::{Map, Value, json};

use super::reading::{body, read};

const PETS: &str = r##"
openapi: 3.1.0
info: {title: Pets, version: "1"}
servers: [{url: "https://{host}/v1", variables: {host: {default: pets.example}}}]
security: [{key: []}]
paths:
  /pets/{id}:
    parameters: [{$ref: "#/components/parameters/id"}]
    get:
      operationId: getPet
      tags: [pets]
      parameters:
        - {name: limit, in: query, schema: {type: integer, maximum: 10}}
        - {name: page, in: query, style: form, schema: {type: integer}}
      responses:
        "200":
          description: A pet
          headers: {Link: {schema: {type: string}}}
          content: {application/json: {schema: {type: array, items: {$ref: "#/components/schemas/Pet"}}}}
    post:
      requestBody:
        required: true
        content: {multipart/form-data: {schema: {type: object, properties: {file: {type: string, format: binary}}}, encoding: {file: {contentType: image/png}}}}
    patch: {requestBody: {$ref: "#/components/requestBodies/pet"}, callbacks: {done: {}}}
components:
  parameters: {id: {name: id, in: path, required: true, schema: {type: integer}}}
  requestBodies: {pet: {content: {application/json: {schema: {$ref: "#/components/schemas/Pet"}}}}}
  schemas:
    Pet:
      allOf: [{$ref: "#/components/schemas/Named"}, {type: object, required: [id], properties: {id: {type: [integer, "null"]}, kind: {enum: [a, b]}}}]
    Named: {type: object, properties: {name: {type: string}, friend: {oneOf: [{$ref: "#/components/schemas/Pet"}, {type: string}]}}}
  securitySchemes: {key: {type: apiKey, in: header, name: X-Key}, oauth: {type: oauth2, flows: {clientCredentials: {tokenUrl: /token}}}}
"##;

/// All locations in a value.
fn places(value: &Value, place: &str, locations: &mut Vec<String>) {
    locations.push(place.to_owned());
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            let name = name.replace('~', "~0").replace('/', "~1");
            places(member, &format!("{place}/{name}"), locations);
        }),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| places(item, &format!("{place}/{index}"), locations));
        }
        _ => {}
    }
}

fn check(description: &Value, what: &str) {
    let Ok(api) = openapi::read(description, &ReadOptions::default()) else { return };
    for operation in &api.operations {
        Catalog::check(operation, &api.types).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(api.routes[&operation.name].parameters.len(), operation.parameters.len(), "{what}");
    }
    for schema in api.types.values() {
        let mut references = Vec::new();
        schema.references(&mut references);
        assert!(references.iter().all(|name| api.types.contains_key(name)), "{what}: {references:?}");
    }
}

#[test]
fn every_part_may_be_anything() {
    let whole = openapi::parse(PETS).unwrap();
    let mut locations = Vec::new();
    places(&whole, "", &mut locations);
    let odd = [
        json!(null),
        json!(-5),
        json!("x"),
        json!([]),
        json!({}),
        json!([{}]),
        json!({ "$ref": "#" }),
        json!({ "$ref": "#/paths" }),
        json!({ "$ref": "#/components/schemas/Pet" }),
        json!({ "$ref": 5 }),
        json!(true),
        json!("\u{202e}{"),
    ];
    assert!(locations.len() > 100);
    for place in &locations {
        for value in &odd {
            let mut changed = whole.clone();
            *changed.pointer_mut(place).unwrap() = value.clone();
            check(&changed, &format!("{place} = {value}"));
            // The same as a Swagger description, which is converted first.
            if let Some(object) = changed.as_object_mut() {
                object.remove("openapi");
                object.insert("swagger".to_owned(), "2.0".into());
                check(&changed, &format!("swagger {place} = {value}"));
            }
        }
    }
}

#[test]
fn references_do_not_multiply() {
    let parameters: Vec<Value> = (0..500).map(|index| json!({ "name": format!("p{index}"), "in": "query" })).collect();
    let fields: Map<String, Value> = (0..400).map(|index| (format!("f{index}"), json!({ "type": "string" }))).collect();
    let mut paths = Map::new();
    paths.insert("/first".to_owned(), json!({ "parameters": parameters, "post": {
        "requestBody": body(json!({ "type": "object", "properties": fields })),
        "responses": { "200": { "content": { "application/json": { "schema": { "type": "object", "properties": fields } } } } }
    } }));
    for index in 0..500 {
        paths.insert(format!("/p{index}"), json!({ "$ref": "#/paths/~1first" }));
    }
    let api = read(Value::Object(paths), json!({}));
    assert!(api.operations.len() > 400 && api.omitted.len() > 50, "{}", api.operations.len());
    assert!(api.omitted[0].reason.contains("too many parameters"));
    assert_eq!(api.types.len(), 1);
}

#[test]
fn chains_and_circles_end() {
    let deep = (0..100).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
    let mut wide = Map::new();
    for index in 0..200 {
        let parts: Vec<Value> =
            (0..200).map(|other| json!({ "$ref": format!("#/components/schemas/S{other}") })).collect();
        wide.insert(format!("S{index}"), json!({ "allOf": parts, "properties": { format!("f{index}"): {} } }));
    }
    wide.insert("Deep".to_owned(), deep);
    let api = read(
        json!({ "/a": { "post": { "requestBody": body(json!({ "$ref": "#/components/schemas/S0" })) } },
            "/b": { "post": { "requestBody": body(json!({ "$ref": "#/components/schemas/Deep" })) } } }),
        Value::Object(wide),
    );
    assert_eq!(api.operations.len(), 2);
}

#[test]
fn text_of_a_description_is_cleaned() {
    let api = read(
        json!({ "/a": { "get": { "operationId": "a\u{202e}b", "summary": "Evil\u{1b}[31m\u{200b}",
            "parameters": [{ "name": "q", "in": "query", "description": "x\u{e0041}" }] } } }),
        json!({}),
    );
    let operation = &api.operations[0];
    assert_eq!((&*operation.name, &*operation.description), ("ab", "Evil"));
    assert_eq!(operation.parameters[0].schema.description.as_deref(), Some("x"));
}

#[test]
fn a_body_that_the_method_cannot_have() {
    let api = read(
        json!({ "/a": { "get": { "requestBody": body(json!({})) } }, "/b": { "get": { "requestBody": { "content": { "application/json": {} } } } } }),
        json!({}),
    );
    assert_eq!(api.omitted[0].reason, "it needs a body, which GET cannot have");
    assert!(api.routes["get_b"].body.is_none());
}
