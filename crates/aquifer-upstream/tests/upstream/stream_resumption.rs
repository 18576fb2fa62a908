//! Streams that end before the answer is complete are resumed after the last complete event, at the time the server
//! asks for. The call is never sent again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aquifer_upstream::Settings;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::support::{Gateway, until};

/// What one stream of a call does. The first one answers the call, the others answer reconnections.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// Sends this text and ends. `ANSWER` stands for the answer to the call.
    Events(&'static str),
    Status(u16),
    /// Closes the connection without sending anything.
    Drop,
}

use Step::{Drop, Events, Status};

/// A server whose tool answers in steps.
struct StreamServer {
    state: Arc<State>,
    port: u16,
    _tasks: JoinSet<()>,
}

#[derive(Default)]
struct State {
    steps: Mutex<VecDeque<Step>>,
    /// The answer to the call, once its id is known.
    answer: Mutex<String>,
    calls: Mutex<usize>,
    resumed_after: Mutex<Vec<String>>,
    /// The steps of the notification stream, if there is one.
    has_own_stream: bool,
}

impl StreamServer {
    async fn start(steps: &[Step]) -> Self {
        Self::start_with(steps, false).await
    }

    async fn start_with(steps: &[Step], has_own_stream: bool) -> Self {
        let steps = Mutex::new(steps.iter().copied().collect());
        let state = Arc::new(State { steps, has_own_stream, ..State::default() });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        let own = state.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let state = own.clone();
                connections.spawn(async move { serve(BufReader::new(stream), &state).await });
            }
        });
        Self { state, port, _tasks: tasks }
    }

    fn settings(&self) -> Settings {
        let mut settings = Settings::http("scripted", &format!("http://127.0.0.1:{}/mcp", self.port));
        settings.timeout = Duration::from_secs(30);
        settings
    }
}

