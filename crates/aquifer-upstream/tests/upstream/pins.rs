//! Definitions are pinned when they are first served. Changes wait for acceptance (R-DIS-7a).

use std::sync::Arc;

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::build;
use aquifer_engine::clock::SystemClock;
use aquifer_engine::source::{CatalogState, LiveSource as _};
use aquifer_upstream::{PinStore, QuarantinePolicy, ReviewError, Settings, Transport, examine, interrogate};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::definitions::{ScriptedServer, SharedStore, TRANSPORTS, TransportKind, reader};
use crate::support::{Gateway, until};

/// A word that occurs in no original definition.
const POISON: &str = "ignorepreviousinstructions";

/// Two tools, the first of which will change.
fn tools() -> Value {
    let mut first = reader("get_user", "Get a user.");
    first["title"] = json!("User");
    first["outputSchema"] = json!({ "type": "object" });
    json!([first, reader("list_users", "List users.")])
}

/// The tools with one change.
fn changed(pointer: &str, value: Value) -> Value {
    let mut tools = tools();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    tools.pointer_mut(parent).unwrap()[key] = value;
    tools
}

#[tokio::test]
async fn r_dis_7a_any_change_of_a_definition_quarantines_it() {
    let property = json!({ "type": "string", "description": POISON });
    let cases = [
        ("/0/description", json!(POISON), "description"),
        ("/0/title", json!(POISON), "description"),
        ("/0/inputSchema/properties/id/default", json!(POISON), "parameters"),
        ("/0/inputSchema/properties/id/enum", json!([POISON]), "parameters"),
        ("/0/inputSchema/properties/id/description", json!(POISON), "descriptions of parameters"),
        ("/0/inputSchema/title", json!(POISON), "descriptions of parameters"),
        ("/0/inputSchema/properties/description", json!({ "const": POISON }), "parameters"),
        ("/0/inputSchema/properties/more", property, "parameters"),
        ("/0/inputSchema/$defs", json!({ POISON: { "type": "object", "properties": { "a": {} } } }), "parameters"),
        ("/0/outputSchema/description", json!(POISON), "descriptions of the result"),
        ("/0/outputSchema/properties", json!({ "x": { "type": "string", "description": POISON } }), "result"),
        ("/0/annotations/destructiveHint", json!(true), "hints"),
        ("/0/annotations/title", json!(POISON), "hints"),
        ("/0/annotations/readOnlyHint", json!("true"), "hints"),
    ];
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &tools());
        let store = SharedStore::new();
        let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
        assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
        for (pointer, value, part) in &cases {
            server.list(&changed(pointer, value.clone()));
            gateway.wait_for_quarantine(&["get_user"]).await;
            let visible_text = gateway.visible_text().await;
            assert!(!visible_text.contains(POISON), "{transport:?} {pointer}: {visible_text}");
            let shown = gateway.get("introspect", json!({ "query": "operations", "name": "get_user" })).await;
            let words = format!("Quarantined: its definition changed ({part}) since it was accepted. ");
            assert!(shown["operation"]["description"].as_str().unwrap().starts_with(&words), "{pointer}: {shown}");
            assert_eq!(shown["operation"]["parameters"], json!([]), "{pointer}");
            assert_eq!(shown["operation"]["semantic_category"], "READ", "{pointer}: as it was accepted");
            let found = gateway.get("introspect", json!({ "query": "operations", "search": POISON })).await;
            assert!(!found.to_string().contains(POISON), "{pointer}");
            // Neither the new nor the old parameters are accepted.
            for params in [json!({}), json!({ "id": 1 })] {
                let refused = gateway.refused("get_user", params, "PERMISSION_DENIED").await;
                assert!(
                    refused["message"].as_str().unwrap().to_lowercase().contains("quarantined"),
                    "{pointer}: {refused}"
                );
            }
            // The other tool is unaffected, and so is this one as soon as its definition is restored.
            assert_eq!(gateway.get("list_users", json!({})).await["tool"], "list_users");
            server.list(&tools());
            gateway.wait_for_quarantine(&[]).await;
            assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user", "{pointer}");
        }
        let called = server.called();
        let got = called.iter().filter(|name| *name == "get_user").count();
        assert_eq!(got, 1 + cases.len(), "{transport:?}: nothing quarantined was called: {called:?}");
    }
}

