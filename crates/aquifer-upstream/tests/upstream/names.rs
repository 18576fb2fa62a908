//! Operations keep their names: a server cannot redirect calls to another tool by listing a new one (R-DIS-7a).

use aquifer_discovery::adapter::build;
use aquifer_discovery::{Adapter, Overrides};
use aquifer_engine::Engine;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_upstream::interrogate;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::definitions::{ScriptedServer, SharedStore, TRANSPORTS, TransportKind, reader};
use crate::support::{Gateway, until};

/// The tool behind an operation.
async fn tool_of(gateway: &Gateway, operation: &str) -> Value {
    gateway.get(operation, json!({})).await["tool"].clone()
}

/// The operation of a tool.
fn operation_of(gateway: &Gateway, tool: &str) -> Option<String> {
    let snapshot = gateway.engine.snapshot();
    let found = snapshot.catalog().operations().iter().find(|one| one.origin.backing.tool() == Some(tool));
    found.map(|operation| operation.name.to_string())
}

async fn listed(gateway: &Gateway, tool: &str) -> String {
    until(&format!("{tool} is there"), async || {
        gateway.refresh();
        operation_of(gateway, tool).is_some()
    })
    .await;
    operation_of(gateway, tool).unwrap()
}

#[tokio::test]
async fn r_dis_7a_a_new_tool_does_not_take_the_name_of_an_established_operation() {
    // The tools at first, a later tool, and the name that both would get.
    let cases = [
        ("foo-bar", "foo_bar", "foo_bar"),
        ("fooBar", "foo_bar", "foo_bar"),
        ("foo.bar", "foo bar", "foo_bar"),
        ("Get-User", "get_user", "get_user"),
        ("introspect", "introspect_tool", "introspect_tool"),
    ];
    for transport in TRANSPORTS {
        for (first, later, name) in cases {
            let server = ScriptedServer::new(transport, &json!([reader(first, "First.")]));
            let store = SharedStore::new();
            let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
            assert_eq!(tool_of(&gateway, name).await, first);
            // Listed before and after it.
            for tools in
                [[reader(later, "Later."), reader(first, "First.")], [reader(first, "First."), reader(later, "Later.")]]
            {
                server.list(&json!(tools));
                let given = listed(&gateway, later).await;
                assert!(given != name && given.starts_with(name), "{transport:?} {first}/{later}: {given}");
                assert_eq!(tool_of(&gateway, name).await, first, "{transport:?} {first}/{later}");
                assert_eq!(tool_of(&gateway, &given).await, later, "{transport:?} {first}/{later}");
            }
            server.cached(".json", "Later.").await;
            drop(gateway);
            // The same after a restart, from the cache and live.
            let gateway = Gateway::pinned(server.settings(), &store).await;
            assert_eq!(operation_of(&gateway, first).as_deref(), Some(name), "{transport:?} {first}/{later}: cached");
            gateway.upstream.ready().await.unwrap();
            gateway.refresh();
            assert_eq!(operation_of(&gateway, first).as_deref(), Some(name), "{transport:?} {first}/{later}: live");
            assert_eq!(tool_of(&gateway, name).await, first);
            // The name stays reserved while the tool is missing.
            server.list(&json!([reader(later, "Later.")]));
            until("it is gone", async || {
                gateway.refresh();
                operation_of(&gateway, first).is_none()
            })
            .await;
            assert_ne!(operation_of(&gateway, later).as_deref(), Some(name), "{transport:?} {first}/{later}");
            gateway.refused(name, json!({}), "NOT_FOUND_OPERATION").await;
        }
    }
}

