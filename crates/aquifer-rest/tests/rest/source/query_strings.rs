//! Parameters that are a whole query string.

use serde_json::json;

use super::{Served, api};
use crate::client::server::Reply;

#[tokio::test]
async fn the_fields_of_a_form_are_sent_as_the_query() {
    let form = json!({ "schema": {
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": { "type": "string" },
            "tags": { "type": "array", "items": { "type": "string" } },
            "range": { "type": "object", "properties": { "from": { "type": "integer" } } }
        }
    } });
    let parameter = json!({ "name": "query", "in": "querystring", "required": true,
        "content": { "application/x-www-form-urlencoded": form } });
    let paths = json!({ "/notes": { "get": { "operationId": "findNotes", "summary": "Find notes", "parameters": [parameter], "responses": {} } } });
    let served = Served::start(paths, |_, _| Reply::json(200, "[]")).await;
    let params = json!({ "text": "a&b=c d", "tags": ["x", "y"], "range": { "from": 1 } });
    let found = served.call("find_notes", params).await;
    assert_eq!(found["success"], true, "{found}");
    let targets: Vec<String> = served.server.received().into_iter().map(|one| one.target).collect();
    assert_eq!(targets, ["/notes?text=a%26b%3Dc%20d&tags=x&tags=y&range=%7B%22from%22%3A1%7D"]);
    let refused = served.call("find_notes", json!({ "tags": [] })).await;
    assert_eq!(refused["error"]["code"], "VALIDATION_MISSING_PARAM", "{refused}");
}

#[test]
fn operations_with_other_query_strings_are_left_out_with_a_reason() {
    let parameter =
        json!({ "name": "query", "in": "querystring", "content": { "application/json": { "schema": {} } } });
    let api =
        api(json!({ "/notes": { "get": { "operationId": "findNotes", "parameters": [parameter], "responses": {} } } }));
    assert!(api.operations.is_empty());
    assert_eq!(
        api.omitted[0].reason,
        "its parameter 'query' is the whole query string, but not a form, which is not supported"
    );
}
