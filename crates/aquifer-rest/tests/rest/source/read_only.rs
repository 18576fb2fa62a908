//! Fields that the API sets itself are neither accepted nor written back.

use serde_json::{Value, json};

use super::{Served, note};
use crate::client::server::Reply;

fn body() -> Value {
    let text = json!({ "type": "string" });
    let set = json!({ "type": "string", "readOnly": true });
    let author = json!({ "type": "object", "properties": { "name": text, "login": set } });
    json!({ "type": "object", "required": ["id", "title"], "properties": {
        "id": set, "title": text, "author": author, "tags": { "type": "array", "items": author },
        "owner": { "oneOf": [author, { "type": "null" }] }
    } })
}

#[tokio::test]
async fn fields_that_the_api_sets_are_not_written_back() {
    let stored = json!({
        "id": "1", "title": "a", "author": { "name": "Ann", "login": "ann" }, "tags": [{ "name": "b", "login": "c" }],
        "owner": { "name": "Bob", "login": "bob" }
    });
    let text = stored.to_string();
    let served = Served::start(note(body(), None), move |_, _| Reply::json(200, &text)).await;
    let result = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(result["success"], true, "{result}");
    let written =
        json!({ "title": "x", "author": { "name": "Ann" }, "tags": [{ "name": "b" }], "owner": { "name": "Bob" } });
    assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), written)));
}

#[tokio::test]
async fn fields_that_the_api_sets_are_refused_by_name() {
    let open = json!({ "type": "object", "additionalProperties": true, "properties": { "id": { "readOnly": true } } });
    let in_body = |schema: &Value| json!({ "required": true, "content": { "application/json": { "schema": schema } } });
    let mut paths = note(body(), None);
    paths["/notes/{id}"]["patch"] = json!({ "operationId": "patchNote", "requestBody": in_body(&body()) });
    paths["/notes"] = json!({ "post": { "operationId": "createNote", "requestBody": in_body(&body()) } });
    paths["/open"] = json!({ "post": { "operationId": "createOpen", "requestBody": in_body(&open) } });
    paths["/many"] = json!({ "post": { "operationId": "createMany", "requestBody": in_body(&json!({ "type": "array", "items": body() })) } });
    let served = Served::start(paths, |_, _| Reply::json(200, "{\"title\":\"a\"}")).await;
    for (operation, params, name) in [
        ("update_note", json!({ "id": "1", "input": { "id": "2" } }), "id"),
        ("update_note", json!({ "id": "1", "input": { "author": { "login": "x" } } }), "input.author.login"),
        ("update_note", json!({ "id": "1", "input": { "owner": { "login": "x" } } }), "input.owner.login"),
        ("patch_note", json!({ "id": "1", "input": { "id": "2" } }), "id"),
        ("patch_note", json!({ "id": "1", "input": { "title": "a", "tags": [{ "login": "x" }] } }), "input.tags.login"),
        ("create_note", json!({ "id": "1", "title": "a" }), "id"),
        ("create_note", json!({ "title": "a", "author": { "login": "x" } }), "author.login"),
        ("create_open", json!({ "body": { "id": "1" } }), "body.id"),
        ("create_many", json!({ "body": [{ "title": "a", "id": "1" }] }), "body.id"),
    ] {
        let refused = served.call(operation, params.clone()).await;
        let error = refused["error"].to_string();
        assert!(
            error.contains(&format!("'{name}'")) || error.contains(&format!("\"{name}\"")),
            "{operation} {params}: {refused}"
        );
        assert!(served.sent().iter().all(|(method, _)| method == "GET"), "{operation}");
    }
}
