//! An MCP server over HTTP that executes calls and then fails as configured. It counts executions and sessions.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use aquifer_upstream::Settings;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// The maximum size of an answer that the gateway accepts from this server.
pub(crate) const MAX_ANSWER: usize = 64 * 1024;

/// What happens after a tool call was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// This status, with an empty body.
    Status(u16),
    /// This status and a `Retry-After`.
    RetryAfter(u16),
    /// This status, with a JSON-RPC error for the request.
    Answer(u16),
    /// The same, as an event.
    AnswerAsEvent(u16),
    /// This status, with a JSON-RPC error whose id is null.
    NullId(u16),
    /// This status, with a JSON-RPC error whose id was chosen by the server.
    ForeignId(u16),
    /// A redirect to another path of the same server.
    Redirect(u16),
    /// The connection is closed.
    Drop,
    /// Fewer bytes than announced, then the connection is closed.
    HalfBody,
    /// Half of a JSON text without any error.
    HalfJson,
    /// An invalid tool result.
    BadResult,
    /// A result that reports a failure of the tool.
    ToolError,
    /// Never any answer.
    Silence,
    /// More bytes than accepted.
    TooLarge,
    /// The same, without announcing the size.
    TooLargeUnannounced,
    /// An answer to another request.
    OtherId,
    /// A stream that ends before the answer.
    StreamEnds,
    /// The same, with an event id, but resuming fails.
    StreamCannotResume,
    /// A result as soon as the test releases it.
    WhenReleased,
}

