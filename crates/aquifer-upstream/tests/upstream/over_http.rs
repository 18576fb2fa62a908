//! The same over HTTP: JSON and event streams, sessions lost and found, servers that come and go.

use aquifer_upstream::{Bearer, Transport};
use serde_json::json;

use crate::support::{ROUNDS, Served, Stage, context, until};

#[tokio::test]
async fn calls_over_http() {
    for flags in [[].as_slice(), &["--events"], &["--events", "--break-streams"]] {
        let server = Served::start(0, flags);
        let stage = Stage::up(server.settings()).await;
        assert_eq!(stage.get("echo", json!({ "camel_case": "ä" })).await, json!({ "camelCase": "ä" }), "{flags:?}");
        let error = stage.refused("protest", json!({}), "UPSTREAM_ERROR").await;
        assert_eq!(error["details"]["upstream_error"], "unheard of");
        let (_, blocks) = stage.ask_whole("blocks", json!({}), context()).await;
        assert_eq!(blocks.len(), 4);
    }
}

#[tokio::test]
async fn a_server_that_is_restarted_is_found_again() {
    let mut server = Served::start(0, &[]);
    let port = server.port;
    let stage = Stage::up(server.settings()).await;
    for _ in 0..ROUNDS {
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
        drop(server);
        stage.refused("echo", json!({}), "UPSTREAM_UNAVAILABLE").await;
        server = Served::start(port, &[]);
        until("it is found", async || stage.ask("echo", json!({})).await["success"] == true).await;
    }
}

#[tokio::test]
async fn a_lost_session_is_repaired_unnoticed() {
    let mut server = Served::start(0, &[]);
    let port = server.port;
    let stage = Stage::up(server.settings()).await;
    for _ in 0..ROUNDS {
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
        // Gone and there again before anybody asks: it has forgotten our session.
        drop(server);
        server = Served::start(port, &[]);
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn tokens_are_sent_and_never_told() {
    let server = Served::start(0, &["--token", "s3cr3t-token"]);
    let stage = Stage::new(server.settings());
    let failure = stage.upstream.ready().await.unwrap_err();
    assert!(failure.message().contains("authorization"), "{failure:?}");
    let mut settings = server.settings();
    let Transport::Http { bearer, .. } = &mut settings.transport else { unreachable!() };
    *bearer = Some(Bearer { token: "s3cr3t-token".to_owned(), env: Some("TOKEN".to_owned()) });
    assert!(!format!("{settings:?}").contains("s3cr3t"));
    let stage = Stage::up(settings).await;
    assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
}

#[tokio::test]
async fn r_saf_4_a_server_that_wants_rest_gets_it() {
    let server = Served::start(0, &["--paced"]);
    let stage = Stage::up(server.settings()).await;
    assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
    for what in ["refused by the server", "not even sent"] {
        let error = stage.refused("echo", json!({}), "RATE_LIMIT_EXCEEDED").await;
        assert_eq!(error["details"]["retry_after_seconds"], 1, "{what}: {error}");
        assert!(!error.to_string().contains("slow down"), "{error}");
    }
    // The server refuses once only: had the second of them been sent, it would have been answered.
    until("it has rested", async || stage.ask("echo", json!({ "text": "x" })).await["success"] == true).await;
}

#[tokio::test]
async fn answers_too_large_over_http() {
    for flags in [[].as_slice(), &["--events"]] {
        let server = Served::start(0, flags);
        let stage = Stage::up(server.settings()).await;
        stage.refused("huge", json!({ "size": 17_000_000 }), "VALIDATION_PAYLOAD_TOO_LARGE").await;
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x", "{flags:?}");
    }
}

#[tokio::test]
async fn changes_are_heard_over_http() {
    let server = Served::start(0, &[]);
    let stage = Stage::up(server.settings()).await;
    stage.get("change", json!({})).await;
    until("the new tool is known", async || stage.ask("added", json!({})).await["data"] == "new").await;
}
