//! Updates by PUT never lose fields that they do not mention.

use serde_json::{Value, json};

use super::{Served, note};
use crate::client::server::Reply;

fn title_and_body() -> Value {
    let text = json!({ "type": "string" });
    json!({ "type": "object", "required": ["title", "body"], "properties": { "title": text, "body": text } })
}

/// Serves a note whose GET responds with this text.
async fn served(body: Value, response: Option<Value>, stored: &'static str) -> Served {
    let reply = move |stored: &str| if stored.is_empty() { Reply::status(204) } else { Reply::json(200, stored) };
    Served::start(note(body, response), move |request, _| match request.method.as_str() {
        "GET" => reply(stored),
        _ => Reply::json(200, "{\"done\":true}"),
    })
    .await
}

#[tokio::test]
async fn a_state_of_another_structure_is_never_written() {
    for stored in [
        "{\"data\":{\"title\":\"a\",\"body\":\"b\"}}",
        "[{\"title\":\"a\",\"body\":\"b\"}]",
        "",
        "\"text\"",
        "{}",
        "no JSON",
    ] {
        let served = served(title_and_body(), None, stored).await;
        let refused = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
        assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{stored}: {refused}");
        assert_eq!(refused["error"]["details"]["missing_fields"], json!(["input.body"]), "{refused}");
        assert_eq!(served.sent(), [("GET".to_owned(), Value::Null)], "{stored}");
        // A complete input needs no merge.
        let whole = json!({ "title": "x", "body": "y" });
        let result = served.call("update_note", json!({ "id": "1", "input": whole })).await;
        assert_eq!(result["success"], true, "{stored}: {result}");
        assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), whole)));
    }
}

#[tokio::test]
async fn optional_fields_are_named_if_nothing_was_read() {
    let text = json!({ "type": "string" });
    let body = json!({ "type": "object", "required": ["title"], "properties": { "title": text, "body": text } });
    let served = served(body, None, "{\"data\":{\"title\":\"a\",\"body\":\"b\"}}").await;
    let refused = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(refused["error"]["details"]["missing_fields"], json!(["input.body"]), "{refused}");
    let result = served.call("update_note", json!({ "id": "1", "input": { "title": "x", "body": null } })).await;
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), json!({ "title": "x" }))));
}

#[tokio::test]
async fn required_fields_that_were_not_read_must_be_passed() {
    let author = json!({ "type": "object", "required": ["name"], "properties": { "name": { "type": "string" }, "age": { "type": ["integer", "null"] } } });
    let text = json!({ "type": "string" });
    let body = json!({ "type": "object", "required": ["title", "body"], "properties": { "title": text, "body": text, "author": author } });
    for (stored, missing) in [
        ("{\"title\":\"a\"}", json!(["input.body"])),
        ("{\"title\":\"a\",\"body\":null}", json!(["input.body"])),
        ("{\"title\":\"a\",\"body\":{\"text\":\"b\"}}", json!(["input.body"])),
        ("{\"title\":\"a\",\"body\":\"b\",\"author\":{\"age\":5}}", json!(["input.author.name"])),
        ("{\"title\":\"a\",\"body\":\"b\",\"author\":\"Ann\"}", json!(["input.author"])),
    ] {
        let served = served(body.clone(), None, stored).await;
        let refused = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
        assert_eq!(refused["error"]["details"]["missing_fields"], missing, "{stored}: {refused}");
        assert_eq!(served.sent().len(), 1, "{stored}");
    }
    let served =
        served(body, None, "{\"id\":1,\"title\":\"a\",\"body\":\"b\",\"author\":{\"name\":\"Ann\",\"age\":null}}")
            .await;
    let result = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(result["success"], true, "{result}");
    let written = json!({ "title": "x", "body": "b", "author": { "name": "Ann", "age": null } });
    assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), written)));
}

#[tokio::test]
async fn null_is_a_value_where_the_api_requires_one() {
    let body = json!({ "type": "object", "required": ["title", "due"], "properties": { "title": { "type": "string" }, "due": { "type": ["string", "null"] } } });
    let served = served(body, None, "{\"title\":\"a\",\"due\":\"2030-01-01\"}").await;
    let result = served.call("update_note", json!({ "id": "1", "input": { "due": null } })).await;
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), json!({ "title": "a", "due": null }))));
}

#[tokio::test]
async fn further_fields_of_an_open_body_are_kept() {
    let text = json!({ "type": "string" });
    let body = json!({ "type": "object", "properties": { "title": text }, "additionalProperties": text });
    let served = served(body, None, "{\"title\":\"a\",\"color\":\"red\"}").await;
    let result = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(served.sent().last(), Some(&("PUT".to_owned(), json!({ "title": "x", "color": "red" }))));
}

#[tokio::test]
async fn nothing_is_merged_if_the_response_has_another_schema() {
    let note = title_and_body();
    let wrapped = json!({ "type": "object", "properties": { "data": note } });
    let list = json!({ "type": "array", "items": note });
    for response in [wrapped, list] {
        let served = served(title_and_body(), Some(response), "{}").await;
        let refused = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
        assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
        assert_eq!(served.sent(), [], "nothing is read that cannot be merged");
    }
}

#[tokio::test]
async fn the_resource_that_is_read_is_the_one_that_is_written() {
    // The PUT has another parameter of the same name, in another place. Below, the GET also requires one that the PUT
    // does not have.
    let mut paths = note(title_and_body(), None);
    paths["/notes/{id}"]["put"]["parameters"] =
        json!([{ "name": "id", "in": "query", "schema": { "type": "string" } }]);
    let served = Served::start(paths.clone(), |_, _| Reply::json(200, "{\"title\":\"a\",\"body\":\"b\"}")).await;
    let params = json!({ "id": "1", "query_id": "2", "input": { "title": "x" } });
    let result = served.call("update_note", params).await;
    assert_eq!(result["success"], true, "{result}");
    let targets: Vec<String> = served.server.received().into_iter().map(|request| request.target).collect();
    assert_eq!(targets, ["/notes/1", "/notes/1?id=2"]);
    paths["/notes/{id}"]["get"]["parameters"] = json!([{ "name": "part", "in": "query", "required": true }]);
    let served = Served::start(paths, |_, _| Reply::json(200, "{}")).await;
    let refused = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
    assert_eq!(served.sent(), []);
}

/// The body repeats the id of the path, as most descriptions have it.
#[tokio::test]
async fn an_id_in_the_body_is_written_back_and_prevents_no_merge() {
    let text = json!({ "type": "string" });
    let body = json!({ "type": "object", "required": ["id", "title"], "properties": { "id": text, "title": text, "body": text } });
    let stored = "{\"id\":\"1\",\"title\":\"a\",\"body\":\"b\"}";
    let served = served(body.clone(), Some(body), stored).await;
    let result = served.call("update_note", json!({ "id": "1", "input": { "title": "x" } })).await;
    assert_eq!(result["success"], true, "{result}");
    let sent = json!({ "id": "1", "title": "x", "body": "b" });
    assert_eq!(served.sent(), [("GET".to_owned(), Value::Null), ("PUT".to_owned(), sent)]);
    let renamed = served.call("update_note", json!({ "id": "1", "input": { "id": "2" } })).await;
    assert_eq!(renamed["error"]["code"], "VALIDATION_UNKNOWN_FIELD", "{renamed}");
}
