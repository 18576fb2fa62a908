//! The fast path of a tool call over HTTP without a session, as used by clients of the newest revision.
//!
//! For each message, the SDK tries to parse it as one of dozens of kinds, writes it again to compare the headers with
//! it, and starts a service, which is most of what a call costs. A call whose headers and metadata are exactly as
//! specified needs none of this and is handled at once. Everything else, including every invalid message, goes to the
//! SDK.

use std::sync::Arc;

use aquifer_engine::Engine;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::{Peer, RunningService, RxJsonRpcMessage, TxJsonRpcMessage, serve_directly};
use rmcp::transport::Transport;

use crate::fast_path::direct_calls::{Call, DirectCalls, SharedHandler};
use crate::handler::{Connection, McpHandler};
use crate::http::drain::Entry;
use crate::http::respond;
use crate::http::tracked_body::Content;
use crate::paths::CallCounts;

const JSON: &str = "application/json";
const STREAM: &str = "text/event-stream";

/// Handles calls on the fast path.
pub(crate) struct StatelessHttp {
    direct_calls: DirectCalls,
    peer: Peer<RoleServer>,
    _nobody: RunningService<RoleServer, SharedHandler>,
}

impl StatelessHttp {
    pub(crate) fn new(engine: Arc<Engine>, counts: Arc<CallCounts>) -> Self {
        let handler = Arc::new(McpHandler::new(engine, Connection::Stateless, counts));
        // Handlers want a peer. All that these calls are answered with is in their own metadata, so it may be nobody.
        let nobody = serve_directly(SharedHandler(handler.clone()), NullTransport, None);
        Self { direct_calls: DirectCalls::new(handler), peer: nobody.peer().clone(), _nobody: nobody }
    }

    /// The call in a request, if that is one that can go this way.
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
        let is_json = only(header::CONTENT_TYPE.as_str())?.starts_with(JSON);
        if !(is_json && accepted.contains(JSON) && accepted.contains(STREAM)) {
            return None;
        }
        let is_more = |name: &str| name == crate::http::SESSION || name.starts_with("mcp-param-");
        if headers.keys().any(|name| is_more(name.as_str())) {
            return None;
        }
        let call = self.direct_calls.read(body, Some(&self.peer))?;
        // Progress would have to be told meanwhile.
        let is_plain = call.is_newest && !call.wants_progress();
        (is_plain && only("mcp-name")? == call.tool() && self.direct_calls.knows(&call)).then_some(call)
    }

    /// Makes a call. It is told if its client leaves, ends in its own time, and is counted until then.
    pub(crate) async fn make(&self, call: Call, entry: Entry) -> Response<Content> {
        let leaving = self.direct_calls.token();
        let stays = leaving.clone().drop_guard();
        let answer = self.direct_calls.answer(call, leaving);
        let answer = tokio::spawn(async move {
            let answer = answer.await;
            drop(entry);
            answer
        });
        let answer = answer.await;
        stays.disarm();
        let written = answer.map_err(std::io::Error::other).and_then(|answer| Ok(answer.encode()?));
        match written {
            Ok(body) => {
                let mut response = respond(StatusCode::OK, body);
                response.headers_mut().insert(header::CONTENT_TYPE, crate::http::JSON);
                response
            }
            Err(cause) => {
                tracing::error!(%cause, "an answer was lost");
                respond(StatusCode::INTERNAL_SERVER_ERROR, "")
            }
        }
    }
}

/// A client that says nothing and hears nothing.
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
