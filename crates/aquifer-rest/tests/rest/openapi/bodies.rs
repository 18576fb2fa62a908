//! How request bodies become parameters.

use aquifer_rest::route::{BodyEncoding, FieldEncoding, Notation, Style};
use serde_json::json;

use super::reading::{body, operation, parameters, read};

#[test]
fn bodies_become_parameters() {
    let pet = json!({ "type": "object", "required": ["name"], "properties": {
        "id": { "type": "integer", "readOnly": true }, "name": { "type": "string" }, "password": { "type": "string", "writeOnly": true } } });
    for (method, schema, expected) in [
        (
            "post",
            json!({ "$ref": "#/components/schemas/Pet" }),
            vec!["name: string in field", "password?: string in field"],
        ),
        ("put", json!({ "$ref": "#/components/schemas/Pet" }), vec!["input: object in body"]),
        (
            "patch",
            json!({ "allOf": [{ "$ref": "#/components/schemas/Pet" }, { "description": "A pet" }] }),
            vec!["input: object in body"],
        ),
        (
            "post",
            json!({ "allOf": [{ "$ref": "#/components/schemas/Pet" }, { "properties": { "age": { "type": "integer" } } }] }),
            vec!["name: string in field", "password?: string in field", "age?: integer in field"],
        ),
        ("post", json!({ "type": "array", "items": { "type": "string" } }), vec!["body: array in body"]),
        ("post", json!({ "type": "object" }), vec!["body: object in body"]),
        (
            "post",
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
            vec!["body: object in body"],
        ),
        (
            "post",
            json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": true }),
            vec!["body: object in body"],
        ),
        (
            "post",
            json!({ "oneOf": [{ "$ref": "#/components/schemas/Pet" }, { "type": "string" }] }),
            vec!["body: Pet | string in body"],
        ),
        ("patch", json!({ "type": "array" }), vec!["body: array in body"]),
        (
            "post",
            json!({ "type": ["object", "null"], "properties": { "a": { "type": "string" } } }),
            vec!["a?: string in field"],
        ),
    ] {
        let api = read(
            json!({ "/pets": { method: { "operationId": "change", "requestBody": body(schema.clone()) } } }),
            json!({ "Pet": pet }),
        );
        assert_eq!(parameters(&api, "change"), expected, "{method} {schema}");
    }
    let api = read(json!({ "/pets": { "post": { "operationId": "change", "requestBody": body(pet) } } }), json!({}));
    let (operation, _) = operation(&api, "change");
    assert!(operation.parameters.iter().any(|parameter| &*parameter.name == "password" && parameter.sensitive));
}

#[test]
fn forms_and_files_are_encoded_as_they_say() {
    let api = read(
        json!({ "/upload": { "post": { "operationId": "upload", "requestBody": { "content": { "multipart/form-data": {
            "schema": { "type": "object", "properties": {
                "file": { "type": "string", "format": "binary" }, "picture": { "type": "string", "contentMediaType": "image/png" },
                "files": { "type": "array", "items": { "type": "string", "format": "binary" } },
                "meta": { "type": "object" }, "note": { "type": "string" } } },
            "encoding": { "meta": { "contentType": "application/json" } } } } } } },
          "/form": { "post": { "operationId": "form", "requestBody": { "required": true, "content": { "application/x-www-form-urlencoded": {
            "schema": { "type": "object", "required": ["a"], "properties": { "a": { "type": "string" }, "tags": { "type": "array" } } },
            "encoding": { "tags": { "style": "pipeDelimited" } } } } } } },
          "/text": { "put": { "operationId": "text", "requestBody": { "content": { "text/plain": {} } } } },
          "/bytes": { "post": { "operationId": "bytes", "requestBody": { "content": { "image/png": {} } } } }
        }),
        json!({}),
    );
    let (_, upload) = operation(&api, "upload");
    let body = upload.body.as_ref().unwrap();
    let fields: Vec<(&str, &FieldEncoding)> = body.fields.iter().map(|(name, encoding)| (&**name, encoding)).collect();
    let json_type = FieldEncoding::MediaType("application/json".into());
    let file = FieldEncoding::File;
    assert_eq!(fields, [("file", &file), ("picture", &file), ("files", &file), ("meta", &json_type)]);
    assert_eq!(body.encoding, BodyEncoding::Multipart);
    let (_, form) = operation(&api, "form");
    let pipes = FieldEncoding::Notation(Notation::Style { style: Style::PipeDelimited, explode: false });
    assert_eq!(form.body.as_ref().unwrap().fields, [("tags".into(), pipes)]);
    assert_eq!(parameters(&api, "form"), ["a: string in field", "tags?: array in field"]);
    assert_eq!(parameters(&api, "text"), ["body?: string in body"]);
    assert_eq!(operation(&api, "bytes").1.body.as_ref().unwrap().encoding, BodyEncoding::Binary);
}
