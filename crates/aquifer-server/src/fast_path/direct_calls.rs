//! Parses and handles tool calls without the SDK.
//!
//! The SDK tries to parse every message as one of dozens of kinds and passes it and its answer through several tasks
//! and channels, which is most of what a call costs. Nearly every message is a tool call, so tool calls are parsed as
//! such and handled where they arrive. Other messages, calls before the handshake and anything malformed go to the SDK.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rmcp::model::{
    CallToolRequestParams, ClientNotification, ClientRequest, JsonRpcVersion2_0, ProtocolVersion, RequestId,
    RequestMetaObject, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, Service};
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::payload::{CallAnswer, ResultForm};
use crate::handler::McpHandler;
use crate::progress;

/// The calls of one client that take the fast path.
pub(crate) struct DirectCalls {
    handler: Arc<McpHandler>,
    under_way: Arc<RunningCalls>,
    alive: CancellationToken,
    _ends_calls: DropGuard,
}

/// How to tell the calls under way that nobody waits for them.
#[derive(Default)]
struct RunningCalls(Mutex<HashMap<RequestId, CancellationToken>>);

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call as it stands in a message.
#[derive(Deserialize)]
struct CallMessage<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: CallToolRequestParams,
}

/// A call that was read.
pub(crate) struct Call {
    pub(crate) id: RequestId,
    params: CallToolRequestParams,
    /// What came with it beside its arguments.
    pub(crate) meta: RequestMetaObject,
    /// Whether it is of the newest revision, which has no greeting.
    pub(crate) is_newest: bool,
    peer: Peer<RoleServer>,
}

static METHOD: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\"tools/call\""));

impl Call {
    /// Whether its client wants to hear of its progress.
    pub(crate) fn wants_progress(&self) -> bool {
        let arguments = self.params.arguments.as_ref();
        self.meta.get_progress_token().is_some() || arguments.and_then(progress::token_in).is_some()
    }

    /// The tool it names.
    pub(crate) fn tool(&self) -> &str {
        &self.params.name
    }
}

impl DirectCalls {
    pub(crate) fn new(handler: Arc<McpHandler>) -> Self {
        let alive = CancellationToken::new();
        let _ends_calls = alive.clone().drop_guard();
        Self { handler, under_way: Arc::default(), alive, _ends_calls }
    }

    /// The call in a message, if it is one and the way is open: for the one client of this connection once it is known,
    /// or for the one that is given.
    pub(crate) fn read(&self, message: &[u8], peer: Option<&Peer<RoleServer>>) -> Option<Call> {
        let peer = peer.or_else(|| self.handler.peer())?;
        METHOD.find(message)?;
        let CallMessage { id, method, mut params, .. } = serde_json::from_slice(message).ok()?;
        if method != "tools/call" {
            return None;
        }
        let meta = params.meta.take().unwrap_or_default();
        let newest = ProtocolVersion::V_2026_07_28;
        // Who greeted us need not say more. Who did not has to say everything with every request.
        let is_newest = match meta.protocol_version() {
            None => peer.peer_info().filter(|greeted| greeted.protocol_version < newest).map(|_| false)?,
            Some(said) if said == newest && meta.missing_required_keys(&newest).is_empty() => true,
            Some(_) => return None,
        };
        Some(Call { id, params, meta, is_newest, peer: peer.clone() })
    }

    /// Whether there is a tool of that name.
    pub(crate) fn knows(&self, call: &Call) -> bool {
        self.handler.has_tool(&call.params.name)
    }

    /// Fires at the latest when this is dropped.
    pub(crate) fn token(&self) -> CancellationToken {
        self.alive.child_token()
    }

    /// Makes a call and answers it.
    pub(crate) fn answer(
        &self,
        call: Call,
        leaving: CancellationToken,
    ) -> impl Future<Output = CallAnswer> + Send + use<> {
        let Call { id, params, meta, is_newest, peer } = call;
        let mut context = RequestContext::new(id.clone(), peer);
        context.ct = leaving;
        context.meta = meta;
        let handler = self.handler.clone();
        async move {
            // What the SDK does around this for every kind of request is either done (its version, its metadata) or
            // here.
            let result = handler.call_directly(params, &context).await;
            let form = if is_newest { ResultForm::Typed } else { ResultForm::Untyped };
            CallAnswer { id, result, form }
        }
    }

    /// Makes a call that can be cancelled by its id. Comes to nothing if it was.
    pub(crate) fn make(&self, call: Call) -> impl Future<Output = Option<CallAnswer>> + Send + use<> {
        let (id, leaving, under_way) = (call.id.clone(), self.token(), self.under_way.clone());
        under_way.lock().insert(id.clone(), leaving.clone());
        let answer = self.answer(call, leaving.clone());
        async move {
            let answer = answer.await;
            under_way.lock().remove(&id);
            // Not whether its id was still known: another call may have had the same.
            (!leaving.is_cancelled()).then_some(answer)
        }
    }

    /// Tells a call that nobody waits for its answer. Says whether it is one of those here.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let cancelled = self.under_way.lock().remove(id);
        cancelled.inspect(CancellationToken::cancel).is_some()
    }
}

/// The same handler for the SDK and for the fast path.
pub(crate) struct SharedHandler(pub(crate) Arc<McpHandler>);

impl Service<RoleServer> for SharedHandler {
    async fn handle_request(
        &self,
        request: ClientRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        self.0.handle_request(request, context).await
    }

    async fn handle_notification(
        &self,
        notification: ClientNotification,
        context: NotificationContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.handle_notification(notification, context).await
    }

    fn get_info(&self) -> ServerConfig {
        Service::get_info(&*self.0)
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Service::supported_protocol_versions(&*self.0)
    }
}
