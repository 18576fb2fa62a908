//! Requests that do not get through.

use aquifer_engine::clock::SystemClock;
use aquifer_explorer::login::begin_session;
use axum::http::{Method, StatusCode};
use serde_json::json;

use crate::support::Shop;

const PATHS: [&str; 8] = [
    "/api/overview",
    "/api/operations",
    "/api/tables",
    "/api/approvals",
    "/api/audit",
    "/api/review",
    "/api/settings",
    "/api/events",
];

#[tokio::test]
async fn the_api_needs_a_session() {
    let shop = Shop::new().await;
    for path in PATHS {
        let refused = shop.get(path).await;
        assert_eq!(
            (refused.status, &refused.body["error"]["code"]),
            (StatusCode::UNAUTHORIZED, &json!("LOGIN_REQUIRED")),
            "{path}"
        );
    }
}

#[tokio::test]
async fn requests_of_mcp_clients_and_other_pages_are_refused() {
    let shop = Shop::with_session("anna").await;
    for header in [
        ("authorization", "Bearer x"),
        ("mcp-session-id", "x"),
        ("mcp-protocol-version", "2025-06-18"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
    ] {
        for path in PATHS {
            let refused = shop.send(Method::GET, path, None, &[header]).await;
            assert_eq!(refused.status, StatusCode::FORBIDDEN, "{header:?} {path}");
        }
    }
}

/// Other programs on the host get all cookies of the browser, and can set some.
#[tokio::test]
async fn a_cookie_is_not_a_session() {
    let shop = Shop::new().await;
    let secret = begin_session(&*shop.store, &SystemClock, "anna").await.unwrap();
    for name in ["aquifer_session_8080", "x-aquifer-session", "aquifer.session"] {
        let cookie = format!("{name}={secret}");
        for path in PATHS {
            let refused = shop.send(Method::GET, path, None, &[("cookie", &cookie)]).await;
            assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{name} {path}");
        }
        for path in ["/api/run", "/api/review", "/api/rules/apply", "/api/rules/preview"] {
            let refused = shop.send(Method::POST, path, Some(json!({})), &[("cookie", &cookie)]).await;
            assert_eq!(refused.status, StatusCode::UNAUTHORIZED, "{name} {path}");
        }
    }
    assert!(shop.operator.asked.lock().unwrap().is_empty());
}

#[tokio::test]
async fn every_answer_restricts_what_a_page_may_do() {
    let shop = Shop::with_session("anna").await;
    for path in ["/", "/api/settings", "/api/unknown", "/app.js"] {
        let answer = shop.get(path).await;
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{path}");
    }
}
