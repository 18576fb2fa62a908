//! The messages of recorded calls.

use axum::http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::Shop;

fn steps(call: &Value) -> Vec<(&str, &str)> {
    let messages = call["messages"].as_array().unwrap().iter();
    messages.map(|one| (one["step"].as_str().unwrap(), one["channel"].as_str().unwrap())).collect()
}

#[tokio::test]
async fn a_call_that_was_tried_shows_the_statements_of_the_database() {
    let shop = Shop::with_session("anna").await;
    let params = json!({ "fields": ["name"], "filter": { "name": { "eq": "Carla" } } });
    let run = shop.post("/api/run", json!({ "request": { "operation": "list_customers", "params": params } })).await;
    let id = run.body["request_id"].as_str().unwrap();
    let call = shop.get(&format!("/api/call-log/{id}")).await.body;
    assert_eq!(
        steps(&call),
        [("received", "client"), ("sent", "sql"), ("returned", "sql"), ("answered", "client")],
        "{call}"
    );
    let messages = &call["messages"];
    assert!(messages[1]["body"].as_str().unwrap().contains("FROM \"customers\""), "{call}");
    assert!(messages[1]["head"].as_str().unwrap().contains("?1 text"), "{call}");
    assert!(!messages[1].to_string().contains("Carla"), "values are bound: {call}");
    assert!(messages[2]["body"].as_str().unwrap().contains("Carla"), "{call}");
    assert_eq!(messages[3]["tokens"], run.body["tokens"]);
    assert_eq!(call["principal"], "explorer:anna");
    let all =
        json!({ "request": { "operation": "list_customers", "params": { "filter": { "name": { "eq": "Carla" } } } } });
    let whole = shop.post("/api/run", all).await;
    assert_eq!(whole.body["direct_tokens"], run.body["direct_tokens"], "whole rows, whatever was asked for");
    assert!(run.body["tokens"].as_u64() < whole.body["tokens"].as_u64(), "{}", run.body);
}

#[tokio::test]
async fn recording_is_bounded_and_off_until_it_is_switched_on() {
    let shop = Shop::with_session("anna").await;
    let before = shop.get("/api/call-log").await.body;
    assert_eq!(before, json!({ "recording": null, "calls": [] }));
    for too_much in [json!({ "calls": 101, "minutes": 1 }), json!({ "calls": 1, "minutes": 31 })] {
        assert_eq!(shop.post("/api/call-log", too_much).await.status, StatusCode::BAD_REQUEST);
    }
    let on = shop.post("/api/call-log", json!({ "calls": 5, "minutes": 10 })).await;
    assert_eq!(on.status, StatusCode::NO_CONTENT);
    assert_eq!(shop.get("/api/call-log").await.body["recording"]["calls_left"], 5);
    // The page asks the engine for itself. That is not recorded.
    assert_eq!(shop.get("/api/operations/list_customers").await.status, StatusCode::OK);
    assert_eq!(shop.get("/api/call-log").await.body["recording"]["calls_left"], 5);
    shop.post("/api/call-log", json!({ "calls": 0, "minutes": 0 })).await;
    assert_eq!(shop.get("/api/call-log").await.body["recording"], Value::Null);
    assert_eq!(shop.get("/api/call-log/req_0").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn nobody_reads_it_without_a_session() {
    let shop = Shop::new().await;
    for path in ["/api/call-log", "/api/call-log/req_0"] {
        assert_eq!(shop.get(path).await.status, StatusCode::UNAUTHORIZED, "{path}");
    }
    let switch = shop.post("/api/call-log", json!({ "calls": 1, "minutes": 1 })).await;
    assert_eq!(switch.status, StatusCode::UNAUTHORIZED);
    let signed_in = Shop::with_session("anna").await;
    let foreign = signed_in.send(Method::DELETE, "/api/call-log", None, &[("sec-fetch-site", "same-site")]).await;
    assert_eq!(foreign.status, StatusCode::FORBIDDEN, "another page cannot send it: {}", foreign.body);
}
