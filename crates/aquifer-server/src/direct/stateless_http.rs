//! Direct tool calls over HTTP without a session, as clients of the newest revision make them.
//!
//! For each message, the SDK tries to parse it as one of dozens of kinds, serializes it again to compare it with the
//! headers, and starts a service, which accounts for most of the cost of a call. A call whose headers and metadata are
//! exactly as specified needs none of this and is handled at once. Everything else, including every invalid message,
//! goes to the SDK.

use std::io;
use std::sync::Arc;

use aquifer_engine::Engine;
use axum::http::{HeaderMap, HeaderName, header};
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::{Peer, RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly};
use rmcp::transport::Transport;

use crate::direct::direct_calls::{Call, DirectCalls};
use crate::handler::{Connection, McpHandler};

/// The header that identifies a client's session.
const SESSION_ID_HEADER: &str = "mcp-session-id";

const JSON_MEDIA_TYPE: &str = "application/json";
const EVENT_STREAM_MEDIA_TYPE: &str = "text/event-stream";

/// Handles direct calls without a session.
pub(crate) struct StatelessHttp {
    direct_calls: DirectCalls,
    peer: Peer<RoleServer>,
    _unconnected: RunningService<RoleServer, Arc<McpHandler>>,
}

impl StatelessHttp {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let handler = Arc::new(McpHandler::new(engine, Connection::Http));
        // A handler needs a peer. These calls carry everything in their own metadata and never use it, so it is
        // connected to nothing.
        let unconnected = serve_directly(handler.clone(), NullTransport, None);
        Self { direct_calls: DirectCalls::new(handler), peer: unconnected.peer().clone(), _unconnected: unconnected }
    }

    /// Parses a request as a call that can be handled directly.
    pub(crate) fn read(&self, headers: &HeaderMap, body: &[u8]) -> Option<Call> {
        let newest = ProtocolVersion::V_2026_07_28;
        let only = |name: &str| {
            let mut all = headers.get_all(name).iter();
            all.next().filter(|_| all.next().is_none())?.to_str().ok()
        };
        if only("mcp-protocol-version")? != newest.as_str() || only("mcp-method")? != "tools/call" {
            return None;
        }
        let accepted = only(header::ACCEPT.as_str())?;
        let is_json = only(header::CONTENT_TYPE.as_str())?.starts_with(JSON_MEDIA_TYPE);
        if !(is_json && accepted.contains(JSON_MEDIA_TYPE) && accepted.contains(EVENT_STREAM_MEDIA_TYPE)) {
            return None;
        }
        let is_left_to_sdk = |name: &HeaderName| name == SESSION_ID_HEADER || name.as_str().starts_with("mcp-param-");
        if headers.keys().any(is_left_to_sdk) {
            return None;
        }
        let call = self.direct_calls.read(body, Some(&self.peer))?;
        // Progress notifications need a stream, which only the SDK makes.
        let is_plain = call.is_newest && !call.wants_progress();
        (is_plain && only("mcp-name")? == call.tool() && self.direct_calls.has_tool_of(&call)).then_some(call)
    }

    /// Makes a call and returns the message that answers it. If the client disconnects, the call is cancelled, which
    /// may take a while; `entry` is dropped when the call has ended.
    pub(crate) async fn run(&self, call: Call, entry: impl Send + 'static) -> io::Result<Vec<u8>> {
        let cancelled = self.direct_calls.token();
        let cancel_on_drop = cancelled.clone().drop_guard();
        let answer = self.direct_calls.answer(call, cancelled);
        let answer = tokio::spawn(async move {
            let answer = answer.await;
            drop(entry);
            answer
        });
        let answer = answer.await;
        cancel_on_drop.disarm();
        answer.map_err(io::Error::other).and_then(|answer| Ok(answer.encode()?))
    }
}

/// A transport that never receives a message and discards those sent to it.
struct NullTransport;

impl Transport<RoleServer> for NullTransport {
    type Error = std::convert::Infallible;

    fn send(
        &mut self,
        _message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        std::future::pending().await
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