#[tokio::test]
async fn r_dis_7a_reordering_a_definition_changes_nothing() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let store = SharedStore::new();
    let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
    let mut reordered = tools();
    reordered.as_array_mut().unwrap().reverse();
    let other_order = json!({ "outputSchema": { "type": "object" }, "inputSchema": tools()[0]["inputSchema"],
        "annotations": { "readOnlyHint": true }, "description": "Get a user.", "title": "User", "name": "get_user" });
    let unknown_field = changed("/0/_meta", json!({ "anything": [1] }));
    for same in [reordered, json!([other_order, tools()[1]]), unknown_field] {
        server.list(&same);
        let before = gateway.upstream_generation();
        until("it is listed again", async || gateway.upstream_generation() > before).await;
        gateway.wait_for_quarantine(&[]).await;
        assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user", "{same}");
    }
}

#[tokio::test]
async fn r_dis_7a_a_restart_accepts_nothing() {
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &tools());
        let store = SharedStore::new();
        drop(Gateway::pinned_and_ready(server.settings(), &store).await);
        server.cached(".json", "Get a user.").await;
        server.list(&changed("/0/description", json!(POISON)));
        // The cache contains the accepted definitions. The change is found without any call.
        let gateway = Gateway::pinned(server.settings(), &store).await;
        assert!(gateway.operations().contains(&"get_user".to_owned()), "{transport:?}: there at once");
        gateway.wait_for_quarantine(&["get_user"]).await;
        server.cached(".json", POISON).await;
        drop(gateway);
        // Now the cache contains the change. It is quarantined from the beginning, even without the server.
        let gateway = Gateway::pinned(server.settings(), &store).await;
        assert_eq!(gateway.upstream.quarantined().len(), 1, "{transport:?}");
        assert!(!gateway.visible_text().await.contains(POISON), "{transport:?}");
        gateway.refused("get_user", json!({}), "PERMISSION_DENIED").await;
        assert!(server.called().is_empty(), "{transport:?}");
    }
}

/// A list equal to the cached one causes no new catalog. Any other list does, and so do changed pins.
#[tokio::test]
async fn r_dis_7_a_list_equal_to_the_cached_one_is_not_processed_again() {
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &tools());
        let store = SharedStore::new();
        drop(Gateway::pinned_and_ready(server.settings(), &store).await);
        server.cached(".json", "Get a user.").await;
        let gateway = Gateway::pinned(server.settings(), &store).await;
        let cached = gateway.upstream_generation();
        until("it is live", async || gateway.upstream.status().state == CatalogState::Live).await;
        assert_eq!(gateway.upstream_generation(), cached, "{transport:?}");
        assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user", "{transport:?}");
        server.list(&changed("/0/description", json!(POISON)));
        gateway.wait_for_quarantine(&["get_user"]).await;
        assert!(gateway.upstream_generation() > cached, "{transport:?}");
        // Back to the accepted definitions: callable again, although the previous list was quarantined.
        server.list(&tools());
        gateway.wait_for_quarantine(&[]).await;
        assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user", "{transport:?}");
    }
}

#[tokio::test]
async fn r_dis_7a_an_edited_cache_is_compared_with_the_pins() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let store = SharedStore::new();
    drop(Gateway::pinned_and_ready(server.settings(), &store).await);
    server.cached(".json", "Get a user.").await;
    let file = std::fs::read_dir(server.cache())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| !path.to_string_lossy().contains("accepted"))
        .unwrap();
    let edited = std::fs::read_to_string(&file).unwrap().replace("Get a user.", POISON);
    std::fs::write(&file, edited).unwrap();
    let gateway = Gateway::pinned(server.settings(), &store).await;
    assert!(!gateway.visible_text().await.contains(POISON));
    // The server itself reports the accepted definitions, and only that counts.
    gateway.wait_for_quarantine(&[]).await;
    assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
}

