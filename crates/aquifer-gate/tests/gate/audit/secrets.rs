//! No credential of a known format is written to the audit or the state store, wherever it is in a call.

use std::time::Duration;

use aquifer_engine::store::StateStore as _;
use aquifer_gate::audit::Sink;
use serde_json::{Map, Value, json};

use super::harness::AuditHarness;
use super::support::*;
use crate::harness::{caller, code};

/// A description, the text, and the credential in it.
fn credentials() -> Vec<(&'static str, String, String)> {
    let table = include_str!("../../../../aquifer-protocol/tests/data/credentials.txt");
    let read = |line: &'static str| {
        let (kind, text) = line.split_once('\t').unwrap();
        let marked = text.replacen('~', "", 1).replace("\\n", "\n");
        let (before, rest) = marked.split_once('«').unwrap();
        let (secret, after) = rest.split_once('»').unwrap();
        (kind, format!("{before}{secret}{after}"), secret.to_owned())
    };
    table.lines().filter(|line| !line.starts_with('#')).map(read).collect()
}

/// Calls that contain the text: as a value, nested, inside other text, inside JSON in text, in lists, and as a name.
fn calls(text: &str) -> Vec<Value> {
    let named = |value: Value| Value::Object(Map::from_iter([(text.to_owned(), value)]));
    vec![
        json!({ "a": text }),
        json!({ "a": { "deep": [{ "deeper": { "deepest": text } }] } }),
        json!({ "a": format!("please note: {text}\nand go on") }),
        json!({ "a": json!({ "note": [text] }).to_string() }),
        json!({ "a": [text, [text]] }),
        json!({ "a": [{ "name": "note", "value": text }] }),
        json!({ "a": named(json!(1)) }),
        json!({ "a": named(json!(null)) }),
        json!({ "a": [named(json!({ "b": null }))] }),
        named(json!("x")),
        named(json!(null)),
    ]
}

#[tokio::test]
async fn r_saf_5_no_credential_reaches_the_audit_or_the_store() {
    let settings = json!({ "policy": { "rule": [
        { "effect": "deny", "operation": "run_job" },
        { "effect": "confirm", "strength": "token", "operation": "update_remote" },
    ] } });
    let harness = AuditHarness::with(&settings, |settings| {
        settings.sinks.push(Sink::Store { keep: Duration::from_secs(3600) });
        for sink in &mut settings.sinks {
            if let Sink::File { size, .. } = sink {
                *size = 64 << 20;
            }
        }
    });
    let credentials = credentials();
    assert!(credentials.len() >= 60, "{}", credentials.len());
    let mut recorded = 0;
    for (number, (kind, text, _)) in credentials.iter().enumerate() {
        // Confirmations are limited per caller.
        let who = || caller(Some(&format!("anna {number}")), Some(&format!("session {number}")));
        let calls = calls(text);
        let turn = number % calls.len();
        for (position, params) in calls.into_iter().enumerate() {
            // Allowed and recorded.
            let answer = harness.ask_as("create_remote", params.clone(), who()).await;
            assert_eq!(code(&answer), "done", "{kind} {params}");
            recorded += 1;
            if position != turn {
                continue;
            }
            // Denied, and confirmed: one of each.
            let answer = harness.ask_as("run_job", params.clone(), who()).await;
            assert_eq!(code(&answer), "PERMISSION_DENIED", "{kind} {params}");
            let asked = harness.ask_as("update_remote", params.clone(), who()).await;
            let mut confirmed = params.clone();
            confirmed["confirmation_token"] = asked["error"]["details"]["confirmation_token"].clone();
            let answer = harness.ask_as("update_remote", confirmed, who()).await;
            assert_eq!(code(&answer), "done", "{kind} {params}: {asked}");
            recorded += 1;
        }
    }
    let entries = harness.entries().await;
    let intents = entries.iter().filter(|entry| entry["event"] == "OPERATION_INTENT").count();
    assert_eq!(intents, recorded);
    let files: String = listed(&harness.folder.0).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let records = harness.store.list("", 100_000).await.unwrap();
    assert!(records.iter().any(|(key, _)| key.starts_with("audit/line/")), "the store has the lines, too");
    let store: Vec<u8> =
        records.into_iter().flat_map(|(key, record)| [key.into_bytes(), record.value]).flatten().collect();
    let store = String::from_utf8_lossy(&store);
    for (kind, _, secret) in &credentials {
        // As it is, and as JSON escapes it.
        let escaped = serde_json::to_string(secret).unwrap();
        for form in [secret.as_str(), escaped.trim_matches('"')] {
            let twice = serde_json::to_string(form).unwrap();
            for form in [form, twice.trim_matches('"')] {
                let place = |text: &str| text.find(form).map(|found| context(text, found));
                assert_eq!(place(&files), None, "{kind}: in the files");
                assert_eq!(place(&store), None, "{kind}: in the store");
            }
        }
    }
}

/// The text before a finding.
fn context(text: &str, found: usize) -> String {
    let before: Vec<char> = text[..found].chars().rev().take(300).collect();
    before.into_iter().rev().collect()
}
