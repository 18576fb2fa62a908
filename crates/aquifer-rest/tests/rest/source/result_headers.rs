//! Headers that carry a part of the result are part of the answer.

use serde_json::{Value, json};

use super::Served;
use crate::client::server::Reply;

fn paths() -> Value {
    let created = json!({ "201": { "description": "Created", "headers": { "X-Job": {}, "X-RateLimit-Limit": {}, "Set-Cookie": {} } } });
    let id = json!([{ "name": "id", "in": "path", "required": true, "schema": { "type": "string" } }]);
    let condition = json!([{ "name": "If-Match", "in": "header", "schema": { "type": "string" } }]);
    let thing = json!({ "200": { "description": "A thing", "content": { "application/json": { "schema": { "type": "object" } } } } });
    json!({
        "/things": { "post": { "operationId": "createThing", "summary": "Create a thing", "responses": created } },
        "/things/{id}": {
            "parameters": id,
            "get": { "operationId": "getThing", "summary": "Get a thing", "responses": thing },
            "patch": { "operationId": "updateThing", "summary": "Update a thing", "parameters": condition,
                "requestBody": { "content": { "application/json": { "schema": { "type": "object", "properties": { "a": { "type": "string" } } } } } } },
        },
        "/others/{id}": { "parameters": id, "get": { "operationId": "getOther", "summary": "Get another", "responses": thing } },
    })
}

#[tokio::test]
async fn the_id_of_something_new_is_not_lost() {
    for (status, body, expected) in [
        (201, "", json!({ "status": 201 })),
        (202, "", json!({ "status": 202 })),
        (201, "{\"id\":1234567890123456.5}", json!({ "id": 1_234_567_890_123_456.5 })),
        (201, "[1]", json!({ "status": 201, "body": [1] })),
        (201, "\"done\"", json!({ "status": 201, "body": "done" })),
    ] {
        let served = Served::start(paths(), move |_, _| {
            let reply = if body.is_empty() { Reply::status(status) } else { Reply::json(status, body) };
            reply
                .with("location", "/things/7")
                .with("etag", "\"v1\"")
                .with("retry-after", "3")
                .with("x-job", "j1")
                .with("x-ratelimit-limit", "9")
                .with("set-cookie", "session=s3cret")
                .with("x-other", "1")
        })
        .await;
        let answer = served.call("create_thing", json!({})).await;
        let mut expected = expected;
        expected["_headers"] = json!({ "location": "/things/7", "etag": "\"v1\"", "retry-after": "3", "x-job": "j1" });
        assert_eq!(answer["data"], expected, "{status} {body}");
    }
}

#[tokio::test]
async fn headers_next_to_a_file_are_not_lost() {
    let served = Served::start(paths(), |_, _| {
        Reply::Answer(201, vec![("content-type", "application/pdf".to_owned())], b"%PDF".to_vec())
            .with("location", "/things/7")
    })
    .await;
    let answer = served.call("create_thing", json!({})).await;
    assert_eq!(answer["data"]["_headers"], json!({ "location": "/things/7" }), "{answer}");
}

#[tokio::test]
async fn entity_tags_are_shown_where_they_can_be_sent_back() {
    let served = Served::start(paths(), |_, _| Reply::json(200, "{\"a\":\"b\"}").with("etag", "\"v1\"")).await;
    let thing = served.call("get_thing", json!({ "id": "1" })).await;
    assert_eq!(thing["data"], json!({ "a": "b", "_headers": { "etag": "\"v1\"" } }));
    let other = served.call("get_other", json!({ "id": "1" })).await;
    assert_eq!(other["data"], json!({ "a": "b" }));
}