/// Answers one request and closes the connection.
async fn serve(mut stream: BufReader<TcpStream>, state: &State) -> Option<()> {
    let (mut method, mut length, mut after) = (String::new(), 0, None);
    loop {
        let mut line = Vec::new();
        stream.read_until(b'\n', &mut line).await.ok()?;
        let line = String::from_utf8_lossy(&line).trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        match line.split_once(": ") {
            None => method = line.split(' ').next()?.to_owned(),
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().ok()?,
            Some((name, value)) if name.eq_ignore_ascii_case("last-event-id") => after = Some(value.to_owned()),
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let id = &message["id"];
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
    let plain = |status: u16, body: &str| {
        format!(
            "HTTP/1.1 {status} Status\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        )
    };
    let answer = match (method.as_str(), message["method"].as_str()) {
        ("POST", Some("initialize")) => plain(
            200,
            &result(json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "scripted", "version": "1" },
            })),
        ),
        ("POST", Some("tools/list")) => {
            plain(200, &result(json!({ "tools": [{ "name": "create_it", "inputSchema": { "type": "object" } }] })))
        }
        ("POST", Some("ping")) => plain(200, &result(json!({}))),
        ("POST", Some("tools/call")) => {
            *state.calls.lock() += 1;
            *state.answer.lock() = result(json!({ "content": [{ "type": "text", "text": "done" }] }));
            next_step(state)?
        }
        ("POST", _) => plain(202, ""),
        ("GET", _) => match after {
            Some(after) => {
                state.resumed_after.lock().push(after);
                next_step(state)?
            }
            None if state.has_own_stream => next_step(state)?,
            None => plain(405, ""),
        },
        _ => plain(200, ""),
    };
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

fn next_step(state: &State) -> Option<String> {
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    match state.steps.lock().pop_front() {
        Some(Events(text)) => Some(format!("{events}{}", text.replace("ANSWER", &state.answer.lock()))),
        Some(Status(status)) => {
            Some(format!("HTTP/1.1 {status} Status\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
        }
        Some(Drop) | None => None,
    }
}

/// The streams of the call, and the ids they are resumed after.
const ANSWERED: &[(&[Step], &[&str])] = &[
    (&[Events("data: ANSWER\n\n")], &[]),
    (&[Events("id: 1\nretry: 300\ndata: \n\n"), Events("id: 2\ndata: ANSWER\n\n")], &["1"]),
    (&[Events("id: 1\n\n"), Events("data: ANSWER\n\n")], &["1"]),
    (&[Events("id: \u{fc}/=1\ndata: \n\n"), Events("data: ANSWER\n\n")], &["\u{fc}/=1"]),
    // Cut off in the middle of the answer, which is therefore sent again.
    (&[Events("id: 1\ndata: \n\nid: 2\ndata: {\"jsonrpc\": \"2."), Events("id: 2\ndata: ANSWER\n\n")], &["1"]),
    (&[Events("id: 1\ndata: \n\nid: 2\ndata: ANSWER\n"), Events("id: 2\ndata: ANSWER\n\n")], &["1"]),
    // A server may make its client poll for any time.
    (
        &[
            Events("id: 1\nretry: 250\ndata: \n\n"),
            Events("id: 2\ndata: \n\n"),
            Events("id: 3\ndata: \n\n"),
            Events("id: 4\ndata: \n\n"),
            Events("id: 5\ndata: \n\n"),
            Events("id: 6\ndata: \n\n"),
            Events("id: 7\ndata: \n\n"),
            Events("id: 8\ndata: \n\n"),
            Events("id: 9\ndata: ANSWER\n\n"),
        ],
        &["1", "2", "3", "4", "5", "6", "7", "8"],
    ),
    // Unavailable for a moment.
    (
        &[Events("id: 1\nretry: 250\ndata: \n\n"), Drop, Status(503), Events(""), Events("data: ANSWER\n\n")],
        &["1", "1", "1", "1"],
    ),
];

#[tokio::test]
async fn r_saf_3_a_stream_is_resumed_and_the_call_is_sent_once() {
    for (steps, expected) in ANSWERED {
        let server = StreamServer::start(steps).await;
        let gateway = Gateway::ready(server.settings()).await;
        assert_eq!(gateway.get("create_it", json!({})).await, "done", "{steps:?}");
        assert_eq!(*server.state.resumed_after.lock(), *expected, "{steps:?}");
        assert_eq!(*server.state.calls.lock(), 1, "{steps:?}");
    }
}

#[tokio::test]
async fn r_saf_3_a_stream_that_cannot_be_resumed_leaves_the_outcome_unknown() {
    let same = Events("id: 1\nretry: 250\ndata: \n\n");
    for (steps, resumptions) in [
        // Nothing to resume after.
        (vec![Events("data: \n\n")], 0),
        (vec![Events("id: 1\ndata: {\"half")], 0),
        (vec![Events("id: 1\ndata: \n\nid\ndata: \n\n")], 0),
        (vec![Events("id: a\u{7f}b\ndata: \n\n")], 0),
        // Refused.
        (vec![same, Status(404)], 1),
        (vec![same, Status(405)], 1),
        // Repeatedly nothing new.
        (vec![same; 20], 5),
        (vec![same], 5),
    ] {
        let server = StreamServer::start(&steps).await;
        let gateway = Gateway::ready(server.settings()).await;
        let error = gateway.refused("create_it", json!({}), "UPSTREAM_UNAVAILABLE").await;
        assert_eq!(error["details"]["outcome"], "unknown", "{steps:?}: {error}");
        assert_eq!(server.state.resumed_after.lock().len(), resumptions, "{steps:?}");
        assert_eq!(*server.state.calls.lock(), 1, "{steps:?}");
    }
}

#[tokio::test]
async fn the_notification_stream_is_resumed() {
    let changed =
        "id: 1\nretry: 250\ndata: {\"jsonrpc\": \"2.0\", \"method\": \"notifications/message\", \"params\": {}}\n\n";
    let steps = [Events(changed), Events("id: 2\ndata: \n\nid: 3\ndata: {\"half"), Drop, Events("id\ndata: \n\n")];
    let server = StreamServer::start_with(&steps, true).await;
    let _stage = Gateway::ready(server.settings()).await;
    // An empty id means that there is nothing to resume after.
    until("all steps were taken", async || server.state.steps.lock().is_empty()).await;
    assert_eq!(*server.state.resumed_after.lock(), ["1", "2", "2"]);
}