/// The answer to a GET request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// A stream that stays open.
    Open,
    /// A stream that ends immediately.
    Ends,
    Status(u16),
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Behaviour {
    pub(crate) fault: Fault,
    pub(crate) stream: Stream,
    /// The answer to a request in an unknown session.
    pub(crate) unknown_session: Fault,
    /// The path of the server. Other paths are redirected to it.
    pub(crate) path: &'static str,
    /// Whether a ping fails like a call.
    pub(crate) ping_fails: bool,
    /// Whether the server speaks the stateless revision, in which it first answers a call with a question.
    pub(crate) questions: Questions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Questions {
    /// None: the server has sessions.
    None,
    /// One, and then the call fails as configured.
    One,
    /// One, and then the server disappears.
    OneThenGone,
    /// Another after every answer.
    Endless,
    /// It keeps requesting the roots.
    EndlessRoots,
    /// It keeps requesting input without a question.
    Empty,
}

#[derive(Default)]
pub(crate) struct Log {
    executed: BTreeMap<String, usize>,
    live: HashSet<String>,
    pub(crate) opened: usize,
    pub(crate) streams: usize,
    /// Ended sessions in order, including unknown ones.
    pub(crate) ended: Vec<String>,
    /// What happened, in order: `execute`, `answer`, `delete`.
    pub(crate) events: Vec<&'static str>,
}

struct State {
    behaviour: Mutex<Behaviour>,
    log: Mutex<Log>,
    release: Notify,
    gone: CancellationToken,
}

/// A running server. Dropping it ends the server.
pub(crate) struct FaultyServer {
    state: Arc<State>,
    port: u16,
    _tasks: JoinSet<()>,
}

struct Request {
    method: String,
    path: String,
    session: Option<String>,
    last_event: bool,
    body: Value,
}

impl FaultyServer {
    pub(crate) async fn start(fault: Fault) -> Self {
        let behaviour = Behaviour {
            fault,
            stream: Stream::Status(405),
            unknown_session: Fault::Status(404),
            path: "/mcp",
            ping_fails: false,
            questions: Questions::None,
        };
        let (behaviour, log) = (Mutex::new(behaviour), Mutex::default());
        let state = Arc::new(State { behaviour, log, release: Notify::new(), gone: CancellationToken::new() });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut tasks = JoinSet::new();
        let served = state.clone();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Some(Ok((stream, _))) = served.gone.run_until_cancelled(listener.accept()).await {
                connections.spawn(serve(stream, served.clone()));
            }
        });
        Self { state, port, _tasks: tasks }
    }

    pub(crate) fn settings(&self) -> Settings {
        let mut settings = Settings::http("odd", &format!("http://127.0.0.1:{}/mcp", self.port));
        settings.timeout = Duration::from_secs(20);
        settings.start_timeout = Duration::from_secs(20);
        settings.max_answer_bytes = MAX_ANSWER;
        settings
    }

    pub(crate) fn set(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.behaviour.lock());
    }

    pub(crate) fn log<T>(&self, read: impl FnOnce(&mut Log) -> T) -> T {
        read(&mut self.state.log.lock())
    }

    /// How often a tool was executed.
    pub(crate) fn executed(&self, tool: &str) -> usize {
        self.log(|log| log.executed.get(tool).copied().unwrap_or_default())
    }

    /// Forgets all sessions, as after a restart.
    pub(crate) fn forget_sessions(&self) {
        self.log(|log| log.live.clear());
    }

    pub(crate) fn release(&self) {
        self.state.release.notify_waiters();
        self.state.release.notify_one();
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream).await {
        if !answer(&mut stream, &request, &state).await {
            return;
        }
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split_whitespace().map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let (mut session, mut length, mut last_event) = (None, 0, false);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name.to_ascii_lowercase().as_str() {
            "mcp-session-id" => session = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            "last-event-id" => last_event = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(Request { method, path, session, last_event, body: serde_json::from_slice(&body).unwrap_or_default() })
}

/// Returns whether the connection can be reused.
async fn answer(stream: &mut BufReader<TcpStream>, request: &Request, state: &Arc<State>) -> bool {
    let behaviour = *state.behaviour.lock();
    if request.path != behaviour.path {
        return send(stream, 307, &[("Location", behaviour.path)], "").await;
    }
    match request.method.as_str() {
        "GET" => {
            state.log.lock().streams += 1;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            match behaviour.stream {
                Stream::Status(status) => return send(stream, status, &[], "").await,
                _ if request.last_event => return send(stream, 405, &[], "").await,
                Stream::Ends => drop(stream.write_all(head.as_bytes()).await),
                Stream::Open => {
                    drop(stream.write_all(head.as_bytes()).await);
                    drop(stream.read(&mut [0]).await);
                }
            }
            false
        }
        "DELETE" => {
            let id = request.session.clone().unwrap_or_default();
            {
                let mut log = state.log.lock();
                log.live.remove(&id);
                log.ended.push(id);
                log.events.push("delete");
            }
            send(stream, 200, &[], "").await
        }
        _ => post(stream, request, state, behaviour).await,
    }
}

async fn post(stream: &mut BufReader<TcpStream>, request: &Request, state: &State, behaviour: Behaviour) -> bool {
    let body = &request.body;
    let id = &body["id"];
    let known = request.session.as_ref().is_some_and(|id| state.log.lock().live.contains(id));
    let is_stateless = behaviour.questions != Questions::None;
    let method = body["method"].as_str().unwrap_or_default();
    let result = match method {
        "initialize" | "server/discover" | "subscriptions/listen" if is_stateless != (method == "server/discover") => {
            return fail(stream, Fault::Answer(200), id).await;
        }
        "server/discover" => json!({ "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": { "tools": {} } }),
        "initialize" => {
            let session = {
                let mut log = state.log.lock();
                log.opened += 1;
                let session = format!("session-{}", log.opened);
                log.live.insert(session.clone());
                session
            };
            let result = json!({ "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                "serverInfo": { "name": "odd", "version": "1" } });
            let text = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
            return send(stream, 200, &[("Mcp-Session-Id", &session)], &text).await;
        }
        _ if !known && !is_stateless => return fail(stream, behaviour.unknown_session, id).await,
        _ if id.is_null() => return send(stream, 202, &[], "").await,
        "ping" if behaviour.ping_fails => return fail(stream, behaviour.fault, id).await,
        "ping" => json!({}),
        "tools/list" => tools(),
        "tools/call" => {
            let answered = body["params"]["inputResponses"].is_object();
            {
                let mut log = state.log.lock();
                let tool = body["params"]["name"].as_str().unwrap_or_default();
                let name = if answered { format!("{tool} continued") } else { tool.to_owned() };
                *log.executed.entry(name).or_default() += 1;
                log.events.push("execute");
            }
            let is_asked_again = !matches!(behaviour.questions, Questions::One | Questions::OneThenGone);
            if is_stateless && (!answered || is_asked_again) {
                let form = json!({ "message": "Sure?", "requestedSchema": { "type": "object", "properties": {} } });
                let result = match behaviour.questions {
                    Questions::Empty => json!({ "resultType": "input_required" }),
                    Questions::EndlessRoots => json!({ "resultType": "input_required",
                        "inputRequests": { "q": { "method": "roots/list" } } }),
                    _ => json!({ "resultType": "input_required", "requestState": "s",
                        "inputRequests": { "q": { "method": "elicitation/create", "params": form } } }),
                };
                let text = json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string();
                let sent = send(stream, 200, &[], &text).await;
                if behaviour.questions == Questions::OneThenGone {
                    state.gone.cancel();
                }
                return sent;
            }
            match behaviour.fault {
                Fault::None => {}
                Fault::WhenReleased => state.release.notified().await,
                fault => return fail(stream, fault, id).await,
            }
            state.log.lock().events.push("answer");
            json!({ "content": [{ "type": "text", "text": "done" }] })
        }
        _ => return fail(stream, Fault::Answer(200), id).await,
    };
    send(stream, 200, &[], &json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await
}

fn tools() -> Value {
    let tool = |name: &str, hints: Value| {
        json!({ "name": name, "description": format!("Does {name}."), "annotations": hints,
            "inputSchema": { "type": "object", "properties": {} } })
    };
    json!({ "tools": [
        tool("get_account", json!({ "readOnlyHint": true })),
        tool("delete_account", json!({ "readOnlyHint": false, "destructiveHint": true })),
        // Declared idempotent, but not read-only.
        tool("set_account", json!({ "readOnlyHint": false, "destructiveHint": false, "idempotentHint": true })),
        tool("frobnicate", json!({})),
    ] })
}

async fn fail(stream: &mut BufReader<TcpStream>, fault: Fault, id: &Value) -> bool {
    let error = |id: &Value| {
        json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32000, "message": "no such account" } }).to_string()
    };
    let answer = |id: &Value, text: &str| {
        let result = json!({ "content": [{ "type": "text", "text": text }] });
        json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()
    };
    let large = answer(id, &"x".repeat(2 * MAX_ANSWER));
    let whole = answer(id, "done");
    let half = whole.get(..whole.len() / 2).unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    let events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
    let raw = match fault {
        Fault::Status(status) => return send(stream, status, &[], "").await,
        Fault::RetryAfter(status) => return send(stream, status, &[("Retry-After", "1")], "").await,
        Fault::Answer(status) => return send(stream, status, &[], &error(id)).await,
        Fault::AnswerAsEvent(status) => {
            let text = format!("data: {}\n\n", error(id));
            return send(stream, status, &[("Content-Type", "text/event-stream")], &text).await;
        }
        Fault::NullId(status) => return send(stream, status, &[], &error(&Value::Null)).await,
        Fault::ForeignId(status) => return send(stream, status, &[], &error(&json!("server-error"))).await,
        Fault::Redirect(status) => return send(stream, status, &[("Location", "/mcp?elsewhere")], "").await,
        Fault::OtherId => return send(stream, 200, &[], &answer(&json!(999_999), "done")).await,
        Fault::BadResult => {
            let text = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": "no list" } }).to_string();
            return send(stream, 200, &[], &text).await;
        }
        Fault::ToolError => {
            let result = json!({ "content": [{ "type": "text", "text": "half done" }], "isError": true });
            return send(stream, 200, &[], &json!({ "jsonrpc": "2.0", "id": id, "result": result }).to_string()).await;
        }
        Fault::TooLarge => return send(stream, 200, &[], &large).await,
        Fault::Silence => {
            drop(stream.read(&mut [0]).await);
            return false;
        }
        Fault::None | Fault::Drop | Fault::WhenReleased => String::new(),
        Fault::HalfBody => format!("{head}Content-Length: {}\r\n\r\n{half}", whole.len()),
        Fault::HalfJson => format!("{head}Content-Length: {}\r\n\r\n{half}", half.len()),
        Fault::TooLargeUnannounced => format!("{head}Connection: close\r\n\r\n{large}"),
        Fault::StreamEnds => format!("{events}: working\n\n"),
        Fault::StreamCannotResume => format!("{events}id: e1\ndata: \n\n"),
    };
    drop(stream.write_all(raw.as_bytes()).await);
    drop(stream.flush().await);
    false
}

async fn send(stream: &mut BufReader<TcpStream>, status: u16, headers: &[(&str, &str)], body: &str) -> bool {
    let mut text = format!("HTTP/1.1 {status} Status\r\nContent-Length: {}\r\n", body.len());
    if headers.iter().all(|(name, _)| *name != "Content-Type") {
        text.push_str("Content-Type: application/json\r\n");
    }
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    stream.write_all(text.as_bytes()).await.is_ok() && stream.flush().await.is_ok()
}
