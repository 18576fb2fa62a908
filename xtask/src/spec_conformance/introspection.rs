//! Asks a server on stdio for every answer of introspection that is published: the lists, and the details of everything
//! in them.

#![allow(clippy::indexing_slicing, reason = "a member that an answer lacks is null")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// All answers, as envelopes.
pub(super) fn answers(server: &mut Command) -> Result<Vec<Value>> {
    let mut client = Client::start(server)?;
    let mut answers = Vec::new();
    for (query, list) in [("operations", "/data/operations"), ("types", "/data/types")] {
        let names = client.names(query, list, &mut answers)?;
        for name in names.iter().map(String::as_str).chain(["no_such_name"]) {
            answers.push(client.introspect(json!({ "query": query, "name": name }))?);
        }
    }
    answers.push(client.introspect(json!({ "query": "no_such_query" }))?);
    Ok(answers)
}

struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    id: u64,
}

impl Client {
    fn start(server: &mut Command) -> Result<Self> {
        server.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = server.spawn().context("aquifer does not start")?;
        let stdin = child.stdin.take().context("the server has no input")?;
        let stdout = child.stdout.take().context("the server has no output")?;
        let mut client = Self { child, stdin, stdout: BufReader::new(stdout), id: 0 };
        let about = json!({ "name": "xtask", "version": "0" });
        let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about });
        client.request("initialize", &params)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.stdin, "{message}").context("the server takes no requests")
    }

    /// Sends a request and waits for its answer. Everything else that arrives is ignored.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            if self.stdout.read_line(&mut line)? == 0 {
                bail!("the server ended");
            }
            let mut message: Value = serde_json::from_str(&line).context("the server answers with something else")?;
            if message["id"] == self.id {
                return Ok(message["result"].take());
            }
        }
    }

    fn introspect(&mut self, params: Value) -> Result<Value> {
        let arguments = json!({ "operation": "introspect", "params": params });
        let mut result = self.request("tools/call", &json!({ "name": "mcp_aql", "arguments": arguments }))?;
        Ok(result["structuredContent"].take())
    }

    /// The names of a list, from all of its pages. The pages are among the answers.
    fn names(&mut self, query: &str, list: &str, answers: &mut Vec<Value>) -> Result<Vec<String>> {
        let mut names = Vec::new();
        let mut params = json!({ "query": query });
        loop {
            let answer = self.introspect(params)?;
            let items = answer.pointer(list).and_then(Value::as_array).context("introspection lists nothing")?;
            names.extend(items.iter().filter_map(|item| item["name"].as_str().map(str::to_owned)));
            let page = answer.pointer("/data/_protocol/page").cloned().unwrap_or_default();
            answers.push(answer);
            if page["hasNextPage"] != true {
                return Ok(names);
            }
            params = json!({ "query": query, "after": page["endCursor"] });
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
