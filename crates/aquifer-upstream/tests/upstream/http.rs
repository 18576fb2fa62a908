//! Calls over HTTP: JSON and event streams, lost sessions, restarted servers.

use aquifer_upstream::{BearerToken, Transport};
use serde_json::json;

use crate::support::{Gateway, HttpServer, ROUNDS, context, until};

#[tokio::test]
async fn calls_work_over_http() {
    for flags in [[].as_slice(), &["--events"], &["--events", "--break-streams"]] {
        let server = HttpServer::start(0, flags);
        let gateway = Gateway::ready(server.settings()).await;
        assert_eq!(gateway.get("echo", json!({ "camel_case": "ä" })).await, json!({ "camelCase": "ä" }), "{flags:?}");
        let error = gateway.refused("protest", json!({}), "UPSTREAM_ERROR").await;
        assert_eq!(error["details"]["upstream_error"], "unheard of");
        let (_, blocks) = gateway.ask_whole("blocks", json!({}), context()).await;
        assert_eq!(blocks.len(), 4);
    }
}

#[tokio::test]
async fn a_restarted_server_is_reconnected() {
    let mut server = HttpServer::start(0, &[]);
    let port = server.port;
    let gateway = Gateway::ready(server.settings()).await;
    for _ in 0..ROUNDS {
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
        drop(server);
        gateway.refused("echo", json!({}), "UPSTREAM_UNAVAILABLE").await;
        server = HttpServer::start(port, &[]);
        until("it is found", async || gateway.ask("echo", json!({})).await["success"] == true).await;
    }
}

#[tokio::test]
async fn a_lost_session_is_replaced_transparently() {
    let mut server = HttpServer::start(0, &[]);
    let port = server.port;
    let gateway = Gateway::ready(server.settings()).await;
    for _ in 0..ROUNDS {
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
        // Restarted before the next call: it has forgotten our session.
        drop(server);
        server = HttpServer::start(port, &[]);
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn bearer_tokens_are_sent_and_never_shown() {
    let server = HttpServer::start(0, &["--token", "s3cr3t-token"]);
    let gateway = Gateway::new(server.settings());
    let failure = gateway.upstream.ready().await.unwrap_err();
    assert!(failure.message().contains("authorization"), "{failure:?}");
    let mut settings = server.settings();
    let Transport::Http { bearer, .. } = &mut settings.transport else { unreachable!() };
    *bearer = Some(BearerToken { token: "s3cr3t-token".to_owned(), env: Some("TOKEN".to_owned()) });
    assert!(!format!("{settings:?}").contains("s3cr3t"));
    let gateway = Gateway::ready(settings).await;
    assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
}

#[tokio::test]
async fn r_saf_4_a_rate_limited_server_is_left_alone() {
    let server = HttpServer::start(0, &["--paced"]);
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
    for what in ["refused by the server", "not even sent"] {
        let error = gateway.refused("echo", json!({}), "RATE_LIMIT_EXCEEDED").await;
        assert_eq!(error["details"]["retry_after_seconds"], 1, "{what}: {error}");
        assert!(!error.to_string().contains("slow down"), "{error}");
    }
    // The server refuses only once. If the second call had been sent, it would have succeeded.
    until("it has rested", async || gateway.ask("echo", json!({ "text": "x" })).await["success"] == true).await;
}

#[tokio::test]
async fn answers_that_are_too_large_are_refused_over_http() {
    for flags in [[].as_slice(), &["--events"]] {
        let server = HttpServer::start(0, flags);
        let gateway = Gateway::ready(server.settings()).await;
        gateway.refused("huge", json!({ "size": 17_000_000 }), "VALIDATION_PAYLOAD_TOO_LARGE").await;
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x", "{flags:?}");
    }
}

#[tokio::test]
async fn changed_tools_are_noticed_over_http() {
    let server = HttpServer::start(0, &[]);
    let gateway = Gateway::ready(server.settings()).await;
    gateway.get("change", json!({})).await;
    until("the new tool is known", async || gateway.ask("added", json!({})).await["data"] == "new").await;
}
