//! Logging in and out.

use aquifer_engine::clock::SystemClock;
use aquifer_explorer::login::create_link;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::Shop;

#[tokio::test]
async fn a_link_works_once() {
    let mut shop = Shop::new().await;
    let token = create_link(&*shop.store, &SystemClock, "anna").await.unwrap();
    let begun = shop.post("/api/session", json!({ "token": token })).await;
    assert_eq!((begun.status, begun.headers.contains_key("set-session")), (StatusCode::OK, false));
    let again = shop.post("/api/session", json!({ "token": token })).await;
    assert_eq!((again.status, &again.body["error"]["code"]), (StatusCode::UNAUTHORIZED, &json!("LOGIN_REQUIRED")));
    shop.keep_session(&begun);
    assert_eq!(shop.get("/api/session").await.body["person"], "anna");
    let ended = shop.send(Method::DELETE, "/api/session", None, &[]).await;
    assert_eq!(ended.status, StatusCode::NO_CONTENT);
    assert_eq!(shop.get("/api/session").await.status, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn nothing_but_a_link_logs_in() {
    let shop = Shop::new().await;
    for token in ["", "0000", &"a".repeat(64), &"a".repeat(1_000)] {
        let refused = shop.post("/api/session", json!({ "token": token })).await;
        assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{token}");
    }
}
