//! Hostile clients against a listening server. The tests read the number of held bytes from the server's own
//! accounting.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod answers;
mod bodies;
mod direct;
mod hosts;
mod sessions;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use aquifer_engine::source::{Call, Offering, Outcome};
use aquifer_engine::{Answer, Engine, Settings, Source};
use aquifer_protocol::category::Category;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::surface::{Mode, Profile, Surface};
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::endpoint::McpEndpoint;
use super::{HttpServer, HttpSettings};

const MIB: usize = 1024 * 1024;

/// Long enough for a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// The data of a large answer, and the approximate size of its message: the text twice, once quoted.
const LARGE: usize = 900 * 1024;
const LARGE_MESSAGE: usize = 2 * LARGE;

/// A source with small, large and blocking answers. Counts its calls.
struct Board {
    calls: AtomicUsize,
    slow: Semaphore,
}

impl Source for Board {
    fn name(&self) -> &str {
        "board"
    }

    fn offering(&self) -> Offering {
        let operations = ["get_small", "get_large", "get_slow"];
        let operations = operations.map(|name| Operation::new(name, Category::Read, "Get something."));
        Offering { operations: operations.into(), ..Offering::default() }
    }

    fn call(&self, call: Call) -> BoxFuture<'_, Outcome> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        async move {
            Outcome::Done(match &*call.name {
                "get_large" => {
                    let text = format!("\"{}\"", "x".repeat(LARGE));
                    Answer { data: Data::Text(JsonText::checked(text).unwrap()), ..Answer::new(Value::Null) }
                }
                "get_slow" => {
                    self.slow.acquire().await.unwrap().forget();
                    Answer::new(json!("at last"))
                }
                _ => Answer::new(json!("small")),
            })
        }
        .boxed()
    }
}

struct Server {
    address: SocketAddr,
    endpoint: Arc<McpEndpoint>,
    engine: Arc<Engine>,
    board: Arc<Board>,
    _stop: DropGuard,
}

impl Server {
    /// A server with a budget of a few answers and adjusted settings.
    async fn start(change: impl FnOnce(&mut HttpSettings)) -> Self {
        let board = Arc::new(Board { calls: AtomicUsize::new(0), slow: Semaphore::new(0) });
        let surface = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "").unwrap();
        let limits = Limits { max_response_size: MIB, ..Limits::default() };
        let builder =
            Engine::builder(surface).source(board.clone()).settings(Settings { limits, ..Settings::default() });
        let engine = Arc::new(builder.build().unwrap());
        let mut settings = HttpSettings::new("127.0.0.1:0".parse().unwrap());
        settings.max_unread_bytes = 8 * MIB;
        change(&mut settings);
        let server = HttpServer::bind(engine.clone(), settings).await.unwrap();
        let (address, endpoint, stop) = (server.address(), server.endpoint.clone(), CancellationToken::new());
        tokio::spawn(server.serve(stop.clone()));
        Self { address, endpoint, engine, board, _stop: stop.drop_guard() }
    }

    fn held(&self) -> usize {
        self.endpoint.connections().held()
    }

    fn open_connections(&self) -> usize {
        self.endpoint.connections().lock().len()
    }

    fn calls_made(&self) -> usize {
        self.board.calls.load(Ordering::SeqCst)
    }

    async fn connect(&self) -> Client {
        Client { stream: TcpStream::connect(self.address).await.unwrap(), buffer: Vec::new() }
    }

    /// Sends a request on a new connection and reads its answer.
    async fn ask(&self, request: &[u8]) -> TestResponse {
        let mut client = self.connect().await;
        client.send(request).await;
        client.answer().await.expect("an answer")
    }

    /// Opens a session as an older client does.
    async fn open_session(&self) -> Result<String, TestResponse> {
        let opened = self.ask(&initialize()).await;
        let id = opened.header("mcp-session-id").map(str::to_owned);
        id.filter(|_| opened.status == 200).ok_or(opened)
    }

    async fn in_session(&self, session: &str, message: &Value) -> TestResponse {
        self.ask(&session_request(session, message)).await
    }
}

/// Waits until a condition holds.
async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let reached = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(DEADLINE, reached).await.unwrap_or_else(|_| panic!("{what}"));
}

/// One connection.
struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Debug)]
struct TestResponse {
    status: u16,
    head: String,
    body: String,
}

impl TestResponse {
    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The JSON of the body: the body itself, or the last event of a stream.
    fn json(&self) -> Value {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let last = events.map(str::trim).rfind(|data| !data.is_empty()).unwrap_or(&self.body);
        serde_json::from_str(last).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

impl Client {
    async fn send(&mut self, bytes: &[u8]) {
        // A server that refuses early may close before everything is sent.
        let _ = self.stream.write_all(bytes).await;
    }

    async fn more(&mut self) -> bool {
        let mut piece = vec![0_u8; 64 * 1024];
        let read = tokio::time::timeout(DEADLINE, self.stream.read(&mut piece)).await.expect("something in time");
        match read {
            Ok(count) if count > 0 => {
                self.buffer.extend_from_slice(&piece[..count]);
                true
            }
            _ => false,
        }
    }

    /// The next answer, or `None` if the connection is closed before its end.
    async fn answer(&mut self) -> Option<TestResponse> {
        let head = loop {
            match memchr::memmem::find(&self.buffer, b"\r\n\r\n") {
                Some(end) => break self.buffer.drain(..end + 4).collect::<Vec<u8>>(),
                None => self.more().await.then_some(())?,
            }
        };
        let head = String::from_utf8(head).unwrap();
        let status = head.split(' ').nth(1)?.parse().ok()?;
        let mut answered = TestResponse { status, head, body: String::new() };
        let body = match answered.header("content-length") {
            Some(length) => self.take(length.parse().unwrap()).await?,
            None if answered.header("transfer-encoding").is_some() => self.chunks().await?,
            None => Vec::new(),
        };
        answered.body = String::from_utf8(body).unwrap();
        Some(answered)
    }

    async fn take(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.buffer.len() < count {
            self.more().await.then_some(())?;
        }
        Some(self.buffer.drain(..count).collect())
    }

    async fn chunks(&mut self) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let line = loop {
                match memchr::memmem::find(&self.buffer, b"\r\n") {
                    Some(end) => break self.buffer.drain(..end + 2).collect::<Vec<u8>>(),
                    None => self.more().await.then_some(())?,
                }
            };
            let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim(), 16).unwrap();
            let chunk = self.take(size + 2).await?;
            body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                return Some(body);
            }
        }
    }
}

fn post(headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut request = String::from("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    request.push_str("accept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
    [request.as_bytes(), body].concat()
}

/// A call of the newest revision, which needs no session.
fn call(operation: &str) -> Vec<u8> {
    call_with(json!({ "operation": operation }))
}

fn call_with(arguments: Value) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {
        "name": "mcp_aql_read",
        "arguments": arguments,
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
        },
    } });
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_read")];
    post(&headers, message.to_string().as_bytes())
}

fn initialize() -> Vec<u8> {
    initialize_with(json!({}))
}

fn initialize_with(experimental: Value) -> Vec<u8> {
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": { "experimental": experimental },
        "clientInfo": { "name": "tests", "version": "1" },
    } });
    post(&[], message.to_string().as_bytes())
}

fn session_request(session: &str, message: &Value) -> Vec<u8> {
    post(&[("mcp-session-id", session), ("mcp-protocol-version", "2025-06-18")], message.to_string().as_bytes())
}

fn session_call(id: u64, operation: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": "mcp_aql_read", "arguments": { "operation": operation } } })
}