#[tokio::test]
async fn r_dis_7a_the_quarantine_policy_decides_what_waits() {
    let more = |tools: Value| {
        let mut tools = tools;
        tools.as_array_mut().unwrap().push(reader("get_more", POISON));
        tools
    };
    for (policy, of_new, of_changed) in [
        (QuarantinePolicy::Changed, &[][..], &["get_user"][..]),
        (QuarantinePolicy::New, &["get_more"], &["get_more", "get_user"]),
        (QuarantinePolicy::Off, &[], &[]),
    ] {
        let server = ScriptedServer::new(TransportKind::Stdio, &tools());
        let store = SharedStore::new();
        let mut settings = server.settings();
        settings.quarantine = policy;
        let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
        gateway.wait_for_quarantine(&[]).await;
        server.list(&more(tools()));
        until("the new one is there", async || {
            gateway.refresh();
            gateway.operations().contains(&"get_more".to_owned())
        })
        .await;
        gateway.wait_for_quarantine(of_new).await;
        assert_eq!(gateway.visible_text().await.contains(POISON), of_new.is_empty(), "{policy:?}");
        server.list(&more(changed("/0/description", json!("Get a user, and more."))));
        gateway.wait_for_quarantine(of_changed).await;
        drop(gateway);
        let gateway = Gateway::pinned_and_ready(settings, &store).await;
        gateway.wait_for_quarantine(of_changed).await;
    }
}

#[tokio::test]
async fn r_dis_7a_a_tool_that_returns_is_still_pinned() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let store = SharedStore::new();
    let mut settings = server.settings();
    settings.quarantine = QuarantinePolicy::New;
    let gateway = Gateway::pinned_and_ready(settings, &store).await;
    let alone = json!([tools()[1]]);
    for (back, quarantined) in [
        (tools(), &[][..]),
        (changed("/0/description", json!(POISON)), &["get_user"]),
        (changed("/0/description", json!(POISON)), &["get_user"]),
        (tools(), &[]),
    ] {
        // A server that is still starting may list no tools.
        for away in [&alone, &json!([])] {
            server.list(away);
            until("it is gone", async || {
                gateway.refresh();
                !gateway.operations().contains(&"get_user".to_owned())
            })
            .await;
        }
        server.list(&back);
        until("it is back", async || {
            gateway.refresh();
            gateway.operations().contains(&"get_user".to_owned())
        })
        .await;
        gateway.wait_for_quarantine(quarantined).await;
    }
}

#[tokio::test]
async fn r_dis_7a_an_empty_first_list_pins_nothing() {
    let server = ScriptedServer::new(TransportKind::Stdio, &json!([]));
    let store = SharedStore::new();
    let mut settings = server.settings();
    settings.quarantine = QuarantinePolicy::New;
    let gateway = Gateway::pinned_and_ready(settings, &store).await;
    assert!(store.keys().await.is_empty());
    server.list(&tools());
    until("its tools are there", async || {
        gateway.refresh();
        gateway.operations().contains(&"get_user".to_owned())
    })
    .await;
    gateway.wait_for_quarantine(&[]).await;
    assert_eq!(store.keys().await.len(), 1);
}

