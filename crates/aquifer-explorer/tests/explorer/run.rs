//! Requests of a person.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::Shop;

#[tokio::test]
async fn a_request_is_answered_as_for_an_agent() {
    let shop = Shop::with_session("anna").await;
    let answer = shop
        .post("/api/run", json!({ "request": { "operation": "introspect", "params": { "query": "summary" } } }))
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert_eq!(answer.body["response"]["success"], true, "{}", answer.body);
    assert!(answer.body["stages"].as_array().is_some_and(|stages| !stages.is_empty()), "{}", answer.body);
}

/// The parser would accept it: its limit is 128.
#[tokio::test]
async fn the_scanner_runs_before_the_parser() {
    let shop = Shop::with_session("anna").await;
    let deep = (0..100).fold(Value::Null, |inner, _| json!([inner]));
    let request = json!({ "request": { "operation": "introspect", "params": { "name": deep } } });
    let refused = shop.post("/api/run", request).await;
    assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{}", refused.body);
    assert_eq!(refused.body["error"]["code"], "INVALID");
}
