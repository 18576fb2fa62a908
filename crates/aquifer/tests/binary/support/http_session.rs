//! A session on HTTP, as clients of revisions before 2026-07-28 have it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::http_server::{Answer, HttpServer, JSON, open, read_answer};
use super::{TIMEOUT, envelope};

const REVISION: (&str, &str) = ("mcp-protocol-version", "2025-06-18");

/// A session of a client that can be asked for something. Threads can share it.
pub(crate) struct HttpSession {
    authority: String,
    id: String,
}

impl HttpSession {
    pub(crate) fn new(served: &HttpServer, capabilities: &Value) -> Self {
        let client = json!({ "name": "tests", "version": "1" });
        let params = json!({ "protocolVersion": REVISION.1, "capabilities": capabilities, "clientInfo": client });
        let greeting = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
        let answer = served.post(&[], greeting.to_string().as_bytes());
        let id = answer.header("mcp-session-id").unwrap_or_else(|| panic!("{} {}", answer.status, answer.body));
        let session = Self { authority: served.authority.clone(), id };
        session.post(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    /// Sends a message without waiting.
    pub(crate) fn open(&self, message: &Value) -> TcpStream {
        let headers = [&JSON[..], &[("mcp-session-id", self.id.as_str()), REVISION]].concat();
        open(&self.authority, "POST", "/mcp", &headers, message.to_string().as_bytes()).unwrap()
    }

    pub(crate) fn post(&self, message: &Value) -> Answer {
        read_answer(self.open(message))
    }

    /// Calls a tool and gives its envelope.
    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Value {
        self.call_answering(tool, arguments, |_| None).0
    }

    /// The same as a client that answers questions. Gives the envelope and what was asked.
    pub(crate) fn call_answering(
        &self,
        tool: &str,
        arguments: Value,
        answer: impl Fn(&Value) -> Option<Value>,
    ) -> (Value, Vec<Value>) {
        let stream = self.open(&call_message(tool, arguments));
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut asked = Vec::new();
        for line in BufReader::new(stream).lines() {
            let line = line.unwrap();
            // An event of a stream, or the whole answer where nothing came before it.
            let data = line.strip_prefix("data:").unwrap_or(&line);
            let Ok(message) = serde_json::from_str::<Value>(data) else { continue };
            if message["id"] == "call" {
                return (envelope(&message), asked);
            }
            if let Some(answer) = answer(&message) {
                self.post(&answer);
                asked.push(message);
            }
        }
        panic!("the call was never answered: {asked:?}");
    }
}

/// A call of a tool, whose id is "call".
pub(crate) fn call_message(tool: &str, arguments: Value) -> Value {
    let params = json!({ "name": tool, "arguments": arguments });
    json!({ "jsonrpc": "2.0", "id": "call", "method": "tools/call", "params": params })
}
