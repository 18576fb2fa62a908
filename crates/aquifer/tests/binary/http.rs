//! MCP over HTTP.

use std::io::Read;

use serde_json::json;

use crate::support::{
    Folder, HttpServer, StdioServer, envelope, read_answer, run, stateless_body, terminate, text, until,
};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;

/// Opens a session as an older client does and gives its id.
fn session(served: &HttpServer) -> String {
    let answer = served.post(&[], INITIALIZE.as_bytes());
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(answer.json()["result"]["serverInfo"]["name"], "aquifer");
    let id = answer.header("mcp-session-id").unwrap();
    let initialized =
        served.post(&[("mcp-session-id", &id)], br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    assert_eq!(initialized.status, 202);
    id
}

#[test]
fn older_and_newest_clients_are_served_by_one_process() {
    let served = HttpServer::tasks();
    let id = session(&served);
    let call = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mcp_aql_create", "arguments": { "operation": "create_task", "title": "old" } } });
    let old =
        served.post(&[("mcp-session-id", &id), ("mcp-protocol-version", "2025-06-18")], call.to_string().as_bytes());
    assert_eq!(envelope(&old.json())["data"]["title"], "old");
    assert_eq!(served.call("mcp_aql_create", json!({ "operation": "create_task", "title": "new" }))["data"]["id"], 2);
    let listed = served.call("mcp_aql_read", json!({ "operation": "list_tasks" }));
    assert_eq!(listed["data"]["items"].as_array().unwrap().len(), 2);
}

#[test]
fn answers_without_streaming_are_plain_json() {
    let served = HttpServer::tasks();
    let answer = served.stateless("tools/list", json!({}));
    assert_eq!(answer.header("content-type").as_deref(), Some("application/json"));
    assert_eq!(answer.json()["result"]["tools"].as_array().unwrap().len(), 5);
}

#[test]
fn progress_streams_to_clients() {
    let served = HttpServer::tasks();
    let call =
        json!({ "name": "mcp_aql_execute", "arguments": { "operation": "execute_tasks", "ms_each": 5, "wait": true } });
    let (plain, _) = stateless_body("tools/call", call.clone());
    let newest =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_execute")];
    let id = session(&served);
    let older = [("mcp-session-id", id.as_str()), ("mcp-protocol-version", "2025-06-18")];
    let in_session = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call });
    // Beside the arguments as in MCP, and inside of them as in MCP-AQL.
    for (headers, body) in [(&newest[..], &plain), (&older[..], &in_session)] {
        for place in ["/params", "/params/arguments"] {
            let mut body = body.clone();
            let beside = body.pointer_mut(place).unwrap();
            beside["_meta"]["progressToken"] = json!("p");
            // Those of the round before are done.
            for title in ["a", "b", "c"] {
                served.call("mcp_aql_create", json!({ "operation": "create_task", "title": title }));
            }
            let answer = served.post(headers, body.to_string().as_bytes());
            // Reports that come faster than they are sent are replaced by the newest, so that there is at least the last one.
            let (reports, _) = answer.body.split_once("\"result\"").unwrap();
            assert!(reports.contains("notifications/progress") && reports.contains("c is done"), "{}", answer.body);
            assert_eq!(envelope(&answer.json())["data"]["status"], "completed");
        }
    }
}

#[test]
fn r_end_6_sessions_do_not_see_each_others_executions() {
    let served = HttpServer::tasks();
    let (one, two) = (session(&served), session(&served));
    let call = |id: &str, arguments: serde_json::Value, tool: &str| {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": tool, "arguments": arguments } });
        envelope(
            &served
                .post(&[("mcp-session-id", id), ("mcp-protocol-version", "2025-06-18")], body.to_string().as_bytes())
                .json(),
        )
    };
    call(&one, json!({ "operation": "create_task", "title": "a" }), "mcp_aql_create");
    let started = call(&one, json!({ "operation": "execute_tasks", "ms_each": 60000 }), "mcp_aql_execute");
    let get = json!({ "operation": "get_execution", "execution_id": started["data"]["execution_id"] });
    assert_eq!(call(&one, get.clone(), "mcp_aql_read")["success"], true);
    assert_eq!(call(&two, get.clone(), "mcp_aql_read")["error"]["code"], "NOT_FOUND_RESOURCE");
    assert_eq!(served.call("mcp_aql_read", get)["error"]["code"], "NOT_FOUND_RESOURCE");
}

