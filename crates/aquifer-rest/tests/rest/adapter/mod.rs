//! Adapter files that are built from descriptions.

mod building;
mod drift;
mod installed;
mod reviewing;

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::AdapterFiles;
use aquifer_rest::openapi::ReadOptions;
use aquifer_rest::{Api, build_adapter};
use serde_json::{Value, json};

fn options() -> ReadOptions<'static> {
    ReadOptions { source: "pets".to_owned(), ..ReadOptions::default() }
}

/// A description with everything for which an adapter file has no fields.
fn pets() -> Value {
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Pet Shop", "version": "2.1" },
        "servers": [{ "url": "https://pets.example/v2" }],
        "security": [{ "key": [] }, { "token": [] }],
        "paths": {
            "/pets": {
                "parameters": [{ "name": "X-Tenant", "in": "header", "schema": { "type": "string" } }],
                "get": {
                    "operationId": "listPets",
                    "summary": "List pets",
                    "parameters": [
                        { "name": "petTags", "in": "query", "style": "pipeDelimited", "explode": false,
                          "schema": { "type": "array", "items": { "type": "string" } } },
                        { "name": "status", "in": "query", "schema": { "$ref": "#/components/schemas/Status" } },
                        { "name": "filter", "in": "query", "style": "deepObject",
                          "schema": { "type": "object", "properties": { "age": { "type": "integer" } } } },
                        { "name": "min-age", "in": "query", "description": "Not younger.",
                          "schema": { "type": "integer", "minimum": 0, "maximum": 40, "default": 1 } },
                        { "name": "offset", "in": "query", "schema": { "type": "integer" } },
                        { "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 50 } }
                    ],
                    "responses": { "200": { "description": "Pets.", "content": { "application/json": { "schema":
                        { "type": "array", "items": { "$ref": "#/components/schemas/Pet" } } } } } }
                },
                "post": {
                    "operationId": "addPet",
                    "summary": "Create a pet",
                    "requestBody": { "required": true, "content": { "application/json": {
                        "schema": { "$ref": "#/components/schemas/Pet" } } } },
                    "responses": { "201": { "description": "Created." } }
                }
            },
            "/pets/{petId}": {
                "parameters": [{ "name": "petId", "in": "path", "required": true,
                                 "schema": { "type": "string", "pattern": "^p[0-9]+$" } }],
                "get": { "operationId": "getPet", "summary": "Get a pet", "responses": { "200": { "description": "A pet." } } },
                "put": {
                    "operationId": "updatePet",
                    "summary": "Update a pet",
                    "requestBody": { "content": { "application/json": {
                        "schema": { "$ref": "#/components/schemas/Pet" } } } },
                    "responses": { "200": { "description": "The pet." } }
                },
                "delete": { "operationId": "deletePet", "summary": "Delete a pet", "responses": { "204": {} } }
            },
            "/pets/{petId}/photo": {
                "post": {
                    "operationId": "uploadPhoto",
                    "summary": "Add a photo",
                    "parameters": [{ "name": "petId", "in": "path", "required": true, "schema": { "type": "string" } }],
                    "requestBody": { "content": { "multipart/form-data": { "schema": { "type": "object", "properties": {
                        "file": { "type": "string", "format": "binary" }, "note": { "type": "string" } } } } } },
                    "responses": { "200": { "description": "Stored." } }
                },
                "head": { "operationId": "hasPhoto", "summary": "Check for a photo", "responses": { "200": {} },
                          "parameters": [{ "name": "petId", "in": "path", "required": true, "schema": { "type": "string" } }] }
            }
        },
        "components": {
            "schemas": {
                "Status": { "type": "string", "enum": ["free", "sold"] },
                "Pet": {
                    "type": "object",
                    "required": ["petName"],
                    "properties": {
                        "petName": { "type": "string", "maxLength": 30 },
                        "parent": { "$ref": "#/components/schemas/Pet" },
                        "status": { "$ref": "#/components/schemas/Status" }
                    }
                }
            },
            "securitySchemes": {
                "key": { "type": "apiKey", "in": "query", "name": "api_key" },
                "token": { "type": "http", "scheme": "bearer" }
            }
        }
    })
}

fn built(description: &Value) -> AdapterFiles {
    build_adapter(description, &options(), None).unwrap().0
}

fn served(adapter: &str, sidecar: Option<&str>, is_settled: bool) -> Api {
    let adapter = Adapter::read(adapter, sidecar).unwrap_or_else(|problems| panic!("{problems:#?}"));
    Api::from_adapter(&adapter, "pets", is_settled).unwrap()
}

/// Asserts that two APIs have the same operations, types and routes. The trust is that of the file.
fn assert_same(name: &str, served: &Api, described: &Api) {
    assert_eq!(served.base_url, described.base_url, "{name}");
    assert_eq!(served.auth, described.auth, "{name}");
    assert!(served.types == described.types, "{name}: the types differ");
    assert_eq!(served.operations.len(), described.operations.len(), "{name}");
    for expected in &described.operations {
        let mut actual = served
            .operations
            .iter()
            .find(|operation| operation.name == expected.name)
            .unwrap_or_else(|| panic!("{name}: '{}' is missing", expected.name))
            .clone();
        actual.origin.trust = expected.origin.trust;
        assert_eq!(format!("{actual:?}"), format!("{expected:?}"), "{name}: {}", expected.name);
    }
    assert_eq!(served.routes, described.routes, "{name}");
    assert_eq!(served.described_at, described.described_at, "{name}");
    assert!(served.notes.is_empty(), "{name}: {:?}", served.notes);
}
