//! A server over either transport.

use std::process::Command;

use serde_json::{Value, json};

use super::{HttpServer, StdioServer, envelope, terminate};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) const BOTH: [Self; 2] = [Self::Stdio, Self::Http];
}

/// A server over either transport.
pub(crate) enum Server {
    Stdio(StdioServer),
    Http(HttpServer),
}

impl Server {
    /// Runs a command that ends in `serve` and its flags, for a client of this transport.
    pub(crate) fn spawn(transport: Transport, command: &mut Command) -> Self {
        Self::spawn_for(transport, command, &json!({}))
    }

    /// The same for a client that can be asked for something. Over HTTP clients say so with every request.
    pub(crate) fn spawn_for(transport: Transport, command: &mut Command, capabilities: &Value) -> Self {
        match transport {
            Transport::Stdio => {
                let mut piped = StdioServer::spawn(command);
                piped.initialize_with("2025-06-18", capabilities);
                Self::Stdio(piped)
            }
            Transport::Http => Self::Http(HttpServer::spawn(command.args(["--http", "127.0.0.1:0"]))),
        }
    }

    /// The answer to any request, as JSON-RPC has it.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        match self {
            Self::Stdio(piped) => piped.request(method, params),
            Self::Http(served) => served.stateless(method, params).json(),
        }
    }

    /// Calls a tool and gives its envelope.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Value {
        envelope(&self.request("tools/call", json!({ "name": tool, "arguments": arguments })))
    }

    /// The code of a call's error, or "done".
    pub(crate) fn code(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments);
        answer["error"]["code"].as_str().unwrap_or("done").to_owned()
    }

    /// Waits until the server has said something to people.
    pub(crate) fn says(&mut self, words: &str) {
        match self {
            Self::Stdio(piped) => piped.says(words),
            Self::Http(served) => served.mentions(words),
        }
    }

    /// The same for what it may have said already.
    pub(crate) fn has_said(&mut self, words: &str) {
        let heard = match self {
            Self::Stdio(piped) => piped.stderr_so_far(),
            Self::Http(served) => served.stderr_so_far(),
        };
        if !heard.contains(words) {
            self.says(words);
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        match self {
            Self::Stdio(piped) => piped.pid(),
            Self::Http(served) => served.pid(),
        }
    }

    /// Has the server leave in good order, and waits for that.
    pub(crate) fn stop(self) {
        match self {
            Self::Stdio(piped) => drop(piped.close()),
            Self::Http(mut served) => {
                terminate(served.pid());
                served.wait();
            }
        }
    }
}
