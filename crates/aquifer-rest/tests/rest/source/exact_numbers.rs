//! Numbers keep all digits. In requests they are written as they were; answers contain numbers that JavaScript would round
//! as text (R-RES-5).

use aquifer_engine::{Caller, Context, Engine, Reply as EngineReply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::Receiver;
use serde_json::{Value, json};

use super::{Served, note};
use crate::client::server::Reply;

/// The text of an answer.
async fn text(engine: &Engine, operation: &str, params: Value) -> String {
    let request = json!({ "operation": operation, "params": params }).as_object().unwrap().clone();
    let context = Context::new(Caller::session("tests"), "req_test");
    match engine.handle(&Receiver::Unified, request, context).await {
        EngineReply::Response(response) => response.render(&Limits::default()).text.to_string(),
        EngineReply::NeedsInput(question) => question.message,
    }
}

#[tokio::test]
async fn a_merged_update_keeps_the_digits_of_others() {
    let number = json!({ "type": "number" });
    let body = json!({ "type": "object", "properties": { "title": { "type": "string" }, "amount": number, "serial": number } });
    let served = Served::start(note(body, None), |_, _| {
        Reply::json(200, r#"{"title":"a","amount":1234567890123456.78,"serial":18446744073709551616}"#)
    })
    .await;
    let change = json!({ "id": "1", "input": { "title": "b" } });
    let shown =
        text(&served.engine, "update_note", json!({ "id": "1", "input": { "title": "b" }, "dry_run": true })).await;
    assert!(shown.contains(r#""amount":"1234567890123456.78""#), "{shown}");
    served.call("update_note", change).await;
    let sent = served.server.received().pop().unwrap();
    assert_eq!(sent.method, "PUT");
    assert_eq!(sent.body, r#"{"title":"b","amount":1234567890123456.78,"serial":18446744073709551616}"#);
}

#[tokio::test]
async fn shaped_results_keep_all_digits() {
    let rows = json!({ "type": "array", "items": { "type": "object" } });
    let paths = json!({ "/rows": { "get": { "operationId": "listRows", "summary": "List rows",
        "parameters": [{ "name": "offset", "in": "query", "schema": { "type": "integer" } }, { "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 3 } }],
        "responses": { "200": { "description": "Rows", "content": { "application/json": { "schema": rows } } } } } } });
    let served = Served::start(paths, |request, _| match request.target.contains("offset=3") {
        _ if request.target.contains("offset=4") => Reply::json(200, "[]"),
        true => Reply::json(200, r#"[{"id":4,"n":0.12345678901234567891}]"#),
        false => Reply::json(200, r#"[{"id":1,"n":1234567890123456.78},{"id":2,"n":-9},{"id":3,"n":5,"t":"\ufdd05"}]"#),
    })
    .await;
    for (params, expected) in [
        (json!({ "fields": ["n"] }), r#"[{"n":"1234567890123456.78"},{"n":-9},{"n":5}]"#),
        (
            json!({ "filter": { "id": { "lt": 3 } }, "sort": "-id", "fields": ["n"] }),
            r#"[{"n":-9},{"n":"1234567890123456.78"}]"#,
        ),
        (json!({ "filter": { "id": 3 }, "fields": ["t"] }), "[{\"t\":\"\u{fdd0}5\"}]"),
        (json!({ "filter": { "id": 4 } }), r#"[{"id":4,"n":"0.12345678901234567891"}]"#),
        (json!({ "filter": { "n": { "gt": 1234567890123456_u64 } }, "fields": ["id"] }), r#"[{"id":1}]"#),
    ] {
        let answer = text(&served.engine, "list_rows", params.clone()).await;
        assert!(answer.contains(&format!("\"items\":{}", expected)), "{params}: {answer}");
    }
    // Later pages come from the held result.
    let first: Value =
        serde_json::from_str(&text(&served.engine, "list_rows", json!({ "first": 1, "sort": "id" })).await).unwrap();
    assert!(first["data"]["pageInfo"]["endCursor"].is_string(), "{first}");
    let after = json!({ "first": 3, "sort": "id", "after": first["data"]["pageInfo"]["endCursor"], "fields": ["n"] });
    let later = text(&served.engine, "list_rows", after).await;
    assert!(later.contains(r#"{"n":"0.12345678901234567891"}"#), "{later}");
}
