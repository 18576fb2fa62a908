//! The catalogue: cached, live, reviewed, changed.

use serde_json::json;

use crate::support::{Folder, Stage, fake, until};

#[tokio::test]
async fn a_cached_catalogue_is_there_at_once_and_the_server_is_asked_in_the_background() {
    let folder = Folder::new();
    let mut settings = fake(&[]);
    settings.cache_dir = Some(folder.0.clone());
    let first = Stage::new(settings.clone());
    assert_eq!(first.operations(), ["upstream_status"], "nothing is known yet");
    first.upstream.ready().await.unwrap();
    crate::support::until_cached(&folder.0).await;
    drop(first);
    let second = Stage::new(settings.clone());
    assert!(second.operations().contains(&"echo".to_owned()));
    until("it is asked", async || second.upstream.is_up()).await;
    assert_eq!(second.get("echo", json!({ "text": "x" })).await["text"], "x");
    drop(second);
    // A file that is none is as good as no file.
    for path in std::fs::read_dir(&folder.0).unwrap().map(|entry| entry.unwrap().path()) {
        std::fs::write(path, "{").unwrap();
    }
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
    crate::support::until_cached(&folder.0.join("cache")).await;
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
async fn r_dis_8_results_are_shaped() {
    let stage = Stage::up(fake(&[])).await;
    let sent = json!({ "nested": { "a": 1, "b": 2 }, "text": "x", "fields": ["text", "nested.a"] });
    assert_eq!(stage.get("echo", sent).await, json!({ "text": "x", "nested": { "a": 1 } }));
}
