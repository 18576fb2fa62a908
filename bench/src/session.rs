//! An MCP client over stdio that parses every answer. Slower than the clients that measure time.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};

use crate::process::Server;

/// A tool list with more pages than this is considered endless.
const MAX_PAGES: usize = 100;

/// A connection after its handshake. The server ends with it.
pub struct Session {
    write: ChildStdin,
    read: BufReader<ChildStdout>,
    next: u64,
    _server: Server,
}

impl Session {
    /// Starts a server and performs the handshake.
    pub fn open(command: &[String]) -> anyhow::Result<Self> {
        let (server, write, read) = Server::start_stdio(command)?;
        let mut session = Self { write, read: BufReader::new(read), next: 1, _server: server };
        session.request(
            "initialize",
            &json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" } }),
        )?;
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(session)
    }

    /// All tools, as listed.
    pub fn tools(&mut self) -> anyhow::Result<Vec<Value>> {
        let mut tools = Vec::new();
        let mut params = json!({});
        for _ in 0..MAX_PAGES {
            let page = self.request("tools/list", &params)?;
            tools.extend(page.get("tools").and_then(Value::as_array).context("no tools")?.iter().cloned());
            match page.get("nextCursor").and_then(Value::as_str) {
                Some(cursor) => params = json!({ "cursor": cursor }),
                None => return Ok(tools),
            }
        }
        bail!("the tool list is endless");
    }

    /// Calls a tool and returns the text that a model reads. A failure is an error.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> anyhow::Result<String> {
        let result = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        let failed = result.get("isError") == Some(&Value::Bool(true));
        let blocks = result.get("content").and_then(Value::as_array).context("no content")?;
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block.get("text")?.as_str()).collect();
        let text = texts.join("\n");
        ensure!(!failed, "{tool} refuses {arguments}: {text}");
        Ok(text)
    }

    fn request(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            ensure!(self.read.read_line(&mut line)? > 0, "the server closed its output");
            // Some servers print text to stdout that is not a message.
            let Ok(mut message) = serde_json::from_str::<Value>(&line) else { continue };
            if message.get("method").is_none() && message.get("id") == Some(&json!(id)) {
                let result = message.get_mut("result").map(Value::take);
                return result.with_context(|| format!("{method} is refused: {message}"));
            }
        }
    }

    fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        self.write.write_all(format!("{message}\n").as_bytes())?;
        Ok(self.write.flush()?)
    }
}
