//! An operation keeps its name: a server cannot move calls to another tool by listing one more (R-DIS-7a).

use aquifer_discovery::adapter::build;
use aquifer_discovery::{Adapter, Overrides};
use aquifer_engine::Engine;
use aquifer_protocol::surface::{Mode, Profile, Surface};
use aquifer_upstream::interrogate;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::definitions::{Scripted, SharedStore, WAYS, Way, reader};
use crate::support::{Stage, until};

/// What an operation calls.
async fn tool_of(stage: &Stage, operation: &str) -> Value {
    stage.get(operation, json!({})).await["tool"].clone()
}

/// The operation that stands for a tool.
fn operation_of(stage: &Stage, tool: &str) -> Option<String> {
    let snapshot = stage.engine.snapshot();
    let found = snapshot.catalog().operations().iter().find(|one| one.backing.tool() == Some(tool));
    found.map(|operation| operation.name.to_string())
}

async fn listed(stage: &Stage, tool: &str) -> String {
    until(&format!("{tool} is there"), async || {
        stage.refresh();
        operation_of(stage, tool).is_some()
    })
    .await;
    operation_of(stage, tool).unwrap()
}

#[tokio::test]
async fn r_dis_7a_a_newcomer_does_not_take_the_name_of_an_established_operation() {
    // What is served first, what comes later, and the name they both want.
    let cases = [
        ("foo-bar", "foo_bar", "foo_bar"),
        ("fooBar", "foo_bar", "foo_bar"),
        ("foo.bar", "foo bar", "foo_bar"),
        ("Get-User", "get_user", "get_user"),
        ("introspect", "introspect_tool", "introspect_tool"),
    ];
    for way in WAYS {
        for (first, later, name) in cases {
            let server = Scripted::new(way, &json!([reader(first, "First.")]));
            let store = SharedStore::new();
            let stage = Stage::pinned_up(server.settings(), &store).await;
            assert_eq!(tool_of(&stage, name).await, first);
            // In front of it and behind it.
            for tools in
                [[reader(later, "Later."), reader(first, "First.")], [reader(first, "First."), reader(later, "Later.")]]
            {
                server.list(&json!(tools));
                let given = listed(&stage, later).await;
                assert!(given != name && given.starts_with(name), "{way:?} {first}/{later}: {given}");
                assert_eq!(tool_of(&stage, name).await, first, "{way:?} {first}/{later}");
                assert_eq!(tool_of(&stage, &given).await, later, "{way:?} {first}/{later}");
            }
            server.cached(".json", "Later.").await;
            drop(stage);
            // The same after a restart, from the cache and live.
            let stage = Stage::pinned(server.settings(), &store).await;
            assert_eq!(operation_of(&stage, first).as_deref(), Some(name), "{way:?} {first}/{later}: cached");
            stage.upstream.ready().await.unwrap();
            stage.refresh();
            assert_eq!(operation_of(&stage, first).as_deref(), Some(name), "{way:?} {first}/{later}: live");
            assert_eq!(tool_of(&stage, name).await, first);
            // The name stays its own while it is away.
            server.list(&json!([reader(later, "Later.")]));
            until("it is gone", async || {
                stage.refresh();
                operation_of(&stage, first).is_none()
            })
            .await;
            assert_ne!(operation_of(&stage, later).as_deref(), Some(name), "{way:?} {first}/{later}");
            stage.refused(name, json!({}), "NOT_FOUND_OPERATION").await;
        }
    }
}

#[tokio::test]
async fn r_dis_7a_a_newcomer_does_not_take_a_name_that_the_operator_chose() {
    let overrides =
        "schema_version: 1.0.0-draft\ntools:\n  fetch:\n    operation_name: read_page\n    reviewed: true\n";
    let server = Scripted::new(Way::Stdio, &json!([reader("fetch", "Get a page.")]));
    let store = SharedStore::new();
    let mut settings = server.settings();
    settings.overrides = Some(Overrides::read(overrides).unwrap());
    let stage = Stage::pinned_up(settings.clone(), &store).await;
    assert_eq!(tool_of(&stage, "read_page").await, "fetch");
    server.list(&json!([reader("read_page", "Read."), reader("fetch", "Get a page.")]));
    assert_ne!(listed(&stage, "read_page").await, "read_page");
    assert_eq!(tool_of(&stage, "read_page").await, "fetch");
    drop(stage);
    let stage = Stage::pinned_up(settings, &store).await;
    assert_eq!(tool_of(&stage, "read_page").await, "fetch");
}

#[tokio::test]
async fn r_dis_7a_a_quarantined_operation_keeps_its_name() {
    let server = Scripted::new(Way::Stdio, &json!([reader("foo-bar", "First.")]));
    let store = SharedStore::new();
    let stage = Stage::pinned_up(server.settings(), &store).await;
    server.list(&json!([reader("foo_bar", "Later."), reader("foo-bar", "Changed.")]));
    stage.quarantines(&["foo_bar"]).await;
    assert_eq!(operation_of(&stage, "foo-bar").as_deref(), Some("foo_bar"));
    stage.refused("foo_bar", json!({}), "PERMISSION_DENIED").await;
}

/// The specification does not limit the length of names: what somebody chose is served as it is, with a prefix, too.
#[tokio::test]
async fn r_req_1_long_names_that_somebody_chose_are_kept() {
    let server = Scripted::new(Way::Stdio, &json!([reader("fetch", "Get a page.")]));
    let other = Scripted::new(Way::Stdio, &json!([reader("fetch", "Get another.")]));
    let said = interrogate(&server.settings()).await.unwrap();
    let built = build(&said.bundle(&server.settings(), Timestamp::UNIX_EPOCH)).unwrap();
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
            // Twice: a name that is pinned is not given anew.
            for _ in 0..2 {
                let stage = Stage::pinned_up(settings.clone(), &store).await;
                assert_eq!(stage.operations(), [name.as_str()]);
                assert_eq!(tool_of(&stage, &name).await, "fetch");
            }
            if length == 48 {
                continue;
            }
            let stage = Stage::pinned_up(settings, &store).await;
            let mut beside = other.settings();
            beside.name = "other".to_owned();
            let beside = Stage::pinned_up(beside, &store).await;
            let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
            let engine = Engine::builder(surface).dangerously_let_everything_pass();
            let engine = engine.source(stage.upstream.clone()).source(beside.upstream.clone()).build().unwrap();
            let both = Stage { upstream: stage.upstream, engine };
            assert_eq!(both.operations(), [format!("fake_{name}"), "other_fetch".to_owned()]);
            assert_eq!(tool_of(&both, &format!("fake_{name}")).await, "fetch");
        }
    }
    let too_long = built.adapter.replacen("name: fetch\n", &format!("name: {}\n", "x".repeat(257)), 1);
    let problems = Adapter::read(&too_long, None).unwrap_err();
    assert!(problems[0].to_string().contains("256"), "{problems:?}");
}
