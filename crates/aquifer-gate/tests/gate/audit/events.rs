//! Every documented event appears in a real audit, and no other event does.

use std::collections::BTreeSet;

use aquifer_gate::audit::{AuditSettings, Sink};
use serde_json::{Value, json};

use super::harness::AuditHarness;
use super::support::*;
use crate::harness::{anna, answering, with_person};

/// The events in the table of docs/audit.md.
fn documented() -> BTreeSet<String> {
    let page = include_str!("../../../../../docs/audit.md");
    let rows = page.lines().filter(|line| line.starts_with("| `")).filter_map(|line| line.split('|').nth(1));
    let names = rows.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    let is_event =
        |name: &String| name != "event" && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    names.filter(is_event).collect()
}

fn token(answer: &Value, name: &str) -> Value {
    let token = &answer["error"]["details"][name];
    assert!(token.is_string(), "{answer}");
    token.clone()
}

/// Makes the gate take every kind of decision once.
async fn all_decisions(harness: &AuditHarness) {
    // Policy denies it.
    assert_eq!(harness.code("run_job", json!({})).await, "PERMISSION_DENIED");
    // Confirmed with a token; an invalid token.
    let asked = harness.ask("update_remote", json!({})).await;
    let confirmation = token(&asked, "confirmation_token");
    assert_eq!(harness.code("update_remote", json!({ "confirmation_token": "conf_none" })).await, "TOKEN_INVALID");
    assert_eq!(harness.code("update_remote", json!({ "confirmation_token": confirmation })).await, "done");
    // The user declines.
    let request = json!({ "operation": "create_remote", "params": {} }).as_object().unwrap().clone();
    let receiver = aquifer_protocol::surface::Receiver::Unified;
    let aquifer_engine::Reply::NeedsInput(question) =
        harness.engine.handle(&receiver, request, with_person(anna())).await
    else {
        panic!("nobody was asked");
    };
    let no = answering(with_person(anna()), &question.key, "decline");
    harness.ask_as("create_remote", json!({}), no).await;
    // Destructive, and allowed without confirmation.
    assert_eq!(harness.code("delete_item", json!({})).await, "done");
    // A quota warns, pauses, continues and is exhausted.
    for _ in 0..2 {
        assert_eq!(harness.code("get_item", json!({})).await, "done");
    }
    let paused = harness.ask("get_item", json!({})).await;
    let goes_on = json!({ "_quota_continue": token(&paused, "confirmation_token") });
    assert_eq!(harness.code("get_item", goes_on).await, "done", "{paused}");
    assert_eq!(harness.code("get_item", json!({})).await, "RATE_LIMIT_QUOTA_EXHAUSTED");
    // A flood of refusals.
    for _ in 0..200 {
        harness.ask("run_job", json!({})).await;
    }
}

#[tokio::test]
async fn r_saf_5_documented_events_are_emitted_and_emitted_events_are_documented() {
    let settings = json!({
        "policy": { "rule": [
            { "effect": "deny", "operation": "run_job" },
            { "effect": "confirm", "strength": "token", "operation": "update_remote" },
            { "effect": "confirm", "strength": "elicit", "operation": "create_remote" },
            { "effect": "allow", "operation": "delete_item", "loosen": true },
        ] },
        "quota": { "quota": [
            { "metric": "requests_per_hour", "warn": 1, "pause": 2, "hard_stop": 3, "operation": "get_item" },
        ] },
    });
    let harness = AuditHarness::with(&settings, |_| {});
    all_decisions(&harness).await;
    let mut emitted: BTreeSet<String> = harness.entries().await.iter().map(|entry| word(entry, "event")).collect();
    emitted.insert("CHAIN_STARTED".to_owned());
    let warned: Vec<_> = harness.entries().await.into_iter().filter(|entry| entry["event"] == "QUOTA_WARNED").collect();
    assert_eq!(warned.len(), 1, "once, when the threshold is reached: {warned:?}");
    assert_eq!(warned[0]["quota"], json!({ "name": "requests_per_hour", "used": 1, "most": 1 }));

    // Small files, so that the chain continues and old files are dropped.
    let harness = AuditHarness::with(&settings, |settings| {
        settings.sinks = vec![Sink::File { directory: directory_of(settings), size: 4_000, keep: 2 }];
    });
    for _ in 0..30 {
        harness.ask("create_item", json!({})).await;
        harness.audit.flush().await.unwrap();
    }
    emitted.extend(events(&harness.folder.0));

    // Written by commands and covered by the binary's tests: approvals.rs and quarantine.rs.
    let by_commands = [
        "APPROVAL_GRANTED",
        "CHANGES_RESUMED",
        "DESTINATION_FORGOTTEN",
        "DEFINITION_QUARANTINED",
        "DEFINITION_ACCEPTED",
    ];
    // Written by the explorer and covered by the tests of its operator.
    let by_explorer = ["DEFINITION_REJECTED", "TOOL_CLASSIFIED", "RULES_CHANGED"];
    emitted.extend(by_explorer.map(str::to_owned));
    emitted.extend(by_commands.map(str::to_owned));
    assert_eq!(emitted, documented());
}

fn word(entry: &Value, name: &str) -> String {
    entry[name].as_str().unwrap().to_owned()
}

fn directory_of(settings: &AuditSettings) -> std::path::PathBuf {
    match &settings.sinks[0] {
        Sink::File { directory, .. } => directory.clone(),
        other => panic!("{other:?}"),
    }
}
