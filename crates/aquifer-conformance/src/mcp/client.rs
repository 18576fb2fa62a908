//! A minimal MCP client: handshake, tool list, calls.

use std::time::Duration;

use serde_json::{Value, json};

use crate::mcp::Reply;
use crate::transport::{Connection, TransportError};

/// The protocol revision. Servers that support a later one also accept it.
const REVISION: &str = "2025-06-18";

/// A tool list with more pages than this is considered endless.
const MAX_PAGES: usize = 50;

/// A connection after the handshake.
pub(crate) struct Client {
    connection: Box<dyn Connection>,
    deadline: Duration,
    next_id: u64,
    /// The number of calls made.
    pub(crate) calls: usize,
    /// The reason why the server was lost, if it was.
    pub(crate) lost: Option<String>,
    /// The name and version of the server.
    pub(crate) name: String,
    pub(crate) version: String,
    /// The tools of `tools/list`, unchanged.
    pub(crate) tools: Vec<Value>,
}

impl Client {
    pub(crate) async fn open(connection: Box<dyn Connection>, deadline: Duration) -> Result<Self, TransportError> {
        let mut client = Self {
            connection,
            deadline,
            next_id: 0,
            calls: 0,
            lost: None,
            name: String::new(),
            version: String::new(),
            tools: Vec::new(),
        };
        let params = json!({
            "protocolVersion": REVISION,
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "aquifer-conformance", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = client.request("initialize", params).await?;
        let info = answer.get("serverInfo").cloned().unwrap_or_default();
        let word = |key: &str| info.get(key).and_then(Value::as_str).unwrap_or("unknown").to_owned();
        (client.name, client.version) = (word("name"), word("version"));
        let notified = client.connection.notify(&INITIALIZED);
        tokio::time::timeout(deadline, notified)
            .await
            .map_err(|_| TransportError("the server does not accept notifications".into()))??;
        client.list_tools().await?;
        Ok(client)
    }

    async fn list_tools(&mut self) -> Result<(), TransportError> {
        let mut cursor = None;
        for _ in 0..MAX_PAGES {
            let params = cursor.take().map_or_else(|| json!({}), |cursor: Value| json!({"cursor": cursor}));
            let page = self.request("tools/list", params).await?;
            let tools = page.get("tools").and_then(Value::as_array);
            self.tools.extend(
                tools.ok_or_else(|| TransportError("'tools/list' was answered without 'tools'".into()))?.clone(),
            );
            cursor = page.get("nextCursor").filter(|cursor| cursor.is_string()).cloned();
            if cursor.is_none() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The names of the tools that take MCP-AQL requests: those with `operation` in their schema.
    pub(crate) fn aql_tools(&self) -> Vec<String> {
        let takes_operations = |tool: &&Value| tool.pointer("/inputSchema/properties/operation").is_some();
        let name = |tool: &Value| tool.get("name").and_then(Value::as_str).map(str::to_owned);
        self.tools.iter().filter(takes_operations).filter_map(name).collect()
    }

    async fn request(&mut self, method: &str, params: Value) -> Result<Value, TransportError> {
        let answer = self.send_request(method, params).await?;
        match answer.get("result") {
            Some(result) => Ok(result.clone()),
            None => {
                let reason_given =
                    answer.pointer("/error/message").and_then(Value::as_str).unwrap_or("no reason given");
                Err(TransportError(format!("'{method}' was refused: {reason_given}")))
            }
        }
    }

    async fn send_request(&mut self, method: &str, params: Value) -> Result<Value, TransportError> {
        self.next_id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params});
        match tokio::time::timeout(self.deadline, self.connection.request(&request)).await {
            Ok(answer) => answer,
            Err(_) => Err(TransportError(format!("no answer within {} ms to '{method}'", self.deadline.as_millis()))),
        }
    }

    /// Calls a tool. After the server was lost, all calls return an unanswered reply immediately.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> Reply {
        if self.lost.is_some() {
            return Reply::unanswered(tool, arguments);
        }
        self.calls += 1;
        match self.send_request("tools/call", json!({"name": tool, "arguments": arguments})).await {
            Ok(message) => Reply::from_message(tool, arguments, &message),
            Err(TransportError(reason)) => {
                self.lost = Some(reason);
                Reply::unanswered(tool, arguments)
            }
        }
    }

    /// Whether the user says yes to what the server asks from now on.
    pub(crate) fn set_user_accepts(&mut self, accepts: bool) {
        self.connection.user().accepts = accepts;
    }

    /// How many questions the server has asked its user.
    pub(crate) fn questions(&mut self) -> usize {
        self.connection.user().questions
    }

    /// Sends bytes that are not a request. Returns whether the server still answers.
    pub(crate) async fn send_garbage(&mut self, bytes: &[u8]) -> bool {
        const GARBAGE_TIMEOUT: Duration = Duration::from_millis(150);
        if self.lost.is_some() {
            return false;
        }
        self.calls += 1;
        let survived = match self.connection.send_raw(bytes, GARBAGE_TIMEOUT).await {
            Ok(_) => self.request("ping", json!({})).await,
            Err(broken) => Err(broken),
        };
        // A server that refuses 'ping' is alive.
        if let Err(TransportError(reason)) = survived
            && !reason.starts_with("'ping' was refused")
        {
            self.lost = Some(reason);
        }
        self.lost.is_none()
    }
}

static INITIALIZED: std::sync::LazyLock<Value> =
    std::sync::LazyLock::new(|| json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