#[test]
fn r_end_6_a_session_takes_its_executions_with_it() {
    let served = HttpServer::tasks();
    // Each execution runs for minutes, longer than this test waits.
    for title in ["a", "b", "c"] {
        served.call("mcp_aql_create", json!({ "operation": "create_task", "title": title }));
    }
    let execute = json!({ "operation": "execute_tasks", "ms_each": 60_000 });
    let start = |id: &str, arguments: serde_json::Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "mcp_aql_execute", "arguments": arguments } });
        let headers = [("mcp-session-id", id), ("mcp-protocol-version", "2025-06-18")];
        envelope(&served.post(&headers, body.to_string().as_bytes()).json())
    };
    // Sixty-four executions per session, until there is room for no more.
    let (sessions, last) = ((0..16).map(|_| session(&served)).collect::<Vec<String>>(), session(&served));
    for id in &sessions {
        let started = start(id, json!({ "operations": vec![execute.clone(); 64] }));
        assert_eq!(started["summary"]["succeeded"], 64, "{started}");
    }
    assert_eq!(start(&last, execute.clone())["error"]["code"], "RATE_LIMIT_EXCEEDED");
    let ended = served.send("DELETE", "/mcp", &[("mcp-session-id", &sessions[3])], b"");
    assert_eq!(ended.status, 204);
    until("the executions of the ended session make room", || {
        (start(&last, execute.clone())["success"] == true).then_some(())
    });
}

#[test]
fn strangers_are_kept_out() {
    let served = HttpServer::tasks();
    let port = served.authority.split(':').nth(1).unwrap().to_owned();
    let status = |headers: &[(&str, &str)]| served.send("GET", "/health", headers, b"").status;
    for host in [
        "evil.example",
        "evil.example:80",
        &format!("evil.example:{port}"),
        "localhost.evil.example",
        "127.0.0.1.evil.example",
    ] {
        assert_eq!(status(&[("host", host)]), 403, "{host}");
    }
    for host in ["", "127.0.0.1:80@evil.example", "localhost:99999", "localhost/x"] {
        assert_eq!(status(&[("host", host)]), 400, "{host}");
    }
    for host in ["localhost", "127.0.0.1", &format!("localhost:{port}"), "LOCALHOST", "[::1]"] {
        assert_eq!(status(&[("host", host)]), 200, "{host}");
    }
    for origin in ["http://evil.example", "null", "http://localhost", "http://127.0.0.1:1"] {
        assert_eq!(status(&[("origin", origin)]), 403, "{origin}");
        assert_eq!(served.post(&[("origin", origin)], INITIALIZE.as_bytes()).status, 403, "{origin}");
    }
    let open = HttpServer::start(&[
        "serve",
        "tasks:",
        "--http",
        "127.0.0.1:0",
        "--allow-host",
        "db.internal",
        "--allow-origin",
        "https://app.example",
    ]);
    assert_eq!(
        open.send("GET", "/health", &[("host", "db.internal"), ("origin", "https://app.example")], b"").status,
        200
    );
}

#[test]
fn health_and_other_places() {
    let served = HttpServer::tasks();
    let health = served.send("GET", "/health", &[], b"");
    assert_eq!(health.json()["status"], "ok");
    assert_eq!(health.json()["operations"], 10);
    let page = served.send("GET", "/", &[], b"");
    assert_eq!(page.status, 200);
    assert!(page.body.contains("<!doctype html>"), "{}", page.body);
    let bare = HttpServer::start(&["serve", "tasks:", "--http", "127.0.0.1:0", "--no-explorer"]);
    let lost = bare.send("GET", "/", &[], b"");
    assert_eq!(lost.status, 404);
    assert!(lost.body.contains("/mcp"), "{}", lost.body);
}