#[tokio::test]
async fn r_dis_7a_without_the_store_no_unverified_definition_is_called() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let store = SharedStore::new();
    drop(Gateway::pinned_and_ready(server.settings(), &store).await);
    server.cached(".json", "Get a user.").await;
    store.fail(true, true);
    let gateway = Gateway::pinned(server.settings(), &store).await;
    gateway.upstream.ready().await.unwrap();
    gateway.wait_for_quarantine(&["get_user", "list_users"]).await;
    let refused = gateway.refused("get_user", json!({}), "PERMISSION_DENIED").await;
    assert!(refused["message"].as_str().unwrap().contains("the state store does not answer"), "{refused}");
    // The pins are read as soon as possible, and known pins still apply.
    store.fail(false, true);
    gateway.wait_for_quarantine(&[]).await;
    assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
    store.fail(true, true);
    server.list(&json!([tools()[0], tools()[1], reader("get_more", "Get more.")]));
    gateway.wait_for_quarantine(&["get_more"]).await;
    assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
    // What could not be pinned is pinned as soon as possible.
    store.fail(false, false);
    gateway.wait_for_quarantine(&[]).await;
    assert_eq!(gateway.get("get_more", json!({ "id": 1 })).await["tool"], "get_more");
    assert_eq!(server.called(), ["get_user", "get_user", "get_more"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn r_dis_7a_concurrent_processes_agree_on_pins() {
    let many: Value = (0..40).map(|number| reader(&format!("get_{number}"), "Get it.")).collect();
    let server = ScriptedServer::new(TransportKind::Stdio, &many);
    let store = SharedStore::new();
    let opened = (0..4).map(|_| Gateway::pinned_and_ready(server.settings(), &store));
    let stages = futures::future::join_all(opened).await;
    assert_eq!(store.keys().await.len(), 1);
    for gateway in &stages {
        gateway.wait_for_quarantine(&[]).await;
        assert_eq!(gateway.get("get_7", json!({})).await["tool"], "get_7");
    }
}

#[tokio::test]
async fn r_dis_7a_only_the_shown_definition_is_accepted() {
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &tools());
        let store = SharedStore::new();
        let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
        server.cached(".accepted.json", "Get a user.").await;
        let look = async || examine(server.settings(), PinStore::read_only(store.clone()), Arc::new(SystemClock)).await;
        assert!(look().await.unwrap().findings.is_empty());
        server.list(&changed("/0/description", json!("Get a user, politely.")));
        gateway.wait_for_quarantine(&["get_user"]).await;
        let seen = look().await.unwrap();
        let [found] = seen.findings.as_slice() else { panic!("{:?}", seen.findings) };
        assert_eq!((found.tool.as_str(), found.operation.as_str()), ("get_user", "get_user"));
        let before = found.accepted.as_ref().and_then(|tool| tool.text("description"));
        assert_eq!((before, found.current.text("description")), (Some("Get a user."), Some("Get a user, politely.")));
        // The definition changes again during the review.
        server.list(&changed("/0/description", json!(POISON)));
        seen.remember_shown().await.unwrap();
        let refused = seen.accept(&["get_user"]).await;
        assert!(matches!(&refused, Err(ReviewError::Changed { tool }) if tool == "get_user"), "{transport:?}");
        // A later review notices that this is not what was shown.
        let later = look().await.unwrap();
        assert!(later.findings[0].differs_from_shown, "{transport:?}");
        gateway.wait_for_quarantine(&["get_user"]).await;
        server.list(&changed("/0/description", json!("Get a user, politely.")));
        let again = look().await.unwrap();
        assert!(!again.findings[0].differs_from_shown, "{transport:?}");
        again.accept(&["get_user"]).await.unwrap();
        // The running gateway notices by itself.
        gateway.wait_for_quarantine(&[]).await;
        let shown = gateway.get("introspect", json!({ "query": "operations", "name": "get_user" })).await;
        assert_eq!(shown["operation"]["description"], "Get a user, politely.", "{transport:?}");
        assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
        // The previously accepted definition now counts as a change.
        server.list(&tools());
        gateway.wait_for_quarantine(&["get_user"]).await;
        drop(gateway);
        let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
        gateway.wait_for_quarantine(&["get_user"]).await;
    }
}

#[tokio::test]
async fn r_dis_7a_acceptance_needs_a_shared_store() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let clock = Arc::new(SystemClock);
    let looked = examine(server.settings(), PinStore::in_memory(clock.clone()), clock).await.unwrap();
    assert!(matches!(looked.accept(&["get_user"]).await, Err(ReviewError::NotShared)));
}

#[tokio::test]
async fn r_dis_7a_an_unreadable_record_accepts_nothing() {
    use aquifer_engine::store::StateStore as _;
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let store = SharedStore::new();
    drop(Gateway::pinned_and_ready(server.settings(), &store).await);
    let key = store.keys().await.remove(0);
    let version = store.get(&key).await.unwrap().map(|record| record.version);
    let spoilt = br#"{"version":99,"tools":{}}"#.to_vec();
    assert!(store.compare_and_set(&key, version, spoilt, std::time::Duration::from_secs(60)).await.unwrap());
    let gateway = Gateway::pinned(server.settings(), &store).await;
    gateway.upstream.ready().await.unwrap();
    gateway.wait_for_quarantine(&["get_user", "list_users"]).await;
    let looked = examine(server.settings(), store.pinning(), Arc::new(SystemClock)).await.unwrap();
    assert_eq!(looked.findings.len(), 2, "somebody has to accept them anew");
    looked.accept(&["get_user", "list_users"]).await.unwrap();
    gateway.wait_for_quarantine(&[]).await;
}

