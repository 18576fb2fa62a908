//! Every intent has exactly one outcome, and it says no more than is known.

use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use aquifer_engine::Context;
use serde_json::json;

use super::harness::{AuditHarness, assert_paired};
use super::support::*;
use crate::harness::anna;
use crate::stores::setup::eventually;

#[tokio::test]
async fn r_saf_5_outcomes_say_what_is_known() {
    // (how the call ends, result, code, reason)
    let table = [
        ("done", "done", None, None),
        ("fail", "failed", Some("UPSTREAM_ERROR"), None),
        ("lose", "unknown", Some("UPSTREAM_TIMEOUT"), None),
        ("ask", "failed", None, Some("the source asks a person first")),
        ("outdated", "failed", Some("CONFLICT_VERSION_MISMATCH"), Some("it was not run")),
        ("panic", "unknown", None, None),
    ];
    for operation in ["create_item", "update_remote", "delete_item", "run_job"] {
        let harness = AuditHarness::new();
        for (then, ..) in table {
            harness.ask(operation, json!({ "then": then })).await;
        }
        let entries = harness.entries().await;
        assert_paired(&entries);
        let outcomes: Vec<_> = entries.iter().filter(|entry| entry["event"] == "OPERATION_OUTCOME").collect();
        assert_eq!(outcomes.len(), table.len(), "{operation}");
        for ((then, result, code, reason), outcome) in table.iter().zip(outcomes) {
            assert_eq!(outcome["result"], *result, "{operation} {then}");
            assert_eq!(outcome["code"].as_str(), *code, "{operation} {then}");
            assert_eq!(outcome["reason"].as_str(), *reason, "{operation} {then}");
        }
        assert!(verify_directory(&harness.folder.0, &harness.store.inner).await.is_intact());
    }
}

/// Polls a future this many times, whenever it is woken, and drops it.
async fn poll_times(mut polls: usize, future: impl Future) {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        if polls == 0 || future.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        polls -= 1;
        if polls == 0 { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// A caller may be cancelled at any moment: while the intent is recorded, while the call runs, while its outcome is
/// recorded.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_a_caller_who_gives_up_leaves_one_outcome() {
    let harness = Arc::new(AuditHarness::new());
    for operation in ["create_item", "delete_item"] {
        // Dropped after this many polls. The last ones finish.
        for polls in 0..40 {
            poll_times(polls, harness.ask_as(operation, json!({}), anna())).await;
        }
    }
    let entries = harness.entries().await;
    assert_paired(&entries);
    let ran = harness.source.started.lock().len();
    let not_run = entries.iter().filter(|entry| entry["reason"] == "it was not run").count();
    let intents = entries.iter().filter(|entry| entry["event"] == "OPERATION_INTENT").count();
    assert_eq!(intents - not_run, ran, "an operation ran without an intent, or its intent says otherwise");
    assert!(entries.iter().any(|entry| entry["result"] == "done"), "no caller stayed long enough");
}

#[tokio::test]
async fn r_saf_5_a_cancelled_call_has_an_unknown_outcome() {
    for operation in ["create_item", "delete_item"] {
        let harness = Arc::new(AuditHarness::new());
        let context = Context { ..anna() };
        let (cancelled, running) = (context.cancelled.clone(), harness.clone());
        let call = tokio::spawn(async move { running.ask_as(operation, json!({ "then": "hang" }), context).await });
        tokio::time::timeout(DEADLINE, harness.source.has_started.notified()).await.unwrap();
        cancelled.cancel();
        tokio::time::timeout(DEADLINE, call).await.unwrap().unwrap();
        let entries = harness.entries().await;
        assert_paired(&entries);
        assert_eq!(entries.last().unwrap()["result"], "unknown");
    }
}

/// The outcome is not lost if the queue is full when the caller is cancelled.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_outcomes_wait_for_room_in_the_queue() {
    let all = json!({ "policy": { "rule": [{ "effect": "allow", "source": "scripted", "loosen": true }] } });
    let harness = Arc::new(AuditHarness::with(&all, |settings| {
        settings.queue = 2;
        settings.timeout = Duration::from_secs(30);
    }));
    let callers: Vec<_> = (0..50)
        .map(|number| {
            let harness = harness.clone();
            let then = if number % 2 == 0 { "done" } else { "panic" };
            tokio::spawn(async move { harness.ask("delete_item", json!({ "then": then })).await })
        })
        .collect();
    for caller in callers {
        tokio::time::timeout(DEADLINE, caller).await.unwrap().unwrap();
    }
    eventually("all outcomes are recorded", async || {
        let entries = harness.entries().await;
        entries.iter().filter(|entry| entry["event"] == "OPERATION_OUTCOME").count() >= 50
    })
    .await;
    assert_paired(&harness.entries().await);
}

/// An intent that was written although its call was refused is followed by an outcome that says so.
#[tokio::test]
async fn r_saf_5_an_intent_without_a_head_is_followed_by_its_refusal() {
    let harness = AuditHarness::new();
    assert_eq!(harness.code("delete_item", json!({})).await, "done");
    harness.store.set_mode(StoreMode::Down);
    assert_eq!(harness.code("delete_item", json!({})).await, "INTERNAL_ERROR");
    harness.store.set_mode(StoreMode::Well);
    assert_eq!(harness.code("delete_item", json!({})).await, "done");
    let entries = harness.entries().await;
    assert_paired(&entries);
    assert_eq!(entries.iter().filter(|entry| entry["reason"] == "it was not run").count(), 1, "{entries:#?}");
    assert_eq!(harness.source.started.lock().len(), 2);
    assert!(verify_directory(&harness.folder.0, &harness.store.inner).await.is_intact());
}

/// An intent that was never written has no outcome.
#[tokio::test]
async fn r_saf_5_a_refused_call_without_an_intent_has_no_outcome() {
    let harness = AuditHarness::new();
    for operation in ["delete_item", "create_item"] {
        assert_eq!(harness.code(operation, json!({})).await, "done");
    }
    let before = harness.entries().await.len();
    std::fs::remove_dir_all(&harness.folder.0).unwrap();
    std::fs::write(&harness.folder.0, "in the way").unwrap();
    // The first failure is known before the second call, which therefore waits.
    for operation in ["delete_item", "create_item", "run_job"] {
        assert_eq!(harness.code(operation, json!({})).await, "INTERNAL_ERROR", "{operation}");
    }
    std::fs::remove_file(&harness.folder.0).unwrap();
    assert_eq!(harness.code("create_item", json!({})).await, "done");
    let entries = harness.entries().await;
    assert_paired(&entries);
    assert!(entries.len() < before, "{entries:#?}");
    assert_eq!(harness.source.started.lock().len(), 3);
}
