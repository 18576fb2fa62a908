//! The connection traits, and the servers to connect to.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::{http, stdio};
use crate::record::Mode;

/// A larger answer ends the connection.
pub(super) const MAX_ANSWER_BYTES: usize = 64 << 20;

/// The user of the client, as far as the server asks one.
#[derive(Clone, Copy, Debug, Default)]
pub struct SimulatedUser {
    /// Whether questions are answered with yes.
    pub accepts: bool,
    /// How many questions were asked.
    pub questions: usize,
}

/// One connection to a server.
pub trait Connection: Send {
    /// The user that the server asks.
    fn user(&mut self) -> &mut SimulatedUser;

    /// Sends a request and waits for the response with its id. The caller sets the time limit.
    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>>;

    /// Sends a notification.
    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Sends bytes unchanged, and returns the answer if one arrives within `timeout`.
    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>>;
}

/// Why a connection can no longer be used.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TransportError(pub String);

impl fmt::Display for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TransportError {}

/// Opens connections to a server.
pub trait Connector: Sync {
    /// Opens a connection. If a mode is given, to the same server in that mode, or `None` if it cannot be requested.
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>>;

    /// `stdio` or `http`, as shown to people.
    fn transport(&self) -> &'static str;

    /// Why a second mode cannot be requested, if [`Connector::open`] returns `None`.
    fn second_mode_unavailable(&self) -> &'static str {
        "the other mode of this server cannot be requested"
    }
}

/// A server to check.
#[derive(Clone, Debug)]
pub enum Target {
    /// A program that communicates over standard input and output.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// Additional environment variables.
        env: Vec<(String, String)>,
    },
    /// A Streamable HTTP endpoint.
    Url {
        /// The URL.
        url: String,
        /// The URL of the same server in its other mode.
        second: Option<String>,
        /// Sent with every request, such as `Authorization`.
        headers: Vec<(String, String)>,
    },
}

impl Connector for Target {
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>> {
        Box::pin(async move {
            match self {
                Self::Command { argv, env } => {
                    let mut env = env.clone();
                    env.extend(mode.map(|mode| ("MCP_AQL_ENDPOINT_MODE".to_owned(), mode.as_str().to_owned())));
                    let connection: Box<dyn Connection> = Box::new(stdio::StdioConnection::start(argv, &env)?);
                    Ok(Some(connection))
                }
                Self::Url { url, second, headers } => {
                    let Some(url) = (if mode.is_some() { second.as_ref() } else { Some(url) }) else {
                        return Ok(None);
                    };
                    let connection: Box<dyn Connection> = Box::new(http::HttpConnection::new(url, headers)?);
                    Ok(Some(connection))
                }
            }
        })
    }

    fn transport(&self) -> &'static str {
        match self {
            Self::Command { .. } => "stdio",
            Self::Url { .. } => "http",
        }
    }

    fn second_mode_unavailable(&self) -> &'static str {
        "no URL of the same server in its other mode was given"
    }
}

/// Whether a message is the response to the request with this id.
pub(super) fn is_response_to(message: &Value, id: &Value) -> bool {
    message.get("id") == Some(id) && (message.get("result").is_some() || message.get("error").is_some())
}

/// The answer to a request from the server: pings and questions to the user are answered, all other requests are
/// refused.
pub(super) fn answer_to_server(message: &Value, user: &mut SimulatedUser) -> Option<Value> {
    let method = message.get("method")?.as_str()?;
    let id = message.get("id").filter(|id| !id.is_null())?;
    Some(match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        "elicitation/create" => {
            user.questions += 1;
            let content = user.accepts.then(|| confirmation(message)).flatten();
            let result = match content {
                Some(content) => json!({"action": "accept", "content": content}),
                None => json!({"action": "cancel"}),
            };
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        }
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
    })
}

/// The form of a confirmation, filled in: every yes or no is yes. `None` for a form that wants more than that.
fn confirmation(question: &Value) -> Option<Value> {
    let form = question.pointer("/params/requestedSchema")?;
    let fields = form.get("properties").and_then(Value::as_object);
    let is_boolean = |field: &Value| field.get("type").and_then(Value::as_str) == Some("boolean");
    let booleans = fields.into_iter().flatten().filter(|(_, field)| is_boolean(field));
    let filled: Map<String, Value> = booleans.map(|(name, _)| (name.clone(), Value::Bool(true))).collect();
    let mut required = form.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    required.all(|name| filled.contains_key(name)).then_some(Value::Object(filled))
}
