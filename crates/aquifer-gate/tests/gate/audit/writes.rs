//! Every write is recorded with the fields it sets and clears. Reads are not.

use std::time::Duration;

use serde_json::{Value, json};

use super::harness::{AuditHarness, assert_paired};
use super::support::*;
use crate::stores::setup::eventually;

#[tokio::test]
async fn r_saf_5_every_write_is_recorded_and_no_read() {
    // (operation, parameters, fields in the intent); null: not recorded.
    let table = [
        ("get_item", json!({ "a": null }), Value::Null),
        ("introspect", json!({ "query": "operations" }), Value::Null),
        ("create_item", json!({ "a": 1, "b": null }), json!({ "set": ["a"], "cleared": ["b"] })),
        ("create_remote", json!({ "a": 1, "z": 2 }), json!({ "set": ["a", "z"], "cleared": [] })),
        (
            "update_item",
            json!({ "input": { "a": 1, "b": null, "c": null, "d": null } }),
            json!({ "set": ["a"], "cleared": ["b", "c", "d"] }),
        ),
        ("update_remote", json!({ "a": { "b": null }, "c": null }), json!({ "set": ["a"], "cleared": ["a.b", "c"] })),
        ("run_job", json!({ "a": "x" }), json!({ "set": ["a"], "cleared": [] })),
        ("delete_item", json!({ "a": 1 }), json!("none")),
        // A read that its source marks as more dangerous.
        ("peek_item", json!({ "a": 1 }), json!("none")),
        // Dry runs change nothing.
        ("create_item", json!({ "a": 1, "dry_run": true }), Value::Null),
        ("update_item", json!({ "input": { "a": 1 }, "dry_run": true }), Value::Null),
        ("delete_item", json!({ "dry_run": true }), Value::Null),
    ];
    for (operation, params, fields) in table {
        let harness = AuditHarness::new();
        assert_eq!(harness.code(operation, params.clone()).await, "done", "{operation} {params}");
        let entries = harness.entries().await;
        if fields.is_null() {
            assert!(entries.is_empty(), "{operation} {params}: {entries:?}");
            continue;
        }
        assert_paired(&entries);
        let writes = harness.writes().await;
        let row = |event: &str, result: &str| (event.to_owned(), operation.to_owned(), result.to_owned());
        assert_eq!(writes, [row("OPERATION_INTENT", "intended"), row("OPERATION_OUTCOME", "done")], "{operation}");
        let intent = entries.iter().find(|entry| entry["event"] == "OPERATION_INTENT").unwrap();
        let recorded = intent.get("fields").cloned().unwrap_or_else(|| json!("none"));
        assert_eq!(recorded, fields, "{operation} {params}");
        assert!(intent["parameters"].is_object() && intent["user_id"] == "anna", "{intent}");
    }
}

/// Every step of a batch is a write of its own, and a confirmed write is recorded like an allowed one.
#[tokio::test]
async fn r_saf_5_batches_and_confirmed_writes_are_recorded() {
    let harness = AuditHarness::with(
        &json!({ "policy": { "rule": [
        { "effect": "confirm", "strength": "token", "operation": "create_item" },
        { "effect": "allow", "source": "scripted", "loosen": true },
    ] } }),
        |_| {},
    );
    let refused = harness.ask("create_item", json!({ "a": 1 })).await;
    let token = &refused["error"]["details"]["confirmation_token"];
    assert_eq!(harness.code("create_item", json!({ "a": 1, "confirmation_token": token })).await, "done", "{refused}");
    assert_paired(&harness.entries().await);
    assert_eq!(harness.writes().await.len(), 2);
    let request = json!({ "operations": [
        { "operation": "update_remote", "params": { "a": 1 } },
        { "operation": "get_item", "params": {} },
        { "operation": "run_job", "params": { "then": "fail" } },
    ] });
    let receiver = aquifer_protocol::surface::Receiver::Unified;
    harness.engine.handle(&receiver, request.as_object().unwrap().clone(), crate::harness::anna()).await;
    assert_paired(&harness.entries().await);
    assert_eq!(harness.writes().await.len(), 6, "{:#?}", harness.writes().await);
}

/// While the audit is required and cannot be written, nothing is changed. Reads continue, and writes do so when the
/// cause is over.
#[tokio::test]
async fn r_saf_5_writes_are_refused_while_the_audit_fails() {
    for required in [true, false] {
        let all = json!({ "policy": { "rule": [{ "effect": "allow", "source": "scripted", "loosen": true }] } });
        let harness = AuditHarness::with(&all, |settings| settings.required = required);
        assert_eq!(harness.code("create_item", json!({})).await, "done");
        harness.store.set_mode(StoreMode::Down);
        // The first write does not wait, because the failure is not known yet; its entries make it known.
        harness.code("create_item", json!({})).await;
        eventually("the failure is known", async || harness.audit.is_failing()).await;
        harness.source.started.lock().clear();
        let expected = if required { "INTERNAL_ERROR" } else { "done" };
        for operation in ["create_item", "update_remote", "run_job", "delete_item", "peek_item"] {
            assert_eq!(harness.code(operation, json!({})).await, expected, "{operation}");
        }
        assert_eq!(harness.source.started.lock().is_empty(), required);
        assert_eq!(harness.code("get_item", json!({})).await, "done");
        assert_eq!(harness.code("create_item", json!({ "dry_run": true })).await, "done");
        harness.store.set_mode(StoreMode::Well);
        assert_eq!(harness.code("create_item", json!({})).await, "done");
        assert!(!harness.audit.is_failing());
        assert!(verify_directory(&harness.folder.0, &harness.store.inner).await.is_intact());
    }
}

/// A full queue cannot take an intent, so the write is refused before it runs.
#[tokio::test]
async fn r_saf_5_writes_are_refused_when_the_queue_is_full() {
    let all = json!({ "policy": { "rule": [{ "effect": "allow", "source": "scripted", "loosen": true }] } });
    let harness = AuditHarness::with(&all, |settings| {
        settings.queue = 1;
        settings.timeout = Duration::from_millis(500);
    });
    harness.store.set_mode(StoreMode::Silent);
    // The writer waits for the store with one entry; the next one fills the queue sooner or later.
    let mut codes = Vec::new();
    for _ in 0..10 {
        codes.push(harness.code("create_item", json!({})).await);
    }
    assert_eq!(codes.last().unwrap(), "INTERNAL_ERROR", "{codes:?}");
    let ran = codes.iter().filter(|code| *code == "done").count();
    assert_eq!(harness.source.started.lock().len(), ran, "{codes:?}");
    assert_eq!(harness.code("get_item", json!({})).await, "done");
    harness.store.set_mode(StoreMode::Well);
}
