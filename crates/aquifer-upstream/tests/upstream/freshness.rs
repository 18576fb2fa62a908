//! A cached catalog is served at once and refreshed in the background.

use std::sync::atomic::Ordering;

use aquifer_engine::source::{CatalogState, LiveSource as _};
use futures::FutureExt;
use serde_json::{Value, json};

use crate::definitions::{ScriptedServer, SharedStore, TRANSPORTS, reader};
use crate::support::{Folder, Gateway, HttpServer, fake, until};

async fn source(gateway: &Gateway) -> Value {
    gateway.get("introspect", json!({ "query": "summary" })).await["summary"]["sources"][0].clone()
}

#[tokio::test]
async fn a_server_without_calls_is_still_listed() {
    for transport in TRANSPORTS {
        let unsure = json!({ "name": "frobnicate", "description": "Frobnicate.", "inputSchema": { "type": "object" } });
        let server = ScriptedServer::new(transport, &json!([unsure]));
        let store = SharedStore::new();
        drop(Gateway::pinned_and_ready(server.settings(), &store).await);
        server.cached(".json", "Frobnicate.").await;
        // It gains a tool while it is not served.
        server.list(&json!([unsure, reader("get_it", "Get it.")]));
        let gateway = Gateway::pinned(server.settings(), &store).await;
        assert_eq!(gateway.operations(), ["frobnicate"], "{transport:?}: there at once");
        until("the new tool is there", async || {
            gateway.refresh();
            gateway.operations() == ["frobnicate", "get_it"]
        })
        .await;
        assert!(server.called().is_empty(), "{transport:?}: nobody called anything");
        let summary = source(&gateway).await;
        assert_eq!(
            (&summary["name"], &summary["status"], &summary["quarantined"]),
            (&json!("fake"), &json!("live"), &json!(0))
        );
        assert!(summary["catalog_age_seconds"].is_u64(), "{summary}");
    }
}

#[tokio::test]
async fn a_catalog_reports_its_origin_and_age() {
    let folder = Folder::new();
    let broken = folder.file("broken");
    let mut settings = fake(&["--exit-while", &broken]);
    settings.cache_dir = Some(folder.0.join("cache"));
    std::fs::write(&broken, "").unwrap();
    let store = SharedStore::new();
    // Nothing is known about it.
    let gateway = Gateway::pinned(settings.clone(), &store).await;
    assert_ne!(gateway.upstream.status().state, CatalogState::Live);
    until("its start has failed", async || gateway.upstream.status().state == CatalogState::Unavailable).await;
    assert_eq!(gateway.upstream.status().catalog_age, None);
    std::fs::remove_file(&broken).unwrap();
    until("it is asked again and again", async || gateway.upstream.is_connected()).await;
    assert_eq!(gateway.upstream.status().state, CatalogState::Live);
    crate::support::until_cached(&folder.0.join("cache")).await;
    drop(gateway);
    std::fs::write(&broken, "").unwrap();
    let gateway = Gateway::pinned(settings, &store).await;
    assert!(gateway.upstream.status().catalog_age.is_some());
    // It is contacted without a call and found to be unavailable.
    until("it is known to be away", async || gateway.upstream.status().state == CatalogState::Unavailable).await;
    gateway.refresh();
    let summary = source(&gateway).await;
    assert_eq!(summary["status"], "unavailable", "{summary}");
    let one = json!({ "query": "operations", "name": "echo", "fields": "full" });
    let one = gateway.get("introspect", one).await;
    assert_eq!(one["operation"]["source_status"]["status"], "unavailable", "{one}");
    let all = gateway.get("introspect", json!({ "query": "operations", "fields": "full", "first": 3 })).await;
    assert_eq!(all["operations"][0]["source_status"], "unavailable", "{all}");
    // It is contacted repeatedly until it is available.
    std::fs::remove_file(&broken).unwrap();
    until("it is there", async || gateway.upstream.status().state == CatalogState::Live).await;
    gateway.refresh();
    assert_eq!(source(&gateway).await["status"], "live");
    // After the connection has ended, its catalog is still served.
    gateway.refused("die", json!({}), "UPSTREAM_UNAVAILABLE").await;
    until("the connection has ended", async || !gateway.upstream.is_connected()).await;
    assert_eq!(gateway.upstream.status().state, CatalogState::Cached);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hanging_server_does_not_delay_others() {
    let server = HttpServer::start(0, &[]);
    let folder = Folder::new();
    let store = SharedStore::new();
    let named = |number: usize, flags: &[&str]| {
        let mut settings = if flags.is_empty() { server.settings() } else { fake(flags) };
        settings.name = format!("server{number}");
        settings.cache_dir = Some(folder.0.clone());
        settings
    };
    for number in 0..6 {
        drop(Gateway::pinned_and_ready(named(number, &[]), &store).await);
    }
    until("the caches are written", async || std::fs::read_dir(&folder.0).unwrap().count() == 12).await;
    // Three servers that never answer come first. Their definitions are unknown, so they do not block the others.
    let mut gateways = Vec::new();
    for number in 10..13 {
        gateways.push(Gateway::pinned(named(number, &["--mute"]), &store).await);
    }
    for number in 0..6 {
        let gateway = Gateway::pinned(named(number, &[]), &store).await;
        assert!(gateway.operations().contains(&"echo".to_owned()), "there at once");
        gateways.push(gateway);
    }
    for gateway in gateways.iter().skip(3) {
        until("it is asked", async || gateway.upstream.is_connected()).await;
    }
}

/// A changed list has arrived and is not compared yet. Calls wait for that.
#[tokio::test]
async fn r_dis_7a_no_call_runs_while_a_changed_definition_is_compared() {
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &json!([reader("get_it", "Get it.")]));
        let store = SharedStore::new();
        drop(Gateway::pinned_and_ready(server.settings(), &store).await);
        let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
        gateway.get("get_it", json!({})).await;
        store.hangs_reading.store(true, Ordering::SeqCst);
        server.list(&json!([reader("get_it", "Something else.")]));
        until("the changed list is judged", async || store.hung.load(Ordering::SeqCst) > 0).await;
        // The comparison continues with the last known pins after the store has timed out.
        gateway.refused("get_it", json!({}), "PERMISSION_DENIED").await;
        assert_eq!(server.called(), ["get_it"], "{transport:?}");
    }
}

