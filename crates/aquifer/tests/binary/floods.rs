//! Clients that send more than they read, and open more than they use.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::support::{Folder, HttpServer, TIMEOUT, alter, envelope, stateless_body};

const INITIALIZE: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tests","version":"1"}}}"#;

fn in_session(served: &HttpServer, id: &str, body: &Value) -> crate::support::Answer {
    served.post(&[("mcp-session-id", id), ("mcp-protocol-version", "2025-06-18")], body.to_string().as_bytes())
}

/// The task board, alone or beside a database, with limits as the operator has set them.
fn serve(folder: &Folder, has_several_sources: bool, limits: &str) -> HttpServer {
    let tasks = "[[source]]\ntarget = \"tasks:\"\nprefix = \"\"\n";
    let mut config = format!("[http]\naddress = \"127.0.0.1:0\"\n{limits}\n{tasks}");
    if has_several_sources {
        let file = folder.path("shelf.db");
        alter(&file, "CREATE TABLE IF NOT EXISTS books (id INTEGER PRIMARY KEY);");
        config += &format!("[[source]]\ntarget = \"sqlite:{file}\"\n");
    }
    HttpServer::start(&["serve", "--config", &folder.file("aquifer.toml", &config)])
}

/// With one source and with several, before and after a restart.
fn in_every_setting(attack: impl Fn(&Folder, bool)) {
    for has_several_sources in [false, true] {
        let folder = Folder::new();
        for _ in ["before a restart", "after a restart"] {
            attack(&folder, has_several_sources);
        }
    }
}

#[test]
fn a_thousand_sessions_lock_nobody_out() {
    in_every_setting(|folder, has_several_sources| flood_with_sessions(&serve(folder, has_several_sources, "")));
}

fn flood_with_sessions(served: &HttpServer) {
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let used = served.post(&[], INITIALIZE).header("mcp-session-id").unwrap();
    assert_eq!(in_session(served, &used, &list).status, 200);
    let mut refused = 0;
    for _ in 0..1_200 {
        let answer = served.post(&[], INITIALIZE);
        assert!(
            answer.status == 200 || (answer.status == 503 && answer.header("retry-after").is_some()),
            "{}",
            answer.body
        );
        refused += usize::from(answer.status == 503);
    }
    assert!(refused < 1_200);
    assert_eq!(in_session(served, &used, &list).status, 200, "whoever uses a session keeps it");
    let newcomer = crate::support::until("a session", || {
        let answer = served.post(&[], INITIALIZE);
        answer.header("mcp-session-id").filter(|_| answer.status == 200)
    });
    assert_eq!(in_session(served, &newcomer, &list).status, 200);
}

/// A server whose operator has set the limits low, with tasks of which a hundred make a large answer.
fn with_large_tasks(folder: &Folder, has_several_sources: bool) -> (HttpServer, Vec<u8>) {
    let served = serve(folder, has_several_sources, "max_unread_bytes = 50000000\nwrite_timeout_seconds = 2\n");
    let large = json!({ "operation": "create_task", "title": "x".repeat(90_000) });
    assert_eq!(served.call("mcp_aql_create", large)["success"], true);
    let batch = json!({ "operations": vec![json!({ "operation": "get_task", "params": { "id": 1 } }); 100] });
    let (body, _) = stateless_body("tools/call", json!({ "name": "mcp_aql_read", "arguments": batch }));
    (served, body.to_string().into_bytes())
}

const CALL: [(&str, &str); 5] = [
    ("content-type", "application/json"),
    ("accept", "application/json, text/event-stream"),
    ("mcp-protocol-version", "2026-07-28"),
    ("mcp-method", "tools/call"),
    ("mcp-name", "mcp_aql_read"),
];

#[test]
fn unread_answers_are_dropped_and_others_are_served() {
    in_every_setting(flood_with_unread_answers);
}

fn flood_with_unread_answers(folder: &Folder, has_several_sources: bool) {
    let (served, batch) = with_large_tasks(folder, has_several_sources);
    let whole = served.send("POST", "/mcp", &CALL, &batch);
    assert!(whole.body.len() > 15_000_000, "{} bytes", whole.body.len());
    let mut silent: Vec<TcpStream> = (0..30).map(|_| served.open("POST", "/mcp", &CALL, &batch)).collect();
    // Somebody who reads is served meanwhile, or told to come back and served then.
    for _ in 0..5 {
        let answer = crate::support::until("an answer", || {
            let answer = served.stateless(
                "tools/call",
                json!({ "name": "mcp_aql_read", "arguments": { "operation": "list_tasks", "done": true } }),
            );
            (answer.status == 200).then(|| envelope(&answer.json()))
        });
        assert_eq!(answer["success"], true, "{answer}");
    }
    // Nobody who took nothing is waited for: each has a refusal, or the beginning of an answer and a closed connection.
    let mut given_up = 0;
    for stream in &mut silent {
        let mut got = Vec::new();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let _ = stream.read_to_end(&mut got);
        given_up += usize::from(got.starts_with(b"HTTP/1.0 503") || got.len() < whole.body.len());
    }
    assert!(given_up >= 25, "{given_up} of 30 were given up");
    assert_eq!(served.send("POST", "/mcp", &CALL, &batch).body.len(), whole.body.len(), "and there is room again");
}

#[test]
fn silent_connections_lock_nobody_out() {
    let folder = Folder::new();
    // Room for 3,048 connections and one for the session, which is what these exceed.
    let served = serve(&folder, false, "max_sessions = 1");
    let mut half_open = Vec::new();
    for index in 0..3_200 {
        // Where the system gives this test fewer, the server is not full, and serves us anyway.
        let Ok(mut stream) = TcpStream::connect(&served.authority) else { break };
        let begun: &[u8] = match index % 4 {
            0 => b"",
            1 => b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: ",
            _ => b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n{",
        };
        let _ = stream.write_all(begun);
        half_open.push(stream);
    }
    assert_eq!(served.call("mcp_aql_read", json!({ "operation": "list_tasks" }))["success"], true);
}
