//! What is cached is served at once and never for longer than it takes to ask.

use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_engine::Source as _;
use aquifer_engine::source::CatalogState;
use futures::FutureExt;
use serde_json::{Value, json};

use crate::definitions::{Scripted, SharedStore, WAYS, reader};
use crate::support::{Folder, Served, Stage, fake, until};

async fn source(stage: &Stage) -> Value {
    stage.get("introspect", json!({ "query": "summary" })).await["summary"]["sources"][0].clone()
}

#[tokio::test]
async fn a_server_that_nobody_calls_is_asked_all_the_same() {
    for way in WAYS {
        let unsure = json!({ "name": "frobnicate", "description": "Frobnicate.", "inputSchema": { "type": "object" } });
        let server = Scripted::new(way, &json!([unsure]));
        let store = SharedStore::new();
        drop(Stage::pinned_up(server.settings(), &store).await);
        server.cached(".json", "Frobnicate.").await;
        // It gains a tool while it is not served.
        server.list(&json!([unsure, reader("get_it", "Get it.")]));
        let stage = Stage::pinned(server.settings(), &store).await;
        assert_eq!(stage.operations(), ["frobnicate"], "{way:?}: there at once");
        until("the new tool is there", async || {
            stage.refresh();
            stage.operations() == ["frobnicate", "get_it"]
        })
        .await;
        assert!(server.called().is_empty(), "{way:?}: nobody called anything");
        let told = source(&stage).await;
        assert_eq!((&told["name"], &told["status"], &told["quarantined"]), (&json!("fake"), &json!("live"), &json!(0)));
        assert!(told["catalog_age_seconds"].is_u64(), "{told}");
    }
}

#[tokio::test]
async fn a_catalog_says_where_it_comes_from_and_how_old_it_is() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    let mut settings = fake(&["--exit-while", &broken]);
    settings.cache_dir = Some(folder.0.join("cache"));
    std::fs::write(&broken, "").unwrap();
    let store = SharedStore::new();
    // Nothing is known of it.
    let stage = Stage::pinned(settings.clone(), &store).await;
    assert_eq!(stage.upstream.status().state, CatalogState::Unavailable);
    assert_eq!(stage.upstream.status().catalog_age, None);
    std::fs::remove_file(&broken).unwrap();
    until("it is asked again and again", async || stage.upstream.is_up()).await;
    assert_eq!(stage.upstream.status().state, CatalogState::Live);
    crate::support::until_cached(&folder.0.join("cache")).await;
    drop(stage);
    std::fs::write(&broken, "").unwrap();
    let stage = Stage::pinned(settings, &store).await;
    let age = stage.upstream.status().catalog_age.unwrap();
    assert!(age.as_secs() < 3_600, "{age:?}");
    // It is asked without anybody wanting it, and found to be away.
    until("it is known to be away", async || stage.upstream.status().state == CatalogState::Unavailable).await;
    stage.refresh();
    let told = source(&stage).await;
    assert_eq!(told["status"], "unavailable", "{told}");
    let one = json!({ "query": "operations", "name": "echo", "fields": "full" });
    let one = stage.get("introspect", one).await;
    assert_eq!(one["operation"]["source_status"]["status"], "unavailable", "{one}");
    let all = stage.get("introspect", json!({ "query": "operations", "fields": "full", "first": 3 })).await;
    assert_eq!(all["operations"][0]["source_status"], "unavailable", "{all}");
    // And again and again until it is there.
    std::fs::remove_file(&broken).unwrap();
    until("it is there", async || stage.upstream.status().state == CatalogState::Live).await;
    stage.refresh();
    assert_eq!(source(&stage).await["status"], "live");
    // A connection that ends leaves what it said.
    stage.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
    until("the connection has ended", async || !stage.upstream.is_up()).await;
    assert_eq!(stage.upstream.status().state, CatalogState::Cached);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_servers_are_asked_and_none_waits_for_one_that_hangs() {
    let server = Served::start(0, &[]);
    let folder = Folder::new();
    let store = SharedStore::new();
    let named = |number: usize, flags: &[&str]| {
        let mut settings = if flags.is_empty() { server.settings() } else { fake(flags) };
        settings.name = format!("server{number}");
        settings.cache_dir = Some(folder.0.clone());
        settings
    };
    for number in 0..6 {
        drop(Stage::pinned_up(named(number, &[]), &store).await);
    }
    until("the caches are written", async || std::fs::read_dir(&folder.0).unwrap().count() == 12).await;
    // Three that never answer stand in front. Their definitions are not known, so they get no turn either way.
    let mut stages = Vec::new();
    for number in 10..13 {
        stages.push(Stage::pinned(named(number, &["--mute"]), &store).await);
    }
    for number in 0..6 {
        let stage = Stage::pinned(named(number, &[]), &store).await;
        assert!(stage.operations().contains(&"echo".to_owned()), "there at once");
        stages.push(stage);
    }
    for stage in stages.iter().skip(3) {
        until("it is asked", async || stage.upstream.is_up()).await;
    }
}

