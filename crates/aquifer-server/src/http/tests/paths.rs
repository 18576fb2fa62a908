//! The same calls on the fast path and on the SDK's path.

use super::*;
use crate::call_path::CallPath;

/// A request with these headers and parameters. With an escaped slash, it is the same message, but the fast path does
/// not recognize it.
fn tool_call(headers: &[(&str, &str)], params: &Value, is_escaped: bool) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params }).to_string();
    let message = if is_escaped { message.replace("tools/call", "tools\\/call") } else { message };
    post(headers, message.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_paths_give_the_same_answers() {
    let server = Server::start(|_| ()).await;
    let counts = server.endpoint.counts();
    let taken = || [CallPath::HttpFast, CallPath::HttpSdk, CallPath::HttpSession].map(|path| counts.get(path));
    let since = |before: [u64; 3]| {
        let now = taken();
        std::array::from_fn::<_, 3, _>(|index| now[index] - before[index])
    };
    let newest = ("mcp-protocol-version", "2026-07-28");
    let (method, name) = (("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_read"));
    let plain = vec![newest, method, name];
    let read = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_small" } });
    let reading = |arguments: Value| json!({ "name": "mcp_aql_read", "arguments": arguments });
    // Headers, parameters, and whether the fast path takes the call if its metadata is complete.
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
    for (headers, params, is_fast) in calls {
        for is_complete in [true, false] {
            let mut params = params.clone();
            params["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
            if is_complete {
                params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
                params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "tests", "version": "1" });
            }
            let is_fast = is_fast && is_complete;
            let before = taken();
            let one = server.ask(&tool_call(&headers, &params, false)).await;
            let (first, before) = (since(before), taken());
            let other = server.ask(&tool_call(&headers, &params, true)).await;
            let second = since(before);
            let told = |answer: &TestResponse| {
                (answer.status, answer.header("content-type").map(str::to_owned), answer.body.clone())
            };
            assert_eq!(told(&one), told(&other), "{headers:?} {params}");
            if is_fast {
                assert_eq!((first, second), ([1, 0, 0], [0, 1, 0]), "{headers:?} {params}: one on each path");
            } else {
                assert_eq!((first[0], first), (0, second), "{headers:?} {params}: both on the SDK's path");
            }
        }
    }
    // A session has a path of its own, and the same answers.
    let session = server.open_session().await.unwrap();
    let before = taken();
    let answer = server.in_session(&session, &session_call(7, "get_small")).await.json();
    assert_eq!(since(before), [0, 0, 1]);
    let fast = server.ask(&call("get_small")).await.json();
    for part in ["content", "structuredContent", "isError"] {
        assert_eq!(answer["result"][part], fast["result"][part], "{part}");
    }
}