#[test]
fn the_binary_asks_for_the_health_of_a_server() {
    let served = HttpServer::tasks();
    let up = run(&["health", &format!("http://{}/mcp", served.authority)]);
    assert_eq!(up.status.code(), Some(0), "{}", text(&up.stderr));
    assert!(text(&up.stdout).contains(r#""status":"ok""#), "{}", text(&up.stdout));
    let down = run(&["health", "http://127.0.0.1:1"]);
    assert_eq!((down.status.code(), text(&down.stdout)), (Some(1), String::new()));
    assert!(text(&down.stderr).contains("is not healthy"), "{}", text(&down.stderr));
    assert_eq!(run(&["health", "localhost"]).status.code(), Some(2));
}

#[test]
fn sessions_are_bounded() {
    let folder = Folder::new();
    let config = "[http]\naddress = \"127.0.0.1:0\"\nmax_sessions = 2\n[[source]]\ntarget = \"tasks:\"\n";
    let served = HttpServer::start(&["serve", "--config", &folder.file("sessions.toml", config)]);
    let (first, second) = (session(&served), session(&served));
    let list = br#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
    let used = |id: &str| served.post(&[("mcp-session-id", id), ("mcp-protocol-version", "2025-06-18")], list).status;
    assert_eq!(used(&first), 200);
    let third = session(&served);
    assert_eq!([&first, &second, &third].map(|id| used(id)), [200, 404, 200], "the one that nobody used made room");
}

#[test]
fn stopping_finishes_the_calls_under_way() {
    let mut served = HttpServer::tasks();
    served.call("mcp_aql_create", json!({ "operation": "create_task", "title": "a" }));
    let id = session(&served);
    // A stream that only waits for news must not hold the server back.
    let mut news = served.open("GET", "/mcp", &[("accept", "text/event-stream"), ("mcp-session-id", &id)], b"");
    let mut begun = [0_u8; 12];
    news.read_exact(&mut begun).unwrap();
    let (body, _) = stateless_body(
        "tools/call",
        json!({ "name": "mcp_aql_execute", "arguments": { "operation": "execute_tasks", "ms_each": 700, "wait": true } }),
    );
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
        ("mcp-name", "mcp_aql_execute"),
    ];
    let call = served.open("POST", "/mcp", &headers, body.to_string().as_bytes());
    // The call has begun once the task board is busy with it: ask for something else behind it.
    served.call("mcp_aql_read", json!({ "operation": "list_tasks" }));
    terminate(served.pid());
    let answer = read_answer(call);
    assert_eq!(envelope(&answer.json())["data"]["status"], "completed");
    assert!(served.wait().success());
}

#[test]
fn a_listening_client_does_not_delay_the_shutdown() {
    let mut served = HttpServer::tasks();
    let (body, _) = stateless_body("subscriptions/listen", json!({ "notifications": { "toolsListChanged": true } }));
    let headers = [
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "subscriptions/listen"),
    ];
    let mut listening = served.open("POST", "/mcp", &headers, body.to_string().as_bytes());
    let mut begun = [0_u8; 12];
    listening.read_exact(&mut begun).unwrap();
    terminate(served.pid());
    assert!(served.wait().success());
    let output = served.all();
    assert!(!output.contains("calls are still running"), "{output}");
}

#[test]
fn the_same_answers_as_on_pipes() {
    let (served, mut piped) = (HttpServer::tasks(), StdioServer::tasks());
    for (tool, arguments) in [
        ("mcp_aql_create", json!({ "operation": "create_task", "title": "a" })),
        ("mcp_aql_read", json!({ "operation": "introspect", "params": { "query": "operations" } })),
        ("mcp_aql_read", json!({ "operation": "introspect", "params": { "query": "types", "name": "Task" } })),
        (
            "mcp_aql_update",
            json!({ "operation": "update_task", "params": { "id": 1, "input": { "notes": { "a": 1 } } } }),
        ),
        ("mcp_aql_read", json!({ "operations": [{ "operation": "get_task", "id": 1 }, { "operation": "get_task" }] })),
        ("mcp_aql_delete", json!({ "operation": "get_task" })),
    ] {
        assert_eq!(served.call(tool, arguments.clone()), piped.call(tool, arguments));
    }
}
