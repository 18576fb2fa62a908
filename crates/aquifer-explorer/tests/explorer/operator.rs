//! What the API passes on to the program around it.

use axum::http::StatusCode;
use serde_json::{Value, json};

use crate::support::Shop;

#[tokio::test]
async fn decisions_carry_the_name_of_the_person() {
    let shop = Shop::with_session("anna").await;
    let change = json!({ "operations": ["a"], "effect": "deny" });
    let preview = shop.post("/api/rules/preview", change.clone()).await;
    assert_eq!((preview.status, &preview.body["digest"]), (StatusCode::OK, &json!("d")));
    assert_eq!(shop.post("/api/rules/apply", change.clone()).await.status, StatusCode::NO_CONTENT);
    let decision = json!({ "source": "s", "tool": "t", "digest": "d", "decision": "accept" });
    assert_eq!(shop.post("/api/review", decision.clone()).await.status, StatusCode::NO_CONTENT);
    let asked = shop.operator.asked.lock().unwrap().clone();
    let anna = || "anna".to_owned();
    assert_eq!(
        asked,
        [("preview", change.clone(), String::new()), ("apply", change, anna()), ("review", decision, anna())]
    );
}

#[tokio::test]
async fn refusals_have_their_status_and_causes_stay_in_the_log() {
    let shop = Shop::with_session("anna").await;
    for (code, status) in [
        ("CONFLICT", StatusCode::CONFLICT),
        ("UNAVAILABLE", StatusCode::UNPROCESSABLE_ENTITY),
        ("INTERNAL", StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        for path in ["/api/rules/preview", "/api/rules/apply", "/api/review"] {
            let refused = shop.post(path, json!({ "refuse": code })).await;
            assert_eq!((refused.status, &refused.body["error"]["code"]), (status, &json!(code)), "{path}");
            assert!(!refused.body.to_string().contains("hunter2"), "{}", refused.body);
        }
    }
}

#[tokio::test]
async fn unknown_addresses_are_json_below_api() {
    let shop = Shop::with_session("anna").await;
    let unknown = shop.get("/api/nothing").await;
    assert_eq!((unknown.status, &unknown.body["error"]["code"]), (StatusCode::NOT_FOUND, &json!("NOT_FOUND")));
    assert_eq!(shop.get("/api/settings").await.body["values"], json!([]));
    assert_eq!(shop.get("/api/review").await.body["sources"], Value::Array(Vec::new()));
}
