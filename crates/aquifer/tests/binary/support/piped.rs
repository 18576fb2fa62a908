//! A server on stdio.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::stderr_reader::{StderrReader, lines};
use super::{TIMEOUT, aquifer, call_message, envelope, token};

/// A server on stdio, with the test as its client.
pub(crate) struct StdioServer {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    stderr: StderrReader,
    next_id: u64,
}

impl StdioServer {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(aquifer().args(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (input, lines) = (child.stdin.take(), lines(child.stdout.take().unwrap()));
        Self { input, lines, stderr: StderrReader::new(&mut child), child, next_id: 100 }
    }

    /// A server that has shaken hands with a client of this revision.
    pub(crate) fn initialized(arguments: &[&str], revision: &str) -> Self {
        let mut piped = Self::start(arguments);
        let answer = piped.initialize(revision);
        assert_eq!(answer["result"]["protocolVersion"], revision, "{answer}");
        piped
    }

    /// The task board: small, quick to start, and it has operations that take as long as they are told to.
    pub(crate) fn tasks() -> Self {
        Self::initialized(&["serve", "tasks:"], "2025-06-18")
    }

    pub(crate) fn initialize(&mut self, revision: &str) -> Value {
        self.initialize_with(revision, &json!({}))
    }

    /// The same as a client that can be asked for something.
    pub(crate) fn initialize_with(&mut self, revision: &str, capabilities: &Value) -> Value {
        let params = json!({ "protocolVersion": revision, "capabilities": capabilities, "clientInfo": { "name": "tests", "version": "1" } });
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
        let line = self.lines.recv_timeout(TIMEOUT).expect("an answer in time");
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

    /// The same as a client that answers questions. Gives the envelope and what was asked.
    pub(crate) fn call_answering(
        &mut self,
        tool: &str,
        arguments: Value,
        answer: impl Fn(&Value) -> Option<Value>,
    ) -> (Value, Vec<Value>) {
        self.send(&call_message(tool, arguments));
        let mut asked = Vec::new();
        loop {
            let message = self.receive();
            if message["id"] == "call" {
                return (envelope(&message), asked);
            }
            if let Some(answer) = answer(&message) {
                self.send(&answer);
                asked.push(message);
            }
        }
    }

    /// Calls an operation through the tool of its family, and again with the token where it has to be confirmed.
    fn confirmed(&mut self, family: &str, operation: &str, mut params: Value) -> Value {
        let tool = format!("mcp_aql_{family}");
        let answer = self.call(&tool, json!({ "operation": operation, "params": params }));
        let Some(token) = token(&answer) else { return answer };
        params["confirmation_token"] = token.into();
        self.call(&tool, json!({ "operation": operation, "params": params }))
    }

    /// Calls an operation through the tool of its family and gives what it answers with.
    pub(crate) fn data(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let answer = self.confirmed(family, operation, params);
        assert_eq!(answer["success"], true, "{operation}: {answer}");
        answer["data"].clone()
    }

    /// Calls an operation that must fail and gives its error.
    pub(crate) fn error(&mut self, family: &str, operation: &str, params: Value) -> Value {
        let answer = self.confirmed(family, operation, params);
        assert_eq!(answer["success"], false, "{operation}: {answer}");
        answer["error"].clone()
    }

    /// The names of all operations, as introspection tells them.
    pub(crate) fn operations(&mut self) -> Vec<String> {
        let listed = self.data("read", "introspect", json!({ "query": "operations" }));
        listed["operations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The names of all tools.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let listed = self.request("tools/list", json!({}));
        let tools = listed["result"]["tools"].as_array().unwrap();
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until the server says that there are other tools now.
    pub(crate) fn tools_changed(&mut self) {
        while self.receive()["method"] != "notifications/tools/list_changed" {}
    }

    /// Waits for a line of standard error that contains these words.
    pub(crate) fn says(&mut self, words: &str) {
        self.stderr.find(words, |line| line.contains(words).then_some(()));
    }

    /// The standard error that was read so far, up to the last line that was waited for.
    pub(crate) fn stderr_so_far(&self) -> &str {
        &self.stderr.text
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes the pipe and waits for the server to leave.
    pub(crate) fn close(mut self) -> std::process::ExitStatus {
        drop(self.input.take());
        self.child.wait().unwrap()
    }

    /// Closes the pipe and returns the complete standard error.
    pub(crate) fn last_words(mut self) -> String {
        drop(self.input.take());
        self.child.wait().unwrap();
        self.stderr.all()
    }
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
