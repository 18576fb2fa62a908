//! Fields of which some are required together.

use serde_json::{Value, json};

use super::{Served, note};
use crate::client::server::Reply;

fn fields(more: Value) -> Value {
    let text = json!({ "type": "string" });
    let mut schema = json!({ "type": "object", "properties": { "title": text, "body": text, "noteId": text } });
    schema.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    schema
}

fn one_of() -> Value {
    fields(json!({ "anyOf": [{ "required": ["noteId"] }, { "required": ["title", "body"] }] }))
}

fn paths(method: &str, schema: Value) -> Value {
    json!({ "/notes": { method: { "operationId": "updateNotes", "summary": "Create a note",
        "requestBody": { "required": true, "content": { "application/json": { "schema": schema } } }, "responses": {} } } })
}

#[tokio::test]
async fn a_call_that_the_api_would_refuse_is_not_sent() {
    let served = Served::start(paths("post", one_of()), |_, _| Reply::json(200, "{}")).await;
    for params in [json!({}), json!({ "title": "a" })] {
        let refused = served.call("update_notes", params).await;
        assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("One of 'note_id' or ('title' and 'body') is required"), "{message}");
        assert_eq!(refused["error"]["details"]["param_name"], "note_id", "{refused}");
    }
    assert_eq!(served.sent(), []);
    // Both names of a parameter count.
    for (params, sent) in [
        (json!({ "note_id": "1" }), json!({ "noteId": "1" })),
        (json!({ "noteId": "1" }), json!({ "noteId": "1" })),
        (json!({ "title": "a", "body": "b" }), json!({ "title": "a", "body": "b" })),
    ] {
        let done = served.call("update_notes", params).await;
        assert_eq!(done["success"], true, "{done}");
        assert_eq!(served.sent().last(), Some(&("POST".to_owned(), sent)));
    }
}

#[tokio::test]
async fn the_fields_of_changes_are_named_with_their_parameter() {
    let served = Served::start(paths("patch", one_of()), |_, _| Reply::json(200, "{}")).await;
    let refused = served.call("update_notes", json!({ "input": { "title": "a" } })).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("One of 'input.noteId' or ('input.title' and 'input.body') is required"), "{message}");
    assert_eq!(served.sent(), []);
    let done = served.call("update_notes", json!({ "input": { "noteId": "1" } })).await;
    assert_eq!(done["success"], true, "{done}");
}

#[tokio::test]
async fn a_body_needs_as_many_fields_as_the_api_demands() {
    let schema = fields(json!({ "minProperties": 1 }));
    let served = Served::start(paths("patch", schema), |_, _| Reply::json(200, "{}")).await;
    let refused = served.call("update_notes", json!({ "input": {} })).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
    assert_eq!(served.sent(), []);
}

#[tokio::test]
async fn introspection_shows_what_is_required_together() {
    let served = Served::start(paths("post", one_of()), |_, _| Reply::json(200, "{}")).await;
    let signatures = served.call("introspect", json!({ "query": "signatures" })).await.to_string();
    assert!(signatures.contains("[one of: note_id | title+body]"), "{signatures}");
    let details = served.call("introspect", json!({ "query": "operations", "name": "update_notes" })).await.to_string();
    assert!(details.contains("One of 'note_id' or ('title' and 'body') is required."), "{details}");
    // Whether a note exists is not known, so there is no example.
    assert!(details.contains("\"examples\":[]"), "{details}");
}

#[tokio::test]
async fn what_was_read_counts_in_a_replacement() {
    let served = Served::start(note(one_of(), None), |request, _| match request.method.as_str() {
        "GET" => Reply::json(200, "{\"noteId\":\"1\"}"),
        _ => Reply::json(200, "{}"),
    })
    .await;
    let done = served.call("update_note", json!({ "id": "1", "input": { "title": "a" } })).await;
    assert_eq!(done["success"], true, "{done}");
    let removed = json!({ "id": "1", "input": { "title": "a", "noteId": null } });
    let refused = served.call("update_note", removed).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().starts_with("Nothing was changed"), "{refused}");
    let methods: Vec<String> = served.sent().into_iter().map(|(method, _)| method).collect();
    assert_eq!(methods, ["GET", "PUT", "GET"]);
}
