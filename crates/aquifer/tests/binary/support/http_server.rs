//! A server on HTTP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::stderr_reader::StderrReader;
use super::{TIMEOUT, aquifer, envelope};

/// A server on HTTP.
pub(crate) struct HttpServer {
    child: Child,
    stderr: StderrReader,
    pub(crate) authority: String,
}

/// An HTTP answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The JSON of the body, plain or the last event of a stream.
    pub(crate) fn json(&self) -> Value {
        self.try_json().unwrap_or_else(|| panic!("{} {}", self.status, self.body))
    }

    fn try_json(&self) -> Option<Value> {
        let mut events = self.body.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        let last = events.rfind(|data| !data.is_empty());
        serde_json::from_str(last.unwrap_or(&self.body)).ok()
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

impl HttpServer {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(aquifer().args(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = StderrReader::new(&mut child);
        let authority = stderr.find("where it listens", |line| {
            let (_, rest) = line.split_once("http://")?;
            rest.split('/').next().map(str::to_owned)
        });
        Self { child, stderr, authority }
    }

    /// Waits for a line that begins like this. Returns the standard error up to it.
    pub(crate) fn says(&mut self, last: &str) -> String {
        self.stderr.find(last, |line| line.starts_with(last).then_some(()));
        self.stderr.text.clone()
    }

    /// The standard error that was read so far, up to the last line that was waited for.
    pub(crate) fn stderr_so_far(&self) -> &str {
        &self.stderr.text
    }

    /// The complete standard error, once the server has ended.
    pub(crate) fn all(&mut self) -> String {
        self.stderr.all()
    }

    /// Waits for a line of standard error that contains these words.
    pub(crate) fn mentions(&mut self, words: &str) {
        self.stderr.find(words, |line| line.contains(words).then_some(()));
    }

    pub(crate) fn tasks() -> Self {
        Self::start(&["serve", "tasks:", "--http", "127.0.0.1:0"])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// Opens a connection and sends a request without waiting.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        open(&self.authority, method, path, headers, body).unwrap()
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        read_answer(self.open(method, path, headers, body))
    }

    /// Posts bytes as an older client without a session would.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        self.send("POST", "/mcp", &[&JSON, headers].concat(), body)
    }

    /// A stateless request of revision 2026-07-28.
    pub(crate) fn stateless(&self, method: &str, params: Value) -> Answer {
        read_answer(self.open_stateless(method, params))
    }

    /// Sends the same without waiting.
    pub(crate) fn open_stateless(&self, method: &str, params: Value) -> TcpStream {
        let (body, name) = stateless_body(method, params);
        let headers = [&JSON, stateless_headers(method, name.as_deref()).as_slice()].concat();
        self.open("POST", "/mcp", &headers, body.to_string().as_bytes())
    }

    /// Ends it at once, whatever it is doing.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Calls a tool without a session and gives its envelope.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        envelope(&self.stateless("tools/call", json!({ "name": tool, "arguments": arguments })).json())
    }
}

/// Calls a tool of a server that may be gone before it has answered.
pub(crate) fn try_call(authority: &str, tool: &str, arguments: Value) -> Option<Value> {
    let (body, name) = stateless_body("tools/call", json!({ "name": tool, "arguments": arguments }));
    let headers = [&JSON, stateless_headers("tools/call", name.as_deref()).as_slice()].concat();
    let stream = open(authority, "POST", "/mcp", &headers, body.to_string().as_bytes()).ok()?;
    // Half an answer is no JSON.
    try_answer(stream)?.try_json().map(|answer| envelope(&answer))
}

pub(super) const JSON: [(&str, &str); 2] =
    [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];

fn stateless_headers<'n>(method: &'n str, name: Option<&'n str>) -> Vec<(&'n str, &'n str)> {
    let always = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    always.into_iter().chain(name.map(|name| ("mcp-name", name))).collect()
}

/// Sends a request to a server that somebody else has started.
pub(crate) fn send_to(authority: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    read_answer(open(authority, method, path, headers, body).unwrap())
}

/// HTTP/1.0, so that the answer ends with the connection.
pub(super) fn open(
    authority: &str,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> std::io::Result<TcpStream> {
    let mut stream = TcpStream::connect(authority)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    let mut head = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        head.push_str(&format!("host: {authority}\r\n"));
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes())?;
    // A server that refuses early may close before everything is sent.
    let _ = stream.write_all(body);
    Ok(stream)
}

/// The body of a stateless request, and the name its headers have to repeat.
pub(crate) fn stateless_body(method: &str, mut params: Value) -> (Value, Option<String>) {
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
    });
    (json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }), name)
}

pub(crate) fn read_answer(stream: TcpStream) -> Answer {
    try_answer(stream).expect("an answer")
}

fn try_answer(mut stream: TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    // A reset after the answer has arrived does not take the answer away.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    Some(Answer { status, head: head.to_owned(), body: body.to_owned() })
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
