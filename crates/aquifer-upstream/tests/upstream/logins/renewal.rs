//! Tokens that expire, are revoked, or lack scopes.

use serde_json::json;

use super::server::{ProtectedServer, log_in, nothing};
use crate::support::{Gateway, until};

#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let server = ProtectedServer::start(json!({ "lifetime": 0 })).await;
    server.log_in().await;
    server.set(json!({ "lifetime": 3600 })).await;
    let before = server.stored_login();
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    assert_eq!(server.count("refresh").await, 1, "once, and then it holds");
    let after = server.stored_login();
    assert_ne!(before["access_token"], after["access_token"]);
    assert_eq!(before["refresh_token"], after["refresh_token"], "one that is not replaced stays");
    let seen = server.recorded_events().await["seen"].to_string();
    assert!(!seen.contains(before["access_token"].as_str().unwrap()), "the old one was not even tried");
    let forms = server.recorded_events().await["forms"].clone();
    assert_eq!((&forms[1]["grant_type"], &forms[1]["resource"]), (&json!("refresh_token"), &json!(server.url("/mcp"))));
}

#[tokio::test]
async fn rotated_refresh_tokens_are_stored() {
    let server = ProtectedServer::start(json!({ "rotate": true })).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    for round in 1..=5 {
        let before = server.stored_login();
        // Earlier than announced: the server decides.
        server.set(json!({ "expire_all": true })).await;
        assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
        assert_eq!(server.count("refresh").await, round);
        assert_ne!(before["refresh_token"], server.stored_login()["refresh_token"]);
    }
    assert_eq!(server.count("reused").await, 0);
}

#[tokio::test]
async fn concurrent_requests_renew_a_token_once() {
    let server = ProtectedServer::start(json!({ "rotate": true })).await;
    server.log_in().await;
    // Two upstreams that share only the file, like two processes.
    let stages = [Gateway::ready(server.settings()).await, Gateway::ready(server.settings()).await];
    for round in 1..=5 {
        server.set(json!({ "expire_all": true })).await;
        let calls = stages.iter().flat_map(|gateway| (0..8).map(move |_| gateway.ask("read_note", json!({}))));
        for answer in futures::future::join_all(calls).await {
            assert_eq!(answer["success"], json!(true), "{answer}");
        }
        assert_eq!(server.count("refresh").await, round);
    }
    assert_eq!(server.count("reused").await, 0, "a refresh token that is used twice ends the login");
}

#[tokio::test]
async fn a_cancelled_caller_does_not_lose_the_login() {
    let server = ProtectedServer::start(json!({ "rotate": true })).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    for wait in 0..20 {
        server.set(json!({ "expire_all": true })).await;
        let call = gateway.ask("read_note", json!({}));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(wait), call).await;
    }
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    assert_eq!(server.count("reused").await, 0);
}

#[tokio::test]
async fn a_revoked_login_is_requested_again() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    server.set(json!({ "revoke_all": true })).await;
    let error = gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no longer accepted; a person has to run `aquifer login notes`"), "{message}");
    assert!(server.file().is_none(), "what is no good is not kept");
    gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    gateway.refresh();
    let shown = gateway.get("introspect", json!({ "query": "operations" })).await.to_string();
    assert!(shown.contains("aquifer login notes"), "{shown}");
    server.log_in().await;
    until("it is found", async || gateway.ask("read_note", json!({})).await["success"] == true).await;
}

#[tokio::test]
async fn a_login_without_a_refresh_token_expires() {
    let server = ProtectedServer::start(json!({ "refresh": false, "lifetime": null })).await;
    assert!(!server.log_in().await.renews);
    let gateway = Gateway::ready(server.settings()).await;
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    server.set(json!({ "expire_all": true })).await;
    let error = gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("its login has expired; a person has to run"), "{error}");
}

#[tokio::test]
async fn an_unavailable_authorization_server_does_not_lose_the_login() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    server.set(json!({ "expire_all": true, "token_status": 503 })).await;
    let error = gateway.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("cannot be renewed now"), "{error}");
    assert!(server.file().is_some());
    server.set(json!({ "token_status": null })).await;
    until("it is found", async || gateway.ask("read_note", json!({})).await["success"] == true).await;
}

