//! Tools that exceed a limit are left out, and nothing else (R-DIS-7).

use std::time::Duration;

use aquifer_engine::source::LiveSource as _;
use serde_json::{Value, json};

use crate::definitions::{ScriptedServer, SharedStore, TRANSPORTS, TransportKind, reader};
use crate::support::{Gateway, fake, until};

/// A schema with this many properties, each of them an object.
fn wide(count: usize) -> Value {
    let properties: serde_json::Map<String, Value> =
        (0..count).map(|number| (format!("p{number}"), json!({ "type": "string" }))).collect();
    json!({ "type": "object", "properties": properties })
}

fn tool(name: &str, schema: Value) -> Value {
    json!({ "name": name, "description": "Read it.", "annotations": { "readOnlyHint": true }, "inputSchema": schema })
}

#[tokio::test]
async fn tools_over_a_limit_are_left_out() {
    let deep = (0..150).fold(json!({ "type": "string" }), |inner, _| json!({ "type": "array", "items": inner }));
    let long_key = json!({ "type": "object", "properties": { "k".repeat(2_000): { "type": "string" } } });
    let cases = [
        ("wide", tool("too_much", wide(50_000)), "max_tool_bytes"),
        ("wide, but short", tool("too_much", wide(2_500)), "max_schema_nodes"),
        ("deep", tool("too_much", json!({ "type": "object", "properties": { "a": deep } })), "max_schema_nodes"),
        ("long", tool("too_much", json!({ "type": "object", "description": "x".repeat(300_000) })), "max_tool_bytes"),
        ("long names", tool("too_much", long_key), "max_schema_nodes"),
        ("many values", tool("too_much", json!({ "type": "object", "enum": vec![1; 60_000] })), "max_schema_nodes"),
    ];
    for transport in TRANSPORTS {
        for (what, definition, key) in &cases {
            let server = ScriptedServer::new(transport, &json!([definition, reader("get_it", "Get it.")]));
            let store = SharedStore::new();
            let gateway = Gateway::pinned_and_ready(server.settings(), &store).await;
            assert_eq!(gateway.operations(), ["get_it"], "{transport:?} {what}");
            assert_eq!(gateway.get("get_it", json!({})).await["tool"], "get_it");
            let status = gateway.upstream.status();
            assert_eq!(status.left_out, 1, "{transport:?} {what}");
            assert!(status.notes.iter().any(|note| note.contains(key)), "{transport:?} {what}: {:?}", status.notes);
            let summary = gateway.get("introspect", json!({ "query": "summary" })).await;
            assert_eq!(summary["summary"]["sources"][0]["left_out"], 1, "{summary}");
            // The cache contains what is served.
            server.cached(".json", "get_it").await;
            drop(gateway);
            let gateway = Gateway::pinned(server.settings(), &store).await;
            assert_eq!(gateway.operations(), ["get_it"], "{transport:?} {what}: cached");
        }
    }
}

#[tokio::test]
async fn limits_are_configurable() {
    let server =
        ScriptedServer::new(TransportKind::Stdio, &json!([tool("wide", wide(2_500)), reader("get_it", "Get it.")]));
    let mut settings = server.settings();
    settings.limits.max_schema_nodes = 3_000;
    let store = SharedStore::new();
    let gateway = Gateway::pinned_and_ready(settings.clone(), &store).await;
    assert_eq!(gateway.operations(), ["get_it", "wide"]);
    assert_eq!(gateway.get("wide", json!({ "p2499": "x" })).await["arguments"], json!({ "p2499": "x" }));
    server.cached(".json", "p2499").await;
    drop(gateway);
    // A cache written under higher limits is cut to the current ones.
    settings.limits.max_tools = 1;
    settings.limits.max_schema_nodes = 100;
    let gateway = Gateway::pinned(settings, &store).await;
    assert_eq!(gateway.operations(), ["get_it"]);
}

#[tokio::test]
async fn a_list_with_too_many_tools_is_cut() {
    for flags in [&["--many-tools", "50000"][..], &["--many-tools", "50000", "--pages", "700"]] {
        let mut settings = fake(flags);
        // Writing and reading this many takes a while on a busy machine.
        settings.start_timeout = Duration::from_secs(120);
        let gateway = Gateway::ready(settings).await;
        let count = gateway.operations().len();
        assert_eq!(count, 2_000, "{flags:?}");
        let status = gateway.upstream.status();
        assert!(status.notes.iter().any(|note| note.contains("max_tools = 2000")), "{:?}", status.notes);
        assert_eq!(gateway.get("echo", json!({ "text": "x" })).await["text"], "x");
        let listed = gateway.get("introspect", json!({ "query": "operations", "search": "echo" })).await;
        assert!(listed.to_string().contains("\"echo\""), "{listed}");
    }
}

#[tokio::test]
async fn an_unusable_cache_is_ignored() {
    let server = ScriptedServer::new(TransportKind::Stdio, &json!([reader("get_it", "Get it.")]));
    let store = SharedStore::new();
    drop(Gateway::pinned_and_ready(server.settings(), &store).await);
    server.cached(".json", "get_it").await;
    let file = std::fs::read_dir(server.cache())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| !path.to_string_lossy().contains("accepted"))
        .unwrap();
    let good = std::fs::read_to_string(&file).unwrap();
    let bombs = [
        String::new(),
        "{".to_owned(),
        "[".repeat(100_000),
        good.replace("\"tools\":[", "\"tools\":5,\"x\":["),
        good.replace("\"tools\":[", &format!("\"tools\":[{},", "[".repeat(120) + &"]".repeat(120))),
        good.replace("\"tools\":[", "\"tools\":[null,{},{\"name\":5},{\"name\":\"\"},"),
        good.replace("\"captured_at\":\"", "\"captured_at\":\"yesterday "),
        good.replace("get_it", &"x".repeat(600)),
    ];
    for bomb in bombs {
        std::fs::write(&file, &bomb).unwrap();
        let gateway = Gateway::pinned(server.settings(), &store).await;
        gateway.upstream.ready().await.unwrap();
        until("the server is asked", async || {
            gateway.refresh();
            gateway.operations() == ["get_it"]
        })
        .await;
        until("the file is replaced", async || {
            std::fs::read_to_string(&file).is_ok_and(|text| text.contains("get_it"))
        })
        .await;
    }
}
