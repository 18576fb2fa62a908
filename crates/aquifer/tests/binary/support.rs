//! A running server to talk to, over pipes or HTTP. Processes end with the value that holds them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// Nothing here takes this long; it bounds a test that would otherwise hang.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn aquifer() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_aquifer"));
    for variable in ["MCP_AQL_ENDPOINT_MODE", "MCP_AQL_ENDPOINT_PROFILE", "MCP_AQL_TOOL_PREFIX", "AQUIFER_LOG"] {
        command.env_remove(variable);
    }
    command
}

/// A server on pipes.
pub(crate) struct Piped {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    next_id: u64,
}

impl Piped {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = aquifer()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { child, input, lines, next_id: 100 }
    }

    /// A server that has shaken hands with a client of this revision.
    pub(crate) fn initialized(arguments: &[&str], revision: &str) -> Self {
        let mut piped = Self::start(arguments);
        let answer = piped.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        piped
    }

    pub(crate) fn demo() -> Self {
        Self::initialized(&["demo", "--stdio"], "2025-06-18")
    }

    pub(crate) fn initialize(&mut self, revision: &str) -> Value {
        let params = json!({ "protocolVersion": revision, "capabilities": {}, "clientInfo": { "name": "tests", "version": "1" } });
        let answer = self.request("initialize", params);
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        answer
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_bytes(message.to_string().as_bytes());
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(bytes).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub(crate) fn receive(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("an answer in time");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("stdout holds something else than JSON: {line}"))
    }

    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                return message;
            }
        }
    }

    /// Calls a tool and gives its envelope.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        envelope(&answer)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe and waits for the server to leave.
    pub(crate) fn close(mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }
}

impl Drop for Piped {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The envelope in the answer to a tool call, after checking that both its forms agree (R-RES-3).
pub(crate) fn envelope(answer: &Value) -> Value {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}"));
    let parsed: Value = serde_json::from_str(text).unwrap();
    assert_eq!(parsed, result["structuredContent"], "text and structured content are the same");
    assert_eq!(text, serde_json::to_string(&parsed).unwrap(), "the text is compact");
    parsed
}

/// A server on HTTP.
pub(crate) struct Served {
    child: Child,
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
        let text = match self
            .body
            .lines()
            .filter_map(|line| line.strip_prefix("data:"))
            .map(str::trim)
            .rfind(|data| !data.is_empty())
        {
            Some(data) => data,
            None => &self.body,
        };
        serde_json::from_str(text).unwrap_or_else(|_| panic!("{} {}", self.status, self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
        })
    }
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut child = aquifer()
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        let mut talk = String::new();
        let authority = loop {
            let start = talk.len();
            let read = errors.read_line(&mut talk).unwrap();
            assert!(read > 0, "the server left: {talk}");
            if let Some((_, rest)) = talk[start..].split_once("http://") {
                break rest.split('/').next().unwrap().to_owned();
            }
        };
        // Kept reading, so that the server never waits for somebody to read its talk.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, authority }
    }

    pub(crate) fn demo() -> Self {
        Self::start(&["demo", "--http", "127.0.0.1:0"])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().unwrap()
    }

    /// Opens a connection and sends a request without waiting. HTTP/1.0, so that the answer ends with the connection.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.authority).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.0\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            head.push_str(&format!("host: {}\r\n", self.authority));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        // A server that refuses early may close before everything is sent.
        let _ = stream.write_all(body);
        stream
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        read_answer(self.open(method, path, headers, body))
    }

    /// Posts bytes as an older client without a session would.
    pub(crate) fn post(&self, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut all = vec![("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
        all.extend_from_slice(headers);
        self.send("POST", "/mcp", &all, body)
    }

    /// A stateless request of revision 2026-07-28.
    pub(crate) fn stateless(&self, method: &str, params: Value) -> Answer {
        let (body, name) = stateless_body(method, params);
        let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
        if let Some(name) = &name {
            headers.push(("mcp-name", name));
        }
        self.post(&headers, body.to_string().as_bytes())
    }

    /// Calls a tool without a session and gives its envelope.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        envelope(&self.stateless("tools/call", json!({ "name": tool, "arguments": arguments })).json())
    }
}

/// The body of a stateless request, and the name its headers have to repeat.
pub(crate) fn stateless_body(method: &str, mut params: Value) -> (Value, Option<String>) {
    let name = params["name"].as_str().map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": { "name": "tests", "version": "1" },
    });
    (json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params }), name)
}

pub(crate) fn read_answer(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A reset after the answer has arrived does not take the answer away.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no answer: {text:?}"));
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Answer { status, head: head.to_owned(), body: body.to_owned() }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The resident memory of a process, in kilobytes.
pub(crate) fn memory(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Asks a process to stop.
pub(crate) fn terminate(pid: u32) {
    assert!(Command::new("kill").args(["-TERM", &pid.to_string()]).status().unwrap().success());
}
