//! A plain MCP client without caching, restarts, shaping or retries. It shows what any client would see. Requests of
//! the server are declined.

use std::fmt;
use std::sync::Arc;

use aquifer_protocol::error::Failure;
use serde::Serialize;
use serde_json::{Value, json};

use super::connection::{Connection, ProtocolMode, client_capabilities};
use super::delivery::Delivery;
use super::interrogation;
use super::message::Json;
use super::pending_calls::CallOrigin;
use crate::error::UpstreamError;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// The capabilities that a client announces. Some servers offer more tools to clients with more capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientCapabilities {
    /// The capabilities that an [`Upstream`](crate::Upstream) announces.
    AsUpstream,
    /// No capabilities.
    None,
}

/// A connected client. A server process that was started for it ends with it.
pub struct PlainClient {
    connection: Connection,
    settings: Settings,
    sanitizer: Sanitizer,
}

impl fmt::Debug for PlainClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection").field("settings", &self.settings).finish_non_exhaustive()
    }
}

#[derive(Serialize)]
struct Params<'a> {
    name: &'a str,
    arguments: &'a Value,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Value>,
}

impl PlainClient {
    /// Starts or contacts a server and performs the handshake.
    pub async fn open(settings: Settings, offered: ClientCapabilities) -> Result<Self, Failure> {
        let sanitizer = Sanitizer::new(&settings);
        let capabilities = match offered {
            ClientCapabilities::AsUpstream => client_capabilities(settings.allow),
            ClientCapabilities::None => json!({}),
        };
        let opened =
            Box::pin(Connection::open_with_capabilities(capabilities, &settings, &sanitizer, ProtocolMode::default()));
        match tokio::time::timeout(settings.max_start_time(), opened).await {
            Ok(Ok(connection)) => Ok(Self { connection, settings, sanitizer }),
            Ok(Err(error)) => Err(error.into_start_failure(&settings, &sanitizer)),
            Err(_) => Err(UpstreamError::TimedOut.into_start_failure(&settings, &sanitizer)),
        }
    }

    /// The configured name of the server.
    pub fn name(&self) -> &str {
        &self.settings.name
    }

    /// The server's usage instructions, sanitized.
    pub fn instructions(&self) -> Option<&str> {
        self.connection.handshake.instructions.as_deref()
    }

    /// All tools as listed.
    pub async fn tools(&self) -> Result<Vec<Value>, Failure> {
        let listing = async {
            let mut tools = Vec::new();
            for page in interrogation::list_pages(&self.connection, &self.settings, "tools/list").await? {
                match parse(&page)?.get_mut("tools").map(Value::take) {
                    Some(Value::Array(listed)) => tools.extend(listed),
                    _ => return Err(UpstreamError::InvalidResponse("a tool list without tools".to_owned())),
                }
            }
            Ok(tools)
        };
        listing.await.map_err(|error| self.to_failure(error))
    }

    /// Calls a tool and returns its result unchanged, including an error of the tool.
    pub async fn call(&self, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        let params = |_| Params { name: tool, arguments, meta: self.connection.meta(None) };
        let origin = Arc::new(CallOrigin::internal());
        let (mut delivery, timeout) = (Delivery::once_only(), self.settings.timeout);
        let response = self.connection.deliver(&mut delivery, "tools/call", Some(tool), origin, timeout, params).await;
        let Settings { name, max_answer_bytes, .. } = &self.settings;
        let to_failure = |error: UpstreamError| {
            error.into_call_failure(delivery.is_in_doubt(), name, &self.sanitizer, *max_answer_bytes)
        };
        response.and_then(|response| parse(&response)).map_err(to_failure)
    }

    fn to_failure(&self, error: UpstreamError) -> Failure {
        error.into_failure(&self.settings.name, &self.sanitizer, self.settings.max_answer_bytes)
    }
}

fn parse(response: &Json) -> Result<Value, UpstreamError> {
    serde_json::from_str(response.text()).map_err(|cause| UpstreamError::InvalidResponse(cause.to_string()))
}
