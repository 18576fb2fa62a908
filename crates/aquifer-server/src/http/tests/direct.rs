//! The same calls, handled directly and by the SDK.

use axum::http::{HeaderMap, HeaderName};

use super::*;

/// A request with these headers and parameters. With an escaped slash, it is the same message, but it is not recognized
/// as a direct call.
fn tool_call(headers: &[(&str, &str)], params: &Value, is_escaped: bool) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
    let message = if is_escaped { message.replace("tools/call", "tools\\/call") } else { message };
    post(headers, message.as_bytes())
}

/// Whether a request is a call that is handled without the SDK.
fn is_direct(server: &Server, request: &[u8]) -> bool {
    let (head, body) = std::str::from_utf8(request).unwrap().split_once("\r\n\r\n").unwrap();
    let mut headers = HeaderMap::new();
    for line in head.lines().skip(1) {
        let (name, value) = line.split_once(": ").unwrap();
        headers.append(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
    }
    server.endpoint.stateless().read(&headers, body.as_bytes()).is_some()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn direct_calls_have_the_answers_of_the_sdk() {
    let server = Server::start(|_| ()).await;
    let newest = ("mcp-protocol-version", "2026-07-28");
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_read"));
    let plain = vec![newest, method, name];
    let read = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_small" } });
    let reading = |arguments: Value| json!({ "name": "mcp_aql_read", "arguments": arguments });
    // Headers, parameters, and whether the call is direct if its metadata is complete.
    let calls = [
        (plain.clone(), read.clone(), true),
        (plain.clone(), reading(json!({ "operation": "get_large" })), true),
        (plain.clone(), reading(json!({ "operation": "get_nothing" })), true),
        (plain.clone(), reading(json!({ "operation": "get_small", "params": { "x": 1 } })), true),
        (
            plain.clone(),
            reading(json!({ "operations": [{ "operation": "get_small" }, { "operation": "get_x" }] })),
            true,
        ),
        (plain.clone(), reading(json!({ "operations": [] })), true),
        (plain.clone(), json!({ "name": "mcp_aql_read" }), true),
        (plain.clone(), json!({ "name": "mcp_aql_create", "arguments": { "operation": "create_x" } }), false),
        (plain.clone(), json!({ "arguments": {} }), false),
        (vec![newest, method, ("mcp-name", "no_tool")], json!({ "name": "no_tool", "arguments": {} }), false),
        (vec![newest, method], read.clone(), false),
        (vec![newest, name], read.clone(), false),
        (vec![newest, ("mcp-method", "tools/list"), name], read.clone(), false),
        (vec![method, name], read.clone(), false),
        (vec![("mcp-protocol-version", "2025-11-25"), method, name], read.clone(), false),
        (vec![newest, method, name, name], read.clone(), false),
        (vec![newest, method, name, ("mcp-session-id", "none")], read.clone(), false),
        (vec![newest, method, name, ("mcp-param-x", "1")], read.clone(), false),
        (vec![newest, method, name, ("accept", "application/json")], read.clone(), false),
        (vec![newest, method, name, ("content-type", "text/plain")], read.clone(), false),
    ];
    for (headers, params, is_direct_if_complete) in calls {
        for is_complete in [true, false] {
            let mut params = params.clone();
            params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
            if is_complete {
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
                params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
            }
            let (plain, escaped) = (tool_call(&headers, &params, false), tool_call(&headers, &params, true));
            let expected = (is_direct_if_complete && is_complete, false);
            assert_eq!((is_direct(&server, &plain), is_direct(&server, &escaped)), expected, "{headers:?} {params}");
            let (one, other) = (server.ask(&plain).await, server.ask(&escaped).await);
            let told = |answer: &TestResponse| {
                let headers = ["content-type", "content-length"].map(|name| answer.header(name).map(str::to_owned));
                (answer.status, headers, answer.body.clone())
            };
            assert_eq!(told(&one), told(&other), "{headers:?} {params}");
        }
    }
    // The answers in a session are the same, too.
    let session = server.open_session().await.unwrap();
    let answer = server.in_session(&session, &session_call(7, "get_small")).await.json();
    let direct = server.ask(&call("get_small")).await.json();
    for part in ["content", "structuredContent", "isError"] {
        assert_eq!(answer["result"][part], direct["result"][part], "{part}");
    }
}
