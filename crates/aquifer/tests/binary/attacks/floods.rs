//! Servers that send more than anybody asked for (item 6), and callers who ask for more than a result is worth.

use serde_json::{Value, json};

use super::{Setting, World, reading};
use crate::support::{HttpServer, Server, Transport};

/// How many messages of each kind the server sends while it answers one call.
const MESSAGES: u64 = 500;

/// How much memory they may take, in kilobytes. Two of them have 15 MB of text and would take hundreds of megabytes if they
/// were parsed as a whole.
const MAX_GROWTH: u64 = 120_000;

#[test]
fn r_dis_7_messages_that_nobody_asked_for_take_little_memory() {
    let fault = json!({ "get_news": { "flood": MESSAGES } });
    let script = json!({ "tools": [reading("get_news")], "faults": fault, "stream": true });
    for (client, upstream) in [(Transport::Stdio, Transport::Http), (Transport::Http, Transport::Stdio)] {
        let setting = Setting { client, upstream, has_several_sources: false };
        let mut world = World::with_upstream(setting, &script, "", "");
        world.start();
        let pid = world.server().pid();
        let before = peak(pid);
        let params = json!({ "name": "mcp_aql_read", "arguments": { "operation": "get_news" } });
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let received = match world.server() {
            Server::Stdio(piped) => {
                piped.send(&request);
                let mut received = Vec::new();
                while received.last().is_none_or(|message: &Value| message["id"] != 1) {
                    received.push(piped.receive());
                }
                received
            }
            Server::Http(served) => in_session(served, &request),
        };
        let answer = received.iter().find(|message| message["id"] == 1).unwrap();
        assert_eq!(answer["result"]["structuredContent"]["success"], true, "{setting:?}: {answer}");
        let logged: Vec<&Value> =
            received.iter().filter(|one| one["method"] == "notifications/message").map(|one| &one["params"]).collect();
        assert!(logged.iter().all(|params| params["_meta"].is_null()), "{setting:?}: {logged:?}");
        // Over HTTP they belong to another stream than the answer.
        assert!(client == Transport::Http || !logged.is_empty(), "{setting:?}");
        let grown = peak(pid) - before;
        assert!(grown < MAX_GROWTH, "{setting:?}: {grown} kB more, {} log messages", logged.len());
        // It still serves.
        let listed = world.operations();
        assert!(listed.contains(&"get_news".to_owned()), "{listed:?}");
    }
}

/// Everything that a call asks of a result comes out of one budget. Each of these groups repeats a text of the result
/// twice: together they would take 190 MB, before they are written.
#[test]
fn r_req_7_a_small_call_cannot_multiply_a_result() {
    let script =
        json!({ "tools": [reading("list_rows")], "faults": { "list_rows": { "rows": 1_000, "bytes": 3_000 } } });
    let group = |number: usize| (format!("a{number}"), json!({ "group_by": "text", "max": "text" }));
    let groups: Value = (0..32).map(group).collect();
    for (client, upstream) in [(Transport::Stdio, Transport::Http), (Transport::Http, Transport::Stdio)] {
        let setting = Setting { client, upstream, has_several_sources: false };
        let source = "controls = \"all\"\noperations.list_rows.rows = \"items\"\n";
        let mut world = World::with_upstream(setting, &script, source, "");
        world.start();
        let pid = world.server().pid();
        let top = json!({ "aggregate": { "top": { "group_by": "text", "max": "id", "order": "desc", "first": 1 } } });
        let one = world.data("read", "list_rows", top.clone());
        assert_eq!(one["groups"]["top"]["total"], 1_000, "{setting:?}");
        let before = peak(pid);
        let params = json!({ "aggregate": groups });
        assert!(params.to_string().len() < 2_000);
        let refused = world.call("read", "list_rows", params);
        assert_eq!(refused["error"]["code"], "VALIDATION_PAYLOAD_TOO_LARGE", "{setting:?}: {refused}");
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("takes too much memory"), "{setting:?}: {message}");
        let grown = peak(pid) - before;
        assert!(grown < MAX_GROWTH, "{setting:?}: {grown} kB more");
        // What it took is free again.
        assert_eq!(world.data("read", "list_rows", top), one, "{setting:?}");
    }
}

/// Makes a call in a session over HTTP and returns what arrives on its stream.
fn in_session(served: &HttpServer, request: &Value) -> Vec<Value> {
    let client = json!({ "name": "tests", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
    let session = served.post(&[], initialize.to_string().as_bytes()).header("mcp-session-id").unwrap();
    let headers = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", "2025-06-18")];
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    assert_eq!(served.post(&headers, initialized.to_string().as_bytes()).status, 202);
    let answer = served.post(&headers, request.to_string().as_bytes());
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data: "));
    events.filter_map(|event| serde_json::from_str(event).ok()).collect()
}

/// The most memory that a process has had, in kilobytes.
fn peak(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}
