//! How messages reach a server and come back. Nothing here knows MCP-AQL.

use std::fmt;
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::{http, stdio};
use crate::record::Mode;

/// Answers larger than this end the connection.
pub(super) const MAX_ANSWER_BYTES: usize = 64 << 20;

/// One connection to a server.
pub trait Connection: Send {
    /// Sends a request and waits for the response with its id. Whoever calls sets a deadline.
    fn request<'a>(&'a mut self, request: &'a Value) -> BoxFuture<'a, Result<Value, TransportError>>;

    /// Sends a notification, which nobody answers.
    fn notify<'a>(&'a mut self, notification: &'a Value) -> BoxFuture<'a, Result<(), TransportError>>;

    /// Sends bytes as they are, and gives what was answered within `timeout`; silence is an answer, too.
    fn send_raw<'a>(
        &'a mut self,
        bytes: &'a [u8],
        timeout: Duration,
    ) -> BoxFuture<'a, Result<Option<Value>, TransportError>>;
}

/// Why a connection is of no use any more.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TransportError(pub String);

impl fmt::Display for TransportError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for TransportError {}

/// Whatever connections can be opened to.
pub trait Connector: Sync {
    /// Opens a connection. With a mode, to the same server in that mode; `None` where this cannot be asked for.
    fn open(&self, mode: Option<Mode>) -> BoxFuture<'_, Result<Option<Box<dyn Connection>>, TransportError>>;

    /// `stdio` or `http`, for people.
    fn transport(&self) -> &'static str;

    /// Why a second mode cannot be asked for, where [`Dial::open`] gives none.
    fn second_mode_unavailable(&self) -> &'static str {
        "there is no way to ask this server for its other mode"
    }
}

/// A server to run against.
#[derive(Clone, Debug)]
pub enum Target {
    /// A program that talks on its standard input and output.
    Command {
        /// The program and its arguments.
        argv: Vec<String>,
        /// What it finds in its environment besides ours.
        env: Vec<(String, String)>,
    },
    /// A Streamable HTTP endpoint.
    Url {
        /// Its address.
        url: String,
        /// The address of the same server in its other mode.
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
        "no address of the same server in its other mode was given"
    }
}

/// Whether a message is the response to the request with this id.
pub(super) fn is_response_to(message: &Value, id: &Value) -> bool {
    message.get("id") == Some(id) && (message.get("result").is_some() || message.get("error").is_some())
}

/// What a server gets when it asks us something: it lives, and we do nothing else for it.
pub(super) fn answer_to_server(message: &Value) -> Option<Value> {
    let method = message.get("method")?.as_str()?;
    let id = message.get("id").filter(|id| !id.is_null())?;
    Some(match method {
        "ping" => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
        _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "Method not found"}}),
    })
}
