//! Tokens that end, are taken back, or do not allow enough.

use serde_json::json;

use super::guarded::{Guarded, log_in, nothing};
use crate::support::{Stage, until};

#[tokio::test]
async fn a_token_that_ends_is_renewed_before_it_does() {
    let guarded = Guarded::start(json!({ "lifetime": 0 })).await;
    guarded.log_in().await;
    guarded.set(json!({ "lifetime": 3600 })).await;
    let before = guarded.kept();
    let stage = Stage::up(guarded.settings()).await;
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    assert_eq!(guarded.count("refresh").await, 1, "once, and then it holds");
    let after = guarded.kept();
    assert_ne!(before["access_token"], after["access_token"]);
    assert_eq!(before["refresh_token"], after["refresh_token"], "one that is not replaced stays");
    let seen = guarded.told().await["seen"].to_string();
    assert!(!seen.contains(before["access_token"].as_str().unwrap()), "the old one was not even tried");
    let forms = guarded.told().await["forms"].clone();
    assert_eq!(
        (&forms[1]["grant_type"], &forms[1]["resource"]),
        (&json!("refresh_token"), &json!(guarded.url("/mcp")))
    );
}

#[tokio::test]
async fn refresh_tokens_that_change_are_followed() {
    let guarded = Guarded::start(json!({ "rotate": true })).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    for round in 1..=5 {
        let before = guarded.kept();
        // Sooner than it said: the server knows best.
        guarded.set(json!({ "expire_all": true })).await;
        assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
        assert_eq!(guarded.count("refresh").await, round);
        assert_ne!(before["refresh_token"], guarded.kept()["refresh_token"]);
    }
    assert_eq!(guarded.count("reused").await, 0);
}

#[tokio::test]
async fn many_who_need_it_at_once_renew_it_once() {
    let guarded = Guarded::start(json!({ "rotate": true })).await;
    guarded.log_in().await;
    // Two upstreams as two processes would be: they share the file and nothing else.
    let stages = [Stage::up(guarded.settings()).await, Stage::up(guarded.settings()).await];
    for round in 1..=5 {
        guarded.set(json!({ "expire_all": true })).await;
        let calls = stages.iter().flat_map(|stage| (0..8).map(move |_| stage.ask("read_note", json!({}))));
        for answer in futures::future::join_all(calls).await {
            assert_eq!(answer["success"], json!(true), "{answer}");
        }
        assert_eq!(guarded.count("refresh").await, round);
    }
    assert_eq!(guarded.count("reused").await, 0, "a refresh token that is used twice ends the login");
}

#[tokio::test]
async fn a_caller_who_gives_up_does_not_lose_the_login() {
    let guarded = Guarded::start(json!({ "rotate": true })).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    for wait in 0..20 {
        guarded.set(json!({ "expire_all": true })).await;
        let call = stage.ask("read_note", json!({}));
        let _ = tokio::time::timeout(std::time::Duration::from_millis(wait), call).await;
    }
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    assert_eq!(guarded.count("reused").await, 0);
}

#[tokio::test]
async fn a_login_that_was_taken_back_is_wanted_again() {
    let guarded = Guarded::start(nothing()).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    guarded.set(json!({ "revoke_all": true })).await;
    let error = stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("no longer accepted; a person runs `aquifer login notes`"), "{message}");
    assert!(guarded.file().is_none(), "what is no good is not kept");
    stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    stage.refresh();
    let shown = stage.get("introspect", json!({ "query": "operations" })).await.to_string();
    assert!(shown.contains("aquifer login notes"), "{shown}");
    guarded.log_in().await;
    until("it is found", async || stage.ask("read_note", json!({})).await["success"] == true).await;
}

#[tokio::test]
async fn a_login_without_a_refresh_token_ends() {
    let guarded = Guarded::start(json!({ "refresh": false, "lifetime": null })).await;
    assert!(!guarded.log_in().await.renews);
    let stage = Stage::up(guarded.settings()).await;
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    guarded.set(json!({ "expire_all": true })).await;
    let error = stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("its login has ended; a person runs"), "{error}");
}

