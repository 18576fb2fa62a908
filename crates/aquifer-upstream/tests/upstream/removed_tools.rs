//! Removed tools are not called, and callers learn why.

use aquifer_discovery::Adapter;
use aquifer_discovery::adapter::build;
use aquifer_engine::source::LiveSource as _;
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
                    // Policy may conceal the operation by its tool's name.
                    let removed = gateway.upstream.removed_operation(operation).unwrap();
                    assert_eq!(removed.origin.backing.tool(), Some(operation), "{transport:?} {with_adapter} {when}");
                }
                // An operation that never existed is unknown, and existing ones work.
                let error = gateway.refused("get_account", json!({}), "NOT_FOUND_OPERATION").await;
                assert!(error["message"].as_str().unwrap().contains("Unknown operation"), "{error}");
                assert_eq!(gateway.get("list_users", json!({})).await["tool"], "list_users");
                // It comes back unchanged.
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

/// An adapter names a tool that its server has never listed in this run.
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
        // No waiting: the operation is in the adapter file.
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

/// Not every server announces changed tools, but the error of a call reveals them.
#[tokio::test]
async fn r_dis_7a_a_tool_removed_without_notice_is_called_once() {
    for form in ["error", "result"] {
        let server = ScriptedServer::new(TransportKind::Stdio, &tools());
        let gateway = Gateway::pinned_and_ready(unannounced(&server, form), &SharedStore::new()).await;
        server.list(&json!([tools()[1]]));
        let error = gateway.refused("get_user", json!({}), "NOT_FOUND_OPERATION").await;
        assert_removed(&error, "get_user");
        assert_removed(&gateway.refused("get_user", json!({}), "NOT_FOUND_OPERATION").await, "get_user");
        // The new list also contains the other tool.
        assert_removed(&gateway.refused("create_user", json!({}), "NOT_FOUND_OPERATION").await, "create_user");
        assert_eq!(server.called(), ["get_user"], "{form}");
    }
    // An error of the tool itself does not prove that nothing was executed.
    let server = ScriptedServer::new(TransportKind::Stdio, &tools());
    let gateway = Gateway::pinned_and_ready(unannounced(&server, "result"), &SharedStore::new()).await;
    server.list(&json!([tools()[1]]));
    let error = gateway.refused("create_user", json!({}), "UPSTREAM_ERROR").await;
    assert_eq!(error["details"]["outcome"], "unknown", "{error}");
    assert_removed(&gateway.refused("create_user", json!({}), "NOT_FOUND_OPERATION").await, "create_user");
}
