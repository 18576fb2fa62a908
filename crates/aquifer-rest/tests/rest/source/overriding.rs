//! No parameter turns a request into another one than was classified.

use serde_json::{Value, json};

use super::{Served, api};
use crate::client::server::Reply;

fn search(parameters: Value, media_type: &str, schema: Value) -> Value {
    let body = json!({ "content": { media_type: { "schema": schema } } });
    json!({ "/notes/search": { "post": {
        "operationId": "searchNotes", "summary": "Search notes", "parameters": parameters, "requestBody": body
    } } })
}

#[test]
fn parameters_that_choose_the_method_are_left_out() {
    let text = json!({ "type": "string" });
    let placed = |name: &str, place: &str| json!({ "name": name, "in": place, "schema": text });
    let parameters = json!([
        placed("X-HTTP-Method-Override", "header"),
        placed("x_http_method", "header"),
        placed("X-Method-Override", "header"),
        placed("X-Original-URL", "header"),
        placed("X-Rewrite-Url", "header"),
        placed("_method", "query"),
        placed("q", "query"),
    ]);
    let fields = json!({ "type": "object", "properties": { "_method": text, "words": text } });
    for media_type in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let api = api(search(parameters.clone(), media_type, fields.clone()));
        let names: Vec<&str> = api.operations[0].parameters.iter().map(|parameter| &*parameter.name).collect();
        assert_eq!(names, ["q", "words"], "{media_type}");
    }
    let fixed = api(json!({ "/notes?_method={method}": { "post": { "operationId": "searchNotes" } } }));
    assert_eq!((fixed.operations.len(), fixed.omitted.len()), (0, 1));
}

#[tokio::test]
async fn open_objects_cannot_choose_the_method_either() {
    let open =
        json!({ "type": "object", "additionalProperties": true, "properties": { "words": { "type": "string" } } });
    let filter = json!([
        { "name": "filter", "in": "query", "schema": open },
        { "name": "raw", "in": "query", "allowReserved": true, "schema": { "type": "string" } },
    ]);
    for media_type in ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let served =
            Served::start(search(filter.clone(), media_type, open.clone()), |_, _| Reply::json(200, "{}")).await;
        for params in [
            json!({ "body": { "words": "a", "_method": "DELETE" } }),
            json!({ "body": { "_METHOD": "DELETE" } }),
            json!({ "filter": { "_method": "DELETE" } }),
            json!({ "filter": { "X-HTTP-Method-Override": "DELETE" } }),
            json!({ "raw": "a;_method=DELETE" }),
        ] {
            let refused = served.call("search_notes", params.clone()).await;
            assert_eq!(refused["error"]["code"], "VALIDATION_INVALID_VALUE", "{media_type} {params}: {refused}");
        }
        assert_eq!(served.server.count(), 0);
        let result =
            served.call("search_notes", json!({ "body": { "words": "a" }, "filter": { "method": "b" } })).await;
        assert_eq!(result["success"], true, "{result}");
    }
}