#[tokio::test]
async fn r_dis_7a_a_new_tool_does_not_take_a_name_chosen_by_the_operator() {
    let overrides =
        "schema_version: 1.0.0-draft\ntools:\n  fetch:\n    operation_name: read_page\n    reviewed: true\n";
    let server = ScriptedServer::new(TransportKind::Stdio, &json!([reader("fetch", "Get a page.")]));
    let store = SharedStore::new();
    let mut settings = server.settings();
    settings.overrides = Some(Overrides::read(overrides).unwrap());
    let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
    assert_eq!(tool_of(&gateway, "read_page").await, "fetch");
    server.list(&json!([reader("read_page", "Read."), reader("fetch", "Get a page.")]));
    assert_ne!(listed(&gateway, "read_page").await, "read_page");
    assert_eq!(tool_of(&gateway, "read_page").await, "fetch");
    drop(gateway);
    let gateway = Gateway::pinned_and_ready(settings, &store).await;
    assert_eq!(tool_of(&gateway, "read_page").await, "fetch");
}

#[tokio::test]
async fn r_dis_7a_a_quarantined_operation_keeps_its_name() {
    let server = ScriptedServer::new(TransportKind::Stdio, &json!([reader("foo-bar", "First.")]));
    let store = SharedStore::new();
    let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
    server.list(&json!([reader("foo_bar", "Later."), reader("foo-bar", "Changed.")]));
    gateway.wait_for_quarantine(&["foo_bar"]).await;
    assert_eq!(operation_of(&gateway, "foo-bar").as_deref(), Some("foo_bar"));
    gateway.refused("foo_bar", json!({}), "PERMISSION_DENIED").await;
}

/// The specification does not limit the length of names. Chosen names are served unchanged, also with a prefix.
#[tokio::test]
async fn r_req_1_long_names_chosen_by_the_operator_are_kept() {
    let server = ScriptedServer::new(TransportKind::Stdio, &json!([reader("fetch", "Get a page.")]));
    let other = ScriptedServer::new(TransportKind::Stdio, &json!([reader("fetch", "Get another.")]));
    let interrogation = interrogate(&server.settings()).await.unwrap();
    let built = build(&interrogation.bundle(&server.settings(), Timestamp::UNIX_EPOCH)).unwrap();
    for length in [48, 49, 64, 200] {
        let name = format!("fetch_{}", "x".repeat(length - 6));
        let file = built.adapter.replacen("name: fetch\n", &format!("name: {name}\n"), 1);
        let adapter = Adapter::read(&file, Some(&built.sidecar)).unwrap_or_else(|problems| panic!("{problems:?}"));
        let mut by_adapter = server.settings();
        by_adapter.adapter = Some(adapter);
        let mut by_override = server.settings();
        let words = format!("schema_version: 1.0.0-draft\ntools:\n  fetch:\n    operation_name: {name}\n");
        by_override.overrides = Some(Overrides::read(&words).unwrap());
        for settings in [by_adapter, by_override] {
            let store = SharedStore::new();
            // Twice, because pinned names are not assigned again.
            for _ in 0..2 {
                let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
                assert_eq!(gateway.operations(), [name.as_str()]);
                assert_eq!(tool_of(&gateway, &name).await, "fetch");
            }
            if length == 48 {
                continue;
            }
            let gateway = Gateway::pinned_and_ready(settings, &store).await;
            let mut beside = other.settings();
            beside.name = "other".to_owned();
            let beside = Gateway::pinned_and_ready(beside, &store).await;
            let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
            let engine = Engine::builder(surface).dangerously_let_everything_pass();
            let engine = engine.source(gateway.upstream.clone()).source(beside.upstream.clone()).build().unwrap();
            let both = Gateway { upstream: gateway.upstream, engine };
            assert_eq!(both.operations(), [format!("fake_{name}"), "other_fetch".to_owned()]);
            assert_eq!(tool_of(&both, &format!("fake_{name}")).await, "fetch");
        }
    }
    let too_long = built.adapter.replacen("name: fetch\n", &format!("name: {}\n", "x".repeat(257)), 1);
    let problems = Adapter::read(&too_long, None).unwrap_err();
    assert!(problems[0].to_string().contains("256"), "{problems:?}");
}
