//! Upstreams that misbehave: one structured error each, and the next call is answered again. Twenty-five rounds of each.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::support::{Folder, ROUNDS, Stage, fake, is_alive, kill, until};

/// The timeout of calls of which some have to be answered in it, also on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(2);

#[tokio::test]
async fn killed_in_mid_call() {
    let stage = Arc::new(Stage::up(fake(&[])).await);
    for _ in 0..ROUNDS {
        let pid = stage.pid().await;
        let call = {
            let stage = stage.clone();
            tokio::spawn(async move { stage.refused("slow", json!({ "seconds": 60 }), "UPSTREAM_UNAVAILABLE").await })
        };
        until("the call is under way", async || stage.get("max_at_once", json!({})).await == json!([1])).await;
        kill(pid);
        call.await.unwrap();
        assert_ne!(stage.pid().await, pid);
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn killed_between_calls() {
    let stage = Stage::up(fake(&[])).await;
    for _ in 0..ROUNDS {
        let pid = stage.pid().await;
        kill(pid);
        // Whether the call comes before or after the death is noticed: nothing was lost, so nothing is told.
        let answer = stage.ask("echo", json!({ "text": "x" })).await;
        let unlucky = answer["error"]["code"] == "UPSTREAM_UNAVAILABLE";
        assert!(answer["data"]["text"] == "x" || unlucky, "{answer}");
    }
}

#[tokio::test]
async fn exiting_in_a_call() {
    let stage = Stage::up(fake(&[])).await;
    for _ in 0..ROUNDS {
        stage.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn hanging_for_ever() {
    let mut settings = fake(&[]);
    settings.timeout = TIMEOUT;
    let stage = Stage::up(settings).await;
    // Each round takes two timeouts.
    for _ in 0..ROUNDS / 4 {
        let pid = stage.pid().await;
        stage.refused("hang", json!({}), "UPSTREAM_TIMEOUT").await;
        // It answers not even a ping, so it is replaced.
        until("it is replaced", async || {
            let answer = stage.ask("identity", json!({})).await;
            answer["success"] == true && answer["data"][0] != pid
        })
        .await;
        assert!(!is_alive(pid));
    }
}

#[tokio::test]
async fn not_answering_one_call() {
    let mut settings = fake(&[]);
    settings.timeout = TIMEOUT;
    let stage = Stage::up(settings).await;
    let pid = stage.pid().await;
    // At the same time: every one of them takes a timeout.
    let calls = (0..ROUNDS).map(|_| stage.refused("slow", json!({ "seconds": 600 }), "UPSTREAM_TIMEOUT"));
    futures::future::join_all(calls).await;
    assert_eq!(stage.pid().await, pid, "a slow call is no reason to replace it");
}

#[tokio::test]
async fn garbage_on_stdout() {
    let stage = Stage::up(fake(&["--banner"])).await;
    for _ in 0..ROUNDS {
        assert_eq!(stage.get("garbage", json!({})).await, "after the garbage");
    }
    let mut settings = fake(&["--flood"]);
    settings.start_timeout = Duration::from_secs(10);
    let stage = Stage::new(settings);
    let failure = stage.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
    assert!(failure.message().contains("MCP"), "{failure:?}");
}

#[tokio::test]
async fn answers_too_large() {
    let stage = Stage::up(fake(&[])).await;
    for round in 0..ROUNDS {
        // Fifty million bytes once, then only just too many: the wait is the server's, not ours.
        let size = if round == 0 { 50_000_000 } else { 17_000_000 };
        let params = json!({ "size": size, "id_last": round % 2 == 0 });
        let error = stage.refused("huge", params, "VALIDATION_PAYLOAD_TOO_LARGE").await;
        assert!(error["details"]["actual_value"].as_u64().unwrap() > size, "{error}");
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}

#[tokio::test]
async fn exiting_at_start() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    for _ in 0..ROUNDS {
        std::fs::write(&broken, "").unwrap();
        let stage = Stage::new(fake(&["--exit-while", &broken]));
        let failure = stage.upstream.ready().await.unwrap_err();
        assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
        stage.refresh();
        assert_eq!(stage.operations(), ["upstream_status"]);
        let list = stage.get("introspect", json!({ "query": "operations", "name": "upstream_status" })).await;
        let words = list["operation"]["description"].as_str().unwrap().to_owned();
        assert!(words.contains("process ended"), "{words}");
        stage.refused("upstream_status", json!({}), "UPSTREAM_UNAVAILABLE").await;
        std::fs::remove_file(&broken).unwrap();
        // Nobody asks for it, and it comes all the same.
        until("it is there", async || stage.upstream.is_up()).await;
        assert_eq!(stage.get("echo", json!({ "text": "x" })).await["text"], "x");
        assert!(!stage.operations().contains(&"upstream_status".to_owned()));
    }
}

#[tokio::test]
async fn mute_at_start() {
    let mut settings = fake(&["--mute"]);
    settings.start_timeout = Duration::from_millis(500);
    let stage = Stage::new(settings);
    let failure = stage.upstream.ready().await.unwrap_err();
    assert_eq!(failure.code().as_str(), "UPSTREAM_UNAVAILABLE");
}

#[tokio::test]
async fn changing_its_tools() {
    let stage = Stage::up(fake(&[])).await;
    assert!(!stage.operations().contains(&"added".to_owned()));
    for _ in 0..ROUNDS {
        stage.get("change", json!({})).await;
        // The very next call knows.
        assert_eq!(stage.get("added", json!({})).await, "new");
    }
}

#[tokio::test]
async fn a_dead_upstream_is_alone_in_its_misery() {
    let well = Stage::up(fake(&[])).await;
    let ill = Stage::new(fake(&["--exit-at-start"]));
    for _ in 0..ROUNDS {
        assert!(ill.upstream.ready().await.is_err());
        assert_eq!(well.get("echo", json!({ "text": "x" })).await["text"], "x");
    }
}
