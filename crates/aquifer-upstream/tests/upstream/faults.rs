//! Misbehaving upstreams: each fault causes one structured error, and the next call is answered again. Each runs 25
//! times.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::support::{Folder, Gateway, NEVER, ROUNDS, fake, is_alive, kill, until};

/// Timeout for calls that must be answered in time even on a busy machine.
const CALL_TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn a_server_killed_during_a_call_is_restarted() {
    let gateway = Arc::new(Gateway::ready(fake(&[])).await);
    for _ in 0..ROUNDS {
        let pid = gateway.pid().await;
        let call = {
            let gateway = gateway.clone();
            tokio::spawn(
                async move { gateway.refused("slow", json!({ "release": NEVER }), "UPSTREAM_UNAVAILABLE").await },
            )
        };
        until("the call is under way", async || gateway.get("max_at_once", json!({})).await == json!([1])).await;
        kill(pid);
        call.await.unwrap();
        assert_ne!(gateway.pid().await, pid);
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn a_server_killed_between_calls_is_restarted() {
    let gateway = Gateway::ready(fake(&[])).await;
    for _ in 0..ROUNDS {
        let pid = gateway.pid().await;
        kill(pid);
        // The call may come before or after the exit is noticed. Nothing was lost either way.
        let answer = gateway.ask("echo", json!({ "text": "x" })).await;
        let unlucky = answer["error"]["code"] == "UPSTREAM_UNAVAILABLE";
        assert!(answer["data"]["text"] == "x" || unlucky, "{answer}");
    }
}

#[tokio::test]
async fn a_server_that_exits_during_a_call_is_restarted() {
    let gateway = Gateway::ready(fake(&[])).await;
    for _ in 0..ROUNDS {
        gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn a_server_that_hangs_is_restarted() {
    let mut settings = fake(&[]);
    settings.timeout = CALL_TIMEOUT;
    let gateway = Gateway::ready(settings).await;
    // Each round takes two timeouts.
    for _ in 0..ROUNDS / 4 {
        let pid = gateway.pid().await;
        gateway.refused("hang", json!({}), "UPSTREAM_TIMEOUT").await;
        // It does not even answer a ping, so it is replaced.
        until("it is replaced", async || {
            let answer = gateway.ask("identity", json!({})).await;
            answer["success"] == true && answer["data"][0] != pid
        })
        .await;
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn one_unanswered_call_does_not_end_the_server() {
    let mut settings = fake(&[]);
    settings.timeout = CALL_TIMEOUT;
    let gateway = Gateway::ready(settings).await;
    let pid = gateway.pid().await;
    // Concurrently, because each of them takes a full timeout.
    let calls = (0..ROUNDS).map(|_| gateway.refused("slow", json!({ "release": NEVER }), "UPSTREAM_TIMEOUT"));
    futures::future::join_all(calls).await;
    assert_eq!(gateway.pid().await, pid, "a slow call is no reason to replace it");
}

#[tokio::test]
async fn invalid_lines_on_stdout_are_skipped() {
    let gateway = Gateway::ready(fake(&["--banner"])).await;
    for _ in 0..ROUNDS {
        assert_eq!(gateway.get("garbage", json!({})).await, "after the garbage");
    }
    let mut settings = fake(&["--flood"]);
    settings.start_timeout = Duration::from_secs(10);
    let gateway = Gateway::new(settings);
    let failure = gateway.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
    assert!(failure.message().contains("MCP"), "{failure:?}");
}

#[tokio::test]
async fn answers_that_are_too_large_are_refused() {
    let gateway = Gateway::ready(fake(&[])).await;
    for round in 0..ROUNDS {
        // Fifty million bytes once, then only a little too many: the server determines the duration.
        let size = if round == 0 { 50_000_000 } else { 17_000_000 };
        let params = json!({ "size": size, "id_last": round % 2 == 0 });
        let error = gateway.refused("huge", params, "VALIDATION_PAYLOAD_TOO_LARGE").await;
        assert!(error["details"]["actual_value"].as_u64().unwrap() > size, "{error}");
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn a_server_that_exits_at_start_is_reported() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    for _ in 0..ROUNDS {
        std::fs::write(&broken, "").unwrap();
        let gateway = Gateway::new(fake(&["--exit-while", &broken]));
        let failure = gateway.upstream.ready().await.unwrap_err();
        assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
        gateway.refresh();
        assert_eq!(gateway.operations(), ["upstream_status"]);
        let list = gateway.get("introspect", json!({ "query": "operations", "name": "upstream_status" })).await;
        let words = list["operation"]["description"].as_str().unwrap().to_owned();
        assert!(words.contains("process ended"), "{words}");
        gateway.refused("upstream_status", json!({}), "UPSTREAM_UNAVAILABLE").await;
        std::fs::remove_file(&broken).unwrap();
        // It is restarted without a call.
        until("it is there", async || gateway.upstream.is_connected()).await;
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
        assert!(!gateway.operations().contains(&"upstream_status".to_owned()));
    }
}

#[tokio::test]
async fn a_server_that_is_silent_at_start_is_reported() {
    let mut settings = fake(&["--mute"]);
    settings.start_timeout = Duration::from_millis(500);
    let gateway = Gateway::new(settings);
    let failure = gateway.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
}

#[tokio::test]
async fn changed_tools_are_listed_again() {
    let gateway = Gateway::ready(fake(&[])).await;
    assert!(!gateway.operations().contains(&"added".to_owned()));
    for _ in 0..ROUNDS {
        gateway.get("change", json!({})).await;
        // The next call already sees the change.
        assert_eq!(gateway.get("added", json!({})).await, "new");
    }
}

#[tokio::test]
async fn a_dead_upstream_does_not_affect_other_sources() {
    let well = Gateway::ready(fake(&[])).await;
    let ill = Gateway::new(fake(&["--exit-at-start"]));
    for _ in 0..ROUNDS {
        assert!(ill.upstream.ready().await.is_err());
        assert_eq!(well.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}