/// A changed list has arrived and is not judged yet: calls wait for that.
#[tokio::test]
async fn r_dis_7a_no_call_runs_while_a_changed_definition_is_judged() {
    for way in WAYS {
        let server = Scripted::new(way, &json!([reader("get_it", "Get it.")]));
        let store = SharedStore::new();
        drop(Stage::pinned_up(server.settings(), &store).await);
        let stage = Stage::pinned_up(server.settings(), &store).await;
        stage.get("get_it", json!({})).await;
        store.hangs_reading.store(true, Ordering::SeqCst);
        server.list(&json!([reader("get_it", "Something else.")]));
        until("the changed list is judged", async || store.hung.load(Ordering::SeqCst) > 0).await;
        // Judging goes on with what was read before, once the store has had its time.
        stage.refused("get_it", json!({}), "PERMISSION_DENIED").await;
        assert_eq!(server.called(), ["get_it"], "{way:?}");
    }
}

/// A call that waits for its turn is judged again when that comes.
#[tokio::test]
async fn r_dis_7a_no_call_runs_by_a_definition_that_changed_while_it_waited_for_its_turn() {
    for way in WAYS {
        let tools = |words: &str| json!([reader("get_it", words), reader("get_later", "Get it later.")]);
        let server = Scripted::new(way, &tools("Get it."));
        let store = SharedStore::new();
        let mut settings = server.settings();
        settings.concurrency = 1;
        let stage = Stage::pinned_up(settings, &store).await;
        let change = async {
            until("the first call is under way", async || server.called() == ["get_later"]).await;
            // Long enough to be in the queue. If it is not, it is refused all the same.
            tokio::time::sleep(Duration::from_millis(100)).await;
            server.list(&tools("Something else."));
            until("the change is noticed", async || stage.upstream.quarantined().len() == 1).await;
            std::fs::write(server.folder.file("tools.json.release"), "").unwrap();
        };
        let second = async {
            until("the first call is under way", async || server.called() == ["get_later"]).await;
            stage.refused("get_it", json!({}), "PERMISSION_DENIED").await;
        };
        let (first, (), ()) = tokio::join!(stage.get("get_later", json!({})), second, change);
        assert_eq!(first["tool"], "get_later");
        assert_eq!(server.called(), ["get_later"], "{way:?}");
    }
}

/// A server that announces other tools and never lists them costs its callers one wait, not one each time.
#[tokio::test]
async fn r_dis_7_nobody_waits_twice_for_a_list_that_does_not_come() {
    let stage = Stage::up(fake(&["--lists-once"])).await;
    let upstream = stage.upstream.clone();
    stage.get("change", json!({})).await;
    until("the announcement is there", async || upstream.check_for_changes().now_or_never().is_none()).await;
    upstream.check_for_changes().await;
    for _ in 0..3 {
        assert!(upstream.check_for_changes().now_or_never().is_some(), "it was late before");
        assert!(upstream.confirm_catalog().now_or_never().is_some());
    }
}

#[tokio::test]
async fn r_dis_7_a_server_that_was_late_is_waited_for_once_it_has_listed() {
    let folder = Folder::new();
    let lists = folder.file("lists");
    let stage = Stage::up(fake(&["--lists-if", &lists])).await;
    let upstream = stage.upstream.clone();
    stage.get("change", json!({})).await;
    until("the announcement is there", async || upstream.check_for_changes().now_or_never().is_none()).await;
    upstream.check_for_changes().await;
    std::fs::write(&lists, "").unwrap();
    until("the tools are listed", async || {
        stage.refresh();
        stage.operations().contains(&"added".to_owned())
    })
    .await;
    std::fs::remove_file(&lists).unwrap();
    stage.get("change", json!({})).await;
    until("it is waited for again", async || upstream.check_for_changes().now_or_never().is_none()).await;
}

/// The change that is announced last is found, however many were announced before.
#[tokio::test]
async fn r_dis_7a_the_last_announcement_is_never_swallowed() {
    // The first list is that of the start, five more are asked for in a row.
    for changed_at in [2, 6, 7] {
        let stage = Stage::up(fake(&["--restless", &changed_at.to_string()])).await;
        stage.upstream.reload().await.unwrap();
        until("the changed tool waits for a person", async || {
            stage.upstream.quarantined().iter().any(|operation| **operation == *"echo")
        })
        .await;
    }
}
