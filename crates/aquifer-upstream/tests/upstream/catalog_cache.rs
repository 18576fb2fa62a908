//! Catalogs: cached, live, reviewed and changed.

use serde_json::json;

use crate::support::{Folder, Gateway, fake, until};

#[tokio::test]
async fn a_cached_catalog_is_served_at_once_and_refreshed_in_the_background() {
    let folder = Folder::new();
    let mut settings = fake(&[]);
    settings.cache_dir = Some(folder.0.clone());
    let first = Gateway::new(settings.clone());
    assert_eq!(first.operations(), ["upstream_status"], "nothing is known yet");
    first.upstream.ready().await.unwrap();
    crate::support::until_cached(&folder.0).await;
    drop(first);
    let second = Gateway::new(settings.clone());
    assert!(second.operations().contains(&"echo".to_owned()));
    until("it is asked", async || second.upstream.is_connected()).await;
    assert_eq!(second.get("echo", json!({ "text": "x" })).await["text"], "x");
    drop(second);
    // An invalid file is ignored.
    for path in std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()) {
        std::fs::write(path, "{").unwrap();
    }
    let third = Gateway::ready(settings).await;
    assert!(third.operations().contains(&"echo".to_owned()));
}

#[tokio::test]
async fn a_cached_catalog_says_that_its_server_is_unavailable() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    let mut settings = fake(&["--exit-while", &broken]);
    settings.cache_dir = Some(folder.0.join("cache"));
    drop(Gateway::ready(settings.clone()).await);
    crate::support::until_cached(&folder.0.join("cache")).await;
    std::fs::write(&broken, "").unwrap();
    let gateway = Gateway::new(settings);
    gateway.refused("echo", json!({}), "UPSTREAM_UNAVAILABLE").await;
    gateway.refresh();
    assert!(gateway.operations().contains(&"upstream_status".to_owned()));
    assert!(gateway.operations().contains(&"echo".to_owned()));
    std::fs::remove_file(&broken).unwrap();
    until("it is there", async || gateway.ask("echo", json!({})).await["success"] == true).await;
    assert!(!gateway.operations().contains(&"upstream_status".to_owned()));
}

#[tokio::test]
async fn r_dis_8_results_are_shaped() {
    let folder = Folder::new();
    let mut settings = fake(&[]);
    settings.cache_dir = Some(folder.0.clone());
    let whole = json!({ "nested": { "a": 1, "b": 2 }, "text": "x" });
    let first = Gateway::ready(settings.clone()).await;
    assert_eq!(first.get("echo", whole.clone()).await, whole);
    drop(first);
    // The first result was an object, so that its fields can be selected from the next start on.
    let gateway = Gateway::ready(settings).await;
    let sent = json!({ "nested": { "a": 1, "b": 2 }, "text": "x", "fields": ["text", "nested.a"] });
    assert_eq!(gateway.get("echo", sent).await, json!({ "text": "x", "nested": { "a": 1 } }));
}