#[tokio::test]
async fn an_authorization_server_that_is_down_costs_no_login() {
    let guarded = Guarded::start(nothing()).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    guarded.set(json!({ "expire_all": true, "token_status": 503 })).await;
    let error = stage.refused("read_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("cannot be renewed now"), "{error}");
    assert!(guarded.file().is_some());
    guarded.set(json!({ "token_status": null })).await;
    until("it is found", async || stage.ask("read_note", json!({})).await["success"] == true).await;
}

#[tokio::test]
async fn a_login_that_does_not_allow_enough_is_told() {
    let guarded = Guarded::start(nothing()).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    let error = stage.refused("write_note", json!({}), "PERMISSION_DENIED").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("`aquifer login notes --scope notes.read --scope notes.write`"), "{message}");
    assert_eq!(error["details"]["required_scopes"], json!(["notes.write"]));
    // The connection is none the worse for it.
    assert!(stage.upstream.is_up());
    assert_eq!(stage.get("read_note", json!({})).await["note"], "read_note");
    guarded.set(json!({ "need_write": "notes.write;$(reboot)" })).await;
    let error = stage.refused("write_note", json!({}), "PERMISSION_DENIED").await;
    assert!(!error.to_string().contains("reboot"), "no words of a server in a command: {error}");
    guarded.set(json!({ "need_write": "notes.write" })).await;
    log_in(&guarded.settings(), &["notes.read", "notes.write"]).await.unwrap();
    assert_eq!(stage.get("write_note", json!({})).await["note"], "write_note", "the next call has it");
    assert_eq!(guarded.count("refresh").await, 0);
}

#[tokio::test]
async fn a_login_is_stepped_up_once_and_stays_so() {
    for status in [403, 401] {
        let guarded = Guarded::start(json!({ "forbidden": status })).await;
        assert_eq!(guarded.log_in().await.scopes, ["notes.read"]);
        let stage = Stage::up(guarded.settings()).await;
        let error = stage.refused("write_note", json!({}), "PERMISSION_DENIED").await;
        assert_eq!(error["details"]["required_scopes"], json!(["notes.write"]), "{status}: {error}");
        assert_eq!(guarded.count("refresh").await, 0, "{status}: another token would allow no more");
        assert!(stage.upstream.is_up(), "{status}");
        // The command that the refusal names asks for both.
        log_in(&guarded.settings(), &["notes.read", "notes.write"]).await.unwrap();
        assert_eq!(stage.get("write_note", json!({})).await["note"], "write_note", "{status}");
        // A later login, for which the server says only what it wants of everybody, takes nothing back.
        assert_eq!(guarded.log_in().await.scopes, ["notes.read", "notes.write"], "{status}");
        until("the new login is found", async || stage.ask("write_note", json!({})).await["success"] == true).await;
        // What somebody says is what is asked for, and what is forgotten is not asked for again.
        assert_eq!(log_in(&guarded.settings(), &["notes.read"]).await.unwrap().scopes, ["notes.read"], "{status}");
        assert_eq!(guarded.log_in().await.scopes, ["notes.read"], "{status}");
    }
}

#[tokio::test]
async fn rights_of_one_authorization_server_are_not_asked_for_at_another() {
    let guarded = Guarded::start(nothing()).await;
    log_in(&guarded.settings(), &["notes.read", "notes.write"]).await.unwrap();
    guarded.set(json!({ "describe": false, "iss": "none" })).await;
    assert_eq!(guarded.log_in().await.scopes, ["notes.read"]);
}

#[tokio::test]
async fn r_saf_3_a_call_that_may_change_something_is_not_repeated_with_another_token() {
    let guarded = Guarded::start(json!({ "rotate": true })).await;
    log_in(&guarded.settings(), &["notes.read", "notes.write"]).await.unwrap();
    let stage = Stage::up(guarded.settings()).await;
    for round in 1..=3 {
        // 401 says that nothing was done, so the caller may repeat it.
        guarded.set(json!({ "expire_all": true })).await;
        let error = stage.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("has been renewed. The call was not carried out and can be repeated"), "{message}");
        assert!(error["details"]["outcome"].is_null(), "{error}");
        assert_eq!(guarded.count("received write_note").await, 2 * round - 1, "sent once");
        assert_eq!(guarded.count("refresh").await, round);
        assert!(stage.upstream.is_up(), "the connection is none the worse for it");
        assert_eq!(stage.get("write_note", json!({})).await["note"], "write_note");
        assert_eq!(guarded.count("received write_note").await, 2 * round);
    }
    // One that cannot be renewed.
    guarded.set(json!({ "revoke_all": true })).await;
    let error = stage.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("a person runs `aquifer login notes`"), "{error}");
    assert!(error["details"]["outcome"].is_null(), "{error}");
    assert_eq!(guarded.count("received write_note").await, 7);
}

#[tokio::test]
async fn r_saf_3_a_better_login_is_found_before_a_call_and_not_after_it() {
    let guarded = Guarded::start(nothing()).await;
    guarded.log_in().await;
    let stage = Stage::up(guarded.settings()).await;
    // Somebody logs in for more before anything was refused: the call is refused once, then it has the login.
    log_in(&guarded.settings(), &["notes.read", "notes.write"]).await.unwrap();
    let error = stage.refused("write_note", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert!(error["message"].as_str().unwrap().contains("can be repeated"), "{error}");
    assert_eq!(guarded.count("received write_note").await, 1);
    assert_eq!(stage.get("write_note", json!({})).await["note"], "write_note");
    assert_eq!(guarded.count("received write_note").await, 2);
}
