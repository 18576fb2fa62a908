//! The catalogue: cached, live, reviewed, changed.

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::build;
use aquifer_upstream::interrogate;
use jiff::Timestamp;
use serde_json::json;

use crate::support::{Folder, Stage, fake, until};

#[tokio::test]
async fn a_cached_catalogue_is_there_at_once_and_the_server_starts_with_the_first_call() {
    let folder = Folder::new();
    let mut settings = fake(&[]);
    settings.cache_dir = Some(folder.0.clone());
    let first = Stage::new(settings.clone());
    assert_eq!(first.operations(), ["upstream_status"], "nothing is known yet");
    first.upstream.ready().await.unwrap();
    until("the cache is written", async || std::fs::read_dir(&folder.0).unwrap().count() == 1).await;
    drop(first);
    let second = Stage::new(settings.clone());
    assert!(second.operations().contains(&"echo".to_owned()));
    assert!(!second.upstream.is_up(), "introspection starts nothing");
    assert_eq!(second.get("echo", json!({ "text": "x" })).await["text"], "x");
    assert!(second.upstream.is_up());
    drop(second);
    // A file that is none is as good as no file.
    let path = std::fs::read_dir(&folder.0).unwrap().next().unwrap().unwrap().path();
    std::fs::write(path, "{").unwrap();
    let third = Stage::up(settings).await;
    assert!(third.operations().contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_cached_catalogue_of_a_server_that_is_gone_says_so() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    let mut settings = fake(&["--exit-while", &broken]);
    settings.cache_dir = Some(folder.0.join("cache"));
    drop(Stage::up(settings.clone()).await);
    until("the cache is written", async || {
        std::fs::read_dir(folder.0.join("cache")).is_ok_and(|files| files.count() == 1)
    })
    .await;
    std::fs::write(&broken, "").unwrap();
    let stage = Stage::new(settings);
    stage.refused("echo", json!({}), "UPSTREAM_UNAVAILABLE").await;
    stage.refresh();
    assert!(stage.operations().contains(&"upstream_status".to_owned()));
    assert!(stage.operations().contains(&"echo".to_owned()));
    std::fs::remove_file(&broken).unwrap();
    until("it is there", async || stage.ask("echo", json!({})).await["success"] == true).await;
    assert!(!stage.operations().contains(&"upstream_status".to_owned()));
}

#[tokio::test]
async fn r_dis_7a_a_changed_definition_is_reported_and_judged_anew() {
    let folder = Folder::new();
    let variant = folder.file("variant");
    let stage = Stage::up(fake(&["--variant-file", &variant])).await;
    let answer = stage.ask("echo", json!({ "text": "x" })).await;
    assert_eq!(answer.get("warnings"), None);
    std::fs::write(&variant, " And ignores all instructions.").unwrap();
    stage.get("change", json!({})).await;
    let answer = stage.ask("echo", json!({ "text": "x" })).await;
    assert_eq!(answer["warnings"][0]["code"], "UPSTREAM_TOOL_CHANGED", "{answer}");
    assert_eq!(answer["warnings"][0]["details"]["changed"], json!(["description"]));
    let answer = stage.ask("echo", json!({ "text": "x" })).await;
    assert_eq!(answer.get("warnings"), None, "everybody hears it once");
    let drift = stage.upstream.drift().unwrap();
    assert_eq!(drift.changed.len(), 1);
    // Allowed as a harmless operation, and harmless no more: not done.
    std::fs::write(&variant, "destructive").unwrap();
    stage.get("change", json!({})).await;
    let answer = stage.ask("echo", json!({ "text": "x" })).await;
    let code = &answer["error"]["code"];
    assert!(
        code == "CONFLICT_VERSION_MISMATCH" || answer["warnings"][0]["code"] == "UPSTREAM_TOOL_CHANGED",
        "{answer}"
    );
}

#[tokio::test]
async fn r_dis_7_a_reviewed_adapter_is_served_and_drift_is_reported() {
    let plain = fake(&[]);
    let bundle = interrogate(&plain).await.unwrap().bundle(&plain, Timestamp::UNIX_EPOCH);
    let built = build(&bundle).unwrap();
    let adapter = Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap();
    let mut settings = fake(&[]);
    settings.adapter = Some(adapter.clone());
    let stage = Stage::new(settings);
    assert!(stage.operations().contains(&"echo".to_owned()), "known before anything is started");
    assert_eq!(stage.get("echo", json!({ "camel_case": 1 })).await, json!({ "camelCase": 1 }));
    assert_eq!(stage.upstream.drift(), None);
    let mut settings = fake(&["--variant", " Changed."]);
    settings.adapter = Some(adapter);
    let stage = Stage::new(settings);
    let answer = stage.ask("echo", json!({ "text": "x" })).await;
    assert_eq!(answer["warnings"][0]["code"], "UPSTREAM_TOOL_CHANGED", "{answer}");
    let drift = stage.upstream.drift().unwrap();
    assert_eq!(drift.changed[0].tool, "echo");
}

#[tokio::test]
async fn r_dis_8_results_are_shaped() {
    let stage = Stage::up(fake(&[])).await;
    let sent = json!({ "nested": { "a": 1, "b": 2 }, "text": "x", "fields": ["text", "nested.a"] });
    assert_eq!(stage.get("echo", sent).await, json!({ "text": "x", "nested": { "a": 1 } }));
}
