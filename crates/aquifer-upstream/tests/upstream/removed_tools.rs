//! Tools that their server no longer has: nothing is called, and whoever calls them learns why.

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::build;
use aquifer_engine::Source as _;
use aquifer_upstream::{Settings, interrogate};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::definitions::{ScriptedServer, SharedStore, TRANSPORTS, TransportKind, reader};
use crate::support::{Gateway, fake, until};

fn tools() -> Value {
    let writer = json!({ "name": "create_user", "description": "Create a user.", "inputSchema": { "type": "object" } });
    json!([reader("get_user", "Get a user."), reader("list_users", "List users."), writer])
}

fn assert_removed(error: &Value, operation: &str) {
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("is gone") && message.contains("introspect"), "{error}");
    assert_eq!(error["details"]["operation"], operation, "{error}");
}

#[tokio::test]
async fn r_dis_7a_a_removed_tool_is_not_called() {
    for transport in TRANSPORTS {
        for with_adapter in [false, true] {
            let server = ScriptedServer::new(transport, &tools());
            let mut settings = server.settings();
            if with_adapter {
                let interrogation = interrogate(&settings).await.unwrap();
                let built = build(&interrogation.bundle(&settings, Timestamp::UNIX_EPOCH)).unwrap();
                settings.adapter = Some(Adapter::read(&built.adapter, Some(&built.sidecar)).unwrap());
            }
            let store = SharedStore::new();
            let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
            server.list(&json!([tools()[1]]));
            until("it is gone", async || {
                gateway.refresh();
                gateway.operations() == ["list_users"]
            })
            .await;
            for (gateway, when) in
                [(gateway, "now"), (Gateway::pinned_and_ready(settings, &store).await, "after a restart")]
            {
                for operation in ["get_user", "create_user"] {
                    let error = gateway.refused(operation, json!({}), "NOT_FOUND_OPERATION").await;
                    assert_removed(&error, operation);
                    assert_eq!(error["details"]["source"], "fake", "{transport:?} {with_adapter} {when}: {error}");
                    // Policy may hide it by the name of its tool.
                    let removed = gateway.upstream.removed_operation(operation).unwrap();
                    assert_eq!(removed.backing.tool(), Some(operation), "{transport:?} {with_adapter} {when}");
                }
                // What never was there is unknown, and what is there works.
                let error = gateway.refused("get_account", json!({}), "NOT_FOUND_OPERATION").await;
                assert!(error["message"].as_str().unwrap().contains("Unknown operation"), "{error}");
                assert_eq!(gateway.get("list_users", json!({})).await["tool"], "list_users");
                // It comes back as what it was.
                if when == "after a restart" {
                    server.list(&tools());
                    until("it is back", async || {
                        gateway.refresh();
                        gateway.operations().len() == 3
                    })
                    .await;
                    assert_eq!(gateway.get("get_user", json!({})).await["tool"], "get_user");
                }
            }
            assert_eq!(server.called(), ["list_users", "list_users", "get_user"], "{transport:?} {with_adapter}");
        }
    }
}

/// An adapter names a tool that its server never had while we look.
#[tokio::test]
async fn r_dis_7a_an_adapter_reports_a_tool_removed_before_the_start() {
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let mut settings = server.settings();
    let interrogation = interrogate(&settings).await.unwrap();
    let built = build(&interrogation.bundle(&settings, Timestamp::UNIX_EPOCH)).unwrap();
    for sidecar in [Some(built.sidecar.as_str()), None] {
        server.list(&json!([tools()[1]]));
        settings.adapter = Some(Adapter::read(&built.adapter, sidecar).unwrap());
        settings.cache_dir = None;
        // Not waited for: the operation is in the file.
        let gateway = Gateway::pinned(settings.clone(), &SharedStore::new()).await;
        for _ in 0..2 {
            let error = gateway.refused("create_user", json!({}), "NOT_FOUND_OPERATION").await;
            assert_removed(&error, "create_user");
            gateway.refresh();
        }
    }
    assert!(server.called().is_empty(), "{:?}", server.called());
}

fn unannounced(server: &ScriptedServer, form: &str) -> Settings {
    let (tools, journal) = (server.folder.file("tools.json"), server.folder.file("journal"));
    fake(&["--tools-file", &tools, "--journal", &journal, "--unannounced", form])
}

/// Not every server says that its tools changed. What it says of a call does.
#[tokio::test]
async fn r_dis_7a_a_tool_removed_without_notice_is_called_once() {
    for form in ["error", "result"] {
        let server = ScriptedServer::new(TransportKind::Stdio, &tools());
        let gateway = Gateway::pinned_and_ready(unannounced(&server, form), &SharedStore::new()).await;
        server.list(&json!([tools()[1]]));
        let error = gateway.refused("get_user", json!({}), "NOT_FOUND_OPERATION").await;
        assert_removed(&error, "get_user");
        assert_removed(&gateway.refused("get_user", json!({}), "NOT_FOUND_OPERATION").await, "get_user");
        // The list that was got then has the other one, too.
        assert_removed(&gateway.refused("create_user", json!({}), "NOT_FOUND_OPERATION").await, "create_user");
        assert_eq!(server.called(), ["get_user"], "{form}");
    }
    // A tool's own words do not say that nothing was done.
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let gateway = Gateway::pinned_and_ready(unannounced(&server, "result"), &SharedStore::new()).await;
    server.list(&json!([tools()[1]]));
    let error = gateway.refused("create_user", json!({}), "UPSTREAM_ERROR").await;
    assert_eq!(error["details"]["outcome"], "unknown", "{error}");
    assert_removed(&gateway.refused("create_user", json!({}), "NOT_FOUND_OPERATION").await, "create_user");
}
