//! Clients that send more than they read, open more than they use, and ask for more than is theirs.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::postgres::Database;
use crate::support::{
    Folder, HttpServer, HttpSession, Server, TIMEOUT, Transport, alter, call_message, envelope, forgetful,
    running_threads, stateless_body, until,
};

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
    let newcomer = until("a session", || {
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
        let answer = until("an answer", || {
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

const BOOKS: &str = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES (1, 'Notes');";

/// A file and a server that have books, and a list that never ends on its own: one computes, the other waits.
struct SlowDatabases {
    _folder: Folder,
    file: String,
    database: Database,
}

impl SlowDatabases {
    fn new() -> Self {
        let endless = "CREATE VIEW slow_books AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                       SELECT i FROM n WHERE i < 0;";
        let folder = Folder::new();
        let file = folder.database("books.db", &format!("{BOOKS}{endless}"));
        let waiting = "CREATE VIEW slow_books AS SELECT 1 AS i FROM pg_sleep(600);";
        Self { file: format!("sqlite:{file}"), _folder: folder, database: Database::with(&format!("{BOOKS}{waiting}")) }
    }

    fn targets(&self) -> [&str; 2] {
        [&self.file, &self.database.url]
    }

    /// Waits until so many of the lists run.
    fn wait_until_running(&self, target: &str, pid: u32, count: usize) {
        let running = "SELECT count(*) FROM pg_stat_activity
                       WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()";
        until("the lists run", || {
            let found = match target == self.file {
                true => running_threads(pid),
                false => usize::try_from(self.database.query(running)[0].get::<_, i64>(0)).unwrap(),
            };
            (found >= count).then_some(())
        });
    }
}

/// A server on HTTP in front of one of them, where a list takes as long as it likes.
fn serve_slow(folder: &Folder, target: &str) -> HttpServer {
    let config = format!("[[source]]\ntarget = \"{target}\"\ntimeout_seconds = 600\n");
    let config = folder.file("slow.toml", &config);
    HttpServer::spawn(forgetful(folder).args(["serve", "--config", &config, "--http", "127.0.0.1:0"]))
}

fn slow_lists(count: usize) -> Value {
    json!({ "operations": vec![json!({ "operation": "list_slow_books" }); count] })
}

/// What another caller asks for meanwhile.
fn get_book(call: impl Fn(&str, Value) -> Value) {
    let answer = call("mcp_aql_read", json!({ "operation": "get_book", "params": { "id": 1 } }));
    assert_eq!(answer["data"]["title"], "Notes", "{answer}");
}

#[test]
fn a_batch_of_slow_lists_keeps_nobody_else_waiting() {
    let (databases, folder) = (SlowDatabases::new(), Folder::new());
    for target in databases.targets() {
        let served = serve_slow(&folder, target);
        let [greedy, modest] = [(); 2].map(|()| HttpSession::new(&served, &json!({})));
        let _waits = greedy.open(&call_message("mcp_aql_read", slow_lists(32)));
        // Half of the eight connections.
        databases.wait_until_running(target, served.pid(), 4);
        get_book(|tool, arguments| modest.call(tool, arguments));
        get_book(|tool, arguments| served.call(tool, arguments));
        let listed = modest.call("mcp_aql_read", json!({ "operation": "list_books" }));
        assert_eq!(listed["data"]["items"][0]["title"], "Notes", "{listed}");
        // Nor does it keep its own session from a row.
        let mut own = call_message("mcp_aql_read", json!({ "operation": "get_book", "params": { "id": 1 } }));
        own["id"] = "other".into();
        assert_eq!(envelope(&greedy.post(&own).json())["data"]["title"], "Notes");
        databases.wait_until_running(target, served.pid(), 4);
    }
}

/// Where every connection is taken, there is one more for a row by its key.
#[test]
fn slow_lists_of_eight_callers_keep_nobody_from_a_row() {
    let (databases, folder) = (SlowDatabases::new(), Folder::new());
    for target in databases.targets() {
        let served = serve_slow(&folder, target);
        let callers: Vec<HttpSession> = (0..8).map(|_| HttpSession::new(&served, &json!({}))).collect();
        let _wait: Vec<TcpStream> =
            callers.iter().map(|caller| caller.open(&call_message("mcp_aql_read", slow_lists(1)))).collect();
        databases.wait_until_running(target, served.pid(), 8);
        let modest = HttpSession::new(&served, &json!({}));
        for _ in 0..3 {
            get_book(|tool, arguments| modest.call(tool, arguments));
            get_book(|tool, arguments| served.call(tool, arguments));
        }
        databases.wait_until_running(target, served.pid(), 8);
    }
}

#[test]
fn a_batch_has_a_time_after_which_nothing_of_it_begins() {
    let (databases, folder) = (SlowDatabases::new(), Folder::new());
    let mut operations = vec![json!({ "operation": "get_book", "params": { "id": 1 } })];
    operations.extend(vec![json!({ "operation": "list_slow_books" }); 20]);
    operations.push(json!({ "operation": "create_book", "params": { "id": 2, "title": "Late" } }));
    operations.push(json!({ "operation": "get_book", "params": { "id": 1 } }));
    for (target, transport) in databases.targets().iter().flat_map(|target| Transport::BOTH.map(|to| (target, to))) {
        let source = format!("[[source]]\ntarget = \"{target}\"\ntimeout_seconds = 600\nmax_connections = 1\n");
        let config = folder.file("aquifer.toml", &format!("[batch]\ntimeout_seconds = 2\n{source}"));
        let mut server =
            Server::spawn(transport, forgetful(&folder).args(["serve", "--mode", "single", "--config", &config]));
        let first = server.call("mcp_aql", operations[0].clone());
        assert_eq!(first["data"]["title"], "Notes", "{first}");
        let answer = server.call("mcp_aql", json!({ "operations": operations }));
        let results: Vec<&Value> = answer["results"].as_array().unwrap().iter().map(|one| &one["result"]).collect();
        assert_eq!(results.len(), operations.len(), "{answer}");
        assert_eq!(results[0]["data"]["title"], "Notes", "{answer}");
        let errors: Vec<&Value> = results[1..].iter().map(|result| &result["error"]).collect();
        assert!(errors.iter().all(|error| error["code"] == "UPSTREAM_TIMEOUT"), "{answer}");
        let messages: Vec<&str> = errors.iter().map(|error| error["message"].as_str().unwrap()).collect();
        assert!(messages[0].contains("was cancelled"), "{answer}");
        for message in &messages[20..] {
            assert!(message.contains("this operation was not run"), "{answer}");
        }
        // Its lists have ended, and the change was not made.
        let listed = server.call("mcp_aql", json!({ "operation": "list_books" }));
        assert_eq!(listed["data"]["items"].as_array().map(Vec::len), Some(1), "{listed}");
        until("nothing runs", || (running_threads(server.pid()) == 0).then_some(()));
    }
}
