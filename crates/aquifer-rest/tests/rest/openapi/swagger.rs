//! Descriptions of Swagger 2.0.

use aquifer_rest::AuthScheme;
use aquifer_rest::openapi::ReadOptions;
use aquifer_rest::route::{BodyEncoding, FieldEncoding, Notation, Place, Style};
use serde_json::json;

use super::reading::{operation, parameters, read_with};

#[test]
fn swagger_is_read_like_openapi() {
    let description = json!({
        "swagger": "2.0", "info": { "title": "Pets", "version": "2" }, "host": "pets.example", "basePath": "/v2", "schemes": ["http", "https"],
        "consumes": ["application/json"], "produces": ["application/json", "application/xml"],
        "securityDefinitions": {
            "key": { "type": "apiKey", "in": "header", "name": "X-Key" },
            "oauth": { "type": "oauth2", "flow": "application", "tokenUrl": "https://pets.example/token", "scopes": { "read": "" } },
            "basic": { "type": "basic" }
        },
        "security": [{ "key": [] }],
        "parameters": {
            "limit": { "name": "limit", "in": "query", "type": "integer", "maximum": 50, "description": "How many." },
            "petBody": { "name": "pet", "in": "body", "required": true, "schema": { "$ref": "#/definitions/Pet" } }
        },
        "responses": { "Pets": { "description": "The pets", "schema": { "type": "array", "items": { "$ref": "#/definitions/Pet" } } } },
        "definitions": { "Pet": { "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "owner": { "$ref": "#/definitions/Owner" } } },
            "Owner": { "type": "object", "properties": { "id": { "type": "integer", "x-nullable": true } } } },
        "paths": {
            "/pets": {
                "parameters": [{ "$ref": "#/parameters/limit" }],
                "get": {
                    "operationId": "listPets",
                    "parameters": [
                        { "name": "tags", "in": "query", "type": "array", "items": { "type": "string" } },
                        { "name": "ids", "in": "query", "type": "array", "items": { "type": "integer" }, "collectionFormat": "multi" },
                        { "name": "kinds", "in": "query", "type": "array", "collectionFormat": "pipes" }
                    ],
                    "responses": { "200": { "$ref": "#/responses/Pets" } }
                },
                "post": { "operationId": "addPet", "parameters": [{ "$ref": "#/parameters/petBody" }], "responses": { "default": { "description": "ok" } } }
            },
            "/pets/{id}/photo": { "post": { "operationId": "uploadPhoto", "consumes": ["multipart/form-data"], "parameters": [
                { "name": "id", "in": "path", "required": true, "type": "string" },
                { "name": "photo", "in": "formData", "type": "file", "required": true },
                { "name": "caption", "in": "formData", "type": "string" }
            ], "responses": {} } },
            "/login": { "post": { "operationId": "login", "parameters": [
                { "name": "user", "in": "formData", "type": "string", "required": true },
                { "name": "scopes", "in": "formData", "type": "array", "collectionFormat": "csv" }
            ], "responses": {} } }
        }
    });
    let api = read_with(&description, ReadOptions::default());
    assert!(api.omitted.is_empty(), "{:?}", api.omitted);
    assert_eq!((api.title.as_str(), api.base_url.as_str()), ("Pets", "https://pets.example/v2"));
    assert_eq!(api.auth.len(), 4);
    assert!(matches!(&api.auth[0], AuthScheme::Credential { variable, .. } if variable == "PETSTORE_API_KEY"));
    let (list, route) = operation(&api, "list_pets");
    assert_eq!(&*list.returns.type_name, "PetList");
    assert_eq!(&*route.accept, "");
    let notation = |name: &str| match route
        .parameters
        .iter()
        .find(|parameter| &*parameter.name == name)
        .map(|parameter| parameter.place)
    {
        Some(Place::Query { notation: Notation::Style { style, explode }, .. }) => (style, explode),
        other => panic!("{name}: {other:?}"),
    };
    assert_eq!(notation("tags"), (Style::Form, false));
    assert_eq!(notation("ids"), (Style::Form, true));
    assert_eq!(notation("kinds"), (Style::PipeDelimited, false));
    assert_eq!(list.parameter("limit").unwrap().schema.description.as_deref(), Some("How many."));
    assert_eq!(
        parameters(&api, "add_pet"),
        ["limit?: integer in query", "name: string in field", "owner?: Owner in field"]
    );
    assert_eq!(
        parameters(&api, "upload_photo"),
        ["id: string in path", "photo: string | object in field", "caption?: string in field"]
    );
    let upload = operation(&api, "upload_photo").1.body.as_ref().unwrap();
    assert_eq!(
        (upload.encoding, &upload.fields[..]),
        (BodyEncoding::Multipart, [("photo".into(), FieldEncoding::File)].as_slice())
    );
    let login = operation(&api, "login").1.body.as_ref().unwrap();
    assert_eq!((login.encoding, login.required), (BodyEncoding::Form, true));
    let csv = FieldEncoding::Notation(Notation::Style { style: Style::Form, explode: false });
    assert_eq!(login.fields, [("scopes".into(), csv)]);
    assert_eq!(api.types.keys().map(|name| &**name).collect::<Vec<_>>(), ["Owner", "Pet", "PetList"]);
}

#[test]
fn broken_swagger_is_read_as_far_as_it_goes() {
    let description = json!({ "swagger": "2.0", "paths": {
        "/a": { "get": { "parameters": [{ "$ref": "#/parameters/none" }] }, "post": 5 },
        "/b": { "get": {} }, "/c": "nothing"
    }, "definitions": 5, "parameters": [], "securityDefinitions": "x" });
    let api = read_with(&description, ReadOptions::default());
    assert_eq!(api.operations.iter().map(|operation| &*operation.name).collect::<Vec<_>>(), ["get_b"]);
    assert_eq!(api.omitted.len(), 2);
}