#[tokio::test]
async fn an_insufficient_login_is_reported() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    let error = gateway.refused("write_note", json!({}), "PERMISSION_DENIED").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`aquifer login notes --scope notes.read --scope notes.write`"), "{message}");
    assert_eq!(error["details"]["required_scopes"], json!(["notes.write"]));
    // The connection still works.
    assert!(gateway.upstream.is_connected());
    assert_eq!(gateway.get("read_note", json!({})).await["note"], "read_note");
    server.set(json!({ "need_write": "notes.write;$(reboot)" })).await;
    let error = gateway.refused("write_note", json!({}), "PERMISSION_DENIED").await;
    assert!(!error.to_string().contains("reboot"), "no words of a server in a command: {error}");
    server.set(json!({ "need_write": "notes.write" })).await;
    log_in(&server.settings(), &["notes.read", "notes.write"]).await.unwrap();
    assert_eq!(gateway.get("write_note", json!({})).await["note"], "write_note", "the next call has it");
    assert_eq!(server.count("refresh").await, 0);
}

#[tokio::test]
async fn a_step_up_login_is_kept() {
    for status in [403, 401] {
        let server = ProtectedServer::start(json!({ "forbidden": status })).await;
        assert_eq!(server.log_in().await.scopes, ["notes.read"]);
        let gateway = Gateway::ready(server.settings()).await;
        let error = gateway.refused("write_note", json!({}), "PERMISSION_DENIED").await;
        assert_eq!(error["details"]["required_scopes"], json!(["notes.write"]), "{status}: {error}");
        assert_eq!(server.count("refresh").await, 0, "{status}: another token would allow no more");
        assert!(gateway.upstream.is_connected(), "{status}");
        // The command in the refusal requests both scopes.
        log_in(&server.settings(), &["notes.read", "notes.write"]).await.unwrap();
        assert_eq!(gateway.get("write_note", json!({})).await["note"], "write_note", "{status}");
        // A later login, for which the server names only the basic scopes, keeps the others.
        assert_eq!(server.log_in().await.scopes, ["notes.read", "notes.write"], "{status}");
        until("the new login is found", async || gateway.ask("write_note", json!({})).await["success"] == true).await;
        // Explicit scopes replace all others, and removed ones are not requested again.
        assert_eq!(log_in(&server.settings(), &["notes.read"]).await.unwrap().scopes, ["notes.read"], "{status}");
        assert_eq!(server.log_in().await.scopes, ["notes.read"], "{status}");
    }
}

#[tokio::test]
async fn scopes_of_one_authorization_server_are_not_requested_from_another() {
    let server = ProtectedServer::start(nothing()).await;
    log_in(&server.settings(), &["notes.read", "notes.write"]).await.unwrap();
    server.set(json!({ "describe": false, "iss": "none" })).await;
    assert_eq!(server.log_in().await.scopes, ["notes.read"]);
}

#[tokio::test]
async fn r_saf_3_a_call_that_may_change_data_is_not_repeated_with_another_token() {
    let server = ProtectedServer::start(json!({ "rotate": true })).await;
    log_in(&server.settings(), &["notes.read", "notes.write"]).await.unwrap();
    let gateway = Gateway::ready(server.settings()).await;
    for round in 1..=3 {
        // 401 means that nothing was executed, so the caller may repeat the call.
        server.set(json!({ "expire_all": true })).await;
        let error = gateway.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("has been renewed. The call was not executed and can be repeated"), "{message}");
        assert!(error["details"]["outcome"].is_null(), "{error}");
        assert_eq!(server.count("received write_note").await, 2 * round - 1, "sent once");
        assert_eq!(server.count("refresh").await, round);
        assert!(gateway.upstream.is_connected(), "the connection is none the worse for it");
        assert_eq!(gateway.get("write_note", json!({})).await["note"], "write_note");
        assert_eq!(server.count("received write_note").await, 2 * round);
    }
    // A login that cannot be renewed.
    server.set(json!({ "revoke_all": true })).await;
    let error = gateway.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("a person has to run `aquifer login notes`"), "{error}");
    assert!(error["details"]["outcome"].is_null(), "{error}");
    assert_eq!(server.count("received write_note").await, 7);
}

#[tokio::test]
async fn r_saf_3_a_newer_login_is_used_before_a_call_and_not_after_it() {
    let server = ProtectedServer::start(nothing()).await;
    server.log_in().await;
    let gateway = Gateway::ready(server.settings()).await;
    // A person logs in with more scopes in advance: the call is refused once and then uses the new login.
    log_in(&server.settings(), &["notes.read", "notes.write"]).await.unwrap();
    let error = gateway.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("can be repeated"), "{error}");
    assert_eq!(server.count("received write_note").await, 1);
    assert_eq!(gateway.get("write_note", json!({})).await["note"], "write_note");
    assert_eq!(server.count("received write_note").await, 2);
}