/// A queued call is checked again when it gets its permit.
#[tokio::test]
async fn r_dis_7a_a_call_does_not_run_if_its_definition_changed_while_it_was_queued() {
    for transport in TRANSPORTS {
        let tools = |words: &str| json!([reader("get_it", words), reader("get_later", "Get it later.")]);
        let server = ScriptedServer::new(transport, &tools("Get it."));
        let store = SharedStore::new();
        let mut settings = server.settings();
        settings.concurrency = 1;
        let gateway = Gateway::pinned_and_ready(settings, &store).await;
        let rest = async {
            until("the first call is under way", async || server.called() == ["get_later"]).await;
            let mut second = std::pin::pin!(gateway.refused("get_it", json!({}), "PERMISSION_DENIED"));
            // Nothing but the permit is missing, so the call is queued when it has been polled once.
            assert!(second.as_mut().now_or_never().is_none(), "the second call does not wait");
            server.list(&tools("Something else."));
            until("the change is noticed", async || gateway.upstream.quarantined().len() == 1).await;
            std::fs::write(server.folder.file("tools.json.release"), "").unwrap();
            second.await
        };
        let (first, _) = tokio::join!(gateway.get("get_later", json!({})), rest);
        assert_eq!(first["tool"], "get_later");
        assert_eq!(server.called(), ["get_later"], "{transport:?}");
    }
}

/// A server that announces changed tools and never lists them delays only the first caller.
#[tokio::test]
async fn r_dis_7_only_the_first_caller_waits_for_a_missing_list() {
    let gateway = Gateway::ready(fake(&["--lists-once"])).await;
    let upstream = gateway.upstream.clone();
    gateway.get("change", json!({})).await;
    until("the announcement is there", async || upstream.check_for_changes().now_or_never().is_none()).await;
    upstream.check_for_changes().await;
    for _ in 0..3 {
        assert!(upstream.check_for_changes().now_or_never().is_some(), "it was late before");
        assert!(upstream.confirm_catalog().now_or_never().is_some());
    }
}

#[tokio::test]
async fn r_dis_7_a_late_server_is_waited_for_again_after_it_has_listed() {
    let folder = Folder::new();
    let lists = folder.file("lists");
    let gateway = Gateway::ready(fake(&["--lists-if", &lists])).await;
    let upstream = gateway.upstream.clone();
    gateway.get("change", json!({})).await;
    until("the announcement is there", async || upstream.check_for_changes().now_or_never().is_none()).await;
    upstream.check_for_changes().await;
    std::fs::write(&lists, "").unwrap();
    until("the tools are listed", async || {
        gateway.refresh();
        gateway.operations().contains(&"added".to_owned())
    })
    .await;
    std::fs::remove_file(&lists).unwrap();
    gateway.get("change", json!({})).await;
    until("it is waited for again", async || upstream.check_for_changes().now_or_never().is_none()).await;
}

/// The last announced change is found, however many were announced before.
#[tokio::test]
async fn r_dis_7a_the_last_list_changed_notification_is_never_lost() {
    // The first list belongs to the start; five more follow in a row.
    for changed_at in [2, 6, 7] {
        let gateway = Gateway::ready(fake(&["--restless", &changed_at.to_string()])).await;
        gateway.upstream.reload().await.unwrap();
        until("the changed tool waits for a person", async || {
            gateway.upstream.quarantined().iter().any(|operation| **operation == *"echo")
        })
        .await;
    }
}