#[tokio::test]
async fn r_dis_7a_an_adapter_is_compared_with_its_reviewed_definitions() {
    for transport in TRANSPORTS {
        let server = ScriptedServer::new(transport, &tools());
        let interrogation = interrogate(&server.settings()).await.unwrap();
        let built = build(&interrogation.bundle(&server.settings(), Timestamp::UNIX_EPOCH)).unwrap();
        for sidecar in [Some(built.sidecar.as_str()), None] {
            server.list(&tools());
            let store = SharedStore::new();
            let mut settings = server.settings();
            settings.adapter = Some(Adapter::read(&built.adapter, sidecar).unwrap());
            settings.cache_dir = Some(server.folder.0.join(format!("cache-{}", sidecar.is_some())));
            let gateway = Gateway::pinned(settings.clone(), &store).await;
            assert!(gateway.operations().contains(&"get_user".to_owned()), "known before anything is started");
            assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
            server.list(&changed("/0/description", json!(POISON)));
            gateway.wait_for_quarantine(&["get_user"]).await;
            gateway.refused("get_user", json!({}), "PERMISSION_DENIED").await;
            assert!(!gateway.visible_text().await.contains(POISON));
            drop(gateway);
            let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
            gateway.wait_for_quarantine(&["get_user"]).await;
            let looked = examine(settings.clone(), store.pinning(), Arc::new(SystemClock)).await.unwrap();
            looked.accept(&["get_user"]).await.unwrap();
            gateway.wait_for_quarantine(&[]).await;
            assert_eq!(gateway.get("get_user", json!({ "id": 1 })).await["tool"], "get_user");
            // Accepting a change keeps the review valid: the reviewed definition is accepted as well.
            server.list(&tools());
            match sidecar {
                Some(_) => gateway.wait_for_quarantine(&[]).await,
                None => gateway.wait_for_quarantine(&["get_user"]).await,
            }
            // A tool that is not listed has no definition to compare.
            server.list(&json!([tools()[1]]));
            until("it is gone", async || {
                gateway.refresh();
                !gateway.operations().contains(&"get_user".to_owned())
            })
            .await;
        }
    }
}

/// Changing the configuration accepts nothing.
#[tokio::test]
async fn r_dis_7a_changed_settings_accept_nothing() {
    type SettingsChange = fn(&mut Settings);
    let changes: [(&str, SettingsChange); 3] = [
        ("allow", |settings| settings.allow.elicitation = true),
        ("env", |settings| {
            if let Transport::Stdio { env, .. } = &mut settings.transport {
                env.push(("NEW".to_owned(), "1".to_owned()));
            }
        }),
        ("cwd", |settings| {
            if let Transport::Stdio { cwd, .. } = &mut settings.transport {
                *cwd = Some("/".into());
            }
        }),
    ];
    for (what, touch) in changes {
        let server = ScriptedServer::new(TransportKind::Stdio, &tools());
        let store = SharedStore::new();
        drop(Gateway::pinned_and_ready(server.settings(), &store).await);
        server.cached(".accepted.json", "Get a user.").await;
        server.list(&changed("/0/description", json!(POISON)));
        let mut settings = server.settings();
        touch(&mut settings);
        let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
        gateway.wait_for_quarantine(&["get_user"]).await;
        gateway.refused("get_user", json!({}), "PERMISSION_DENIED").await;
        assert_eq!(store.keys().await.len(), 1, "{what}");
        // The reviewer sees the accepted definition.
        let found = examine(settings, store.pinning(), Arc::new(SystemClock)).await.unwrap();
        assert!(found.findings[0].accepted.is_some(), "{what}");
    }
    // Another server under the same name, with one tool that has the same name.
    let store = SharedStore::new();
    drop(Gateway::pinned_and_ready(ScriptedServer::new(TransportKind::Stdio, &tools()).settings(), &store).await);
    let other =
        ScriptedServer::new(TransportKind::Http, &json!([reader("get_user", "Another."), reader("get_more", "More.")]));
    let gateway = Gateway::pinned_and_ready(other.settings(), &store).await;
    gateway.wait_for_quarantine(&["get_user"]).await;
    assert_eq!(gateway.get("get_more", json!({})).await["tool"], "get_more");
}
