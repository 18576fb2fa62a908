//! The short way of a tool call around the SDK.
//!
//! The SDK reads every message as one of dozens of kinds, by trial, and hands it and its answer through several tasks
//! and channels: most of what a call costs. Nearly every message is a tool call, so those are read as what they are,
//! and the SDK's own handling of them runs right where they arrive. Everything else goes the SDK's way, and so do calls
//! before the handshake, and whatever looks like a call and is none.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientNotification, ClientRequest, JsonRpcMessage, JsonRpcVersion2_0,
    ProtocolVersion, RequestId, RequestMetaObject, ServerConfig, ServerResult,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, Service, TxJsonRpcMessage};
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::face::Face;

/// The calls of one client that go the short way.
pub(crate) struct Express {
    face: Arc<Face>,
    under_way: Arc<UnderWay>,
    alive: CancellationToken,
    _ends_calls: DropGuard,
}

/// How to tell the calls under way that nobody waits for them.
#[derive(Default)]
struct UnderWay(Mutex<HashMap<RequestId, CancellationToken>>);

impl UnderWay {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A call as it stands in a message.
#[derive(Deserialize)]
struct Wire<'a> {
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
    peer: Peer<RoleServer>,
}

impl Call {
    /// What came with it beside its arguments.
    pub(crate) fn meta(&self) -> Option<&RequestMetaObject> {
        self.params.meta.as_ref()
    }

    /// The tool it names.
    pub(crate) fn tool(&self) -> &str {
        &self.params.name
    }
}

impl Express {
    pub(crate) fn new(face: Arc<Face>) -> Self {
        let alive = CancellationToken::new();
        let _ends_calls = alive.clone().drop_guard();
        Self { face, under_way: Arc::default(), alive, _ends_calls }
    }

    /// The call in a message, if it is one and the way is open: for the one client of this connection once it is known,
    /// or for the one that is given.
    pub(crate) fn read(&self, message: &[u8], peer: Option<&Peer<RoleServer>>) -> Option<Call> {
        let peer = peer.or_else(|| self.face.peer())?;
        memmem::find(message, b"\"tools/call\"")?;
        let wire: Wire<'_> = serde_json::from_slice(message).ok()?;
        (wire.method == "tools/call").then(|| Call { id: wire.id, params: wire.params, peer: peer.clone() })
    }

    /// Whether there is a tool of that name.
    pub(crate) fn knows(&self, call: &Call) -> bool {
        self.face.has_tool(&call.params.name)
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
    ) -> impl Future<Output = TxJsonRpcMessage<RoleServer>> + Send + use<> {
        let Call { id, mut params, peer } = call;
        let mut context = RequestContext::new(id.clone(), peer);
        context.ct = leaving;
        context.meta = params.meta.take().unwrap_or_default();
        let face = self.face.clone();
        async move {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
            match face.handle_request(request, context).await {
                Ok(result) => JsonRpcMessage::response(result, id),
                Err(error) => JsonRpcMessage::error(error, Some(id)),
            }
        }
    }

    /// Makes a call that can be cancelled by its id. Comes to nothing if it was.
    pub(crate) fn make(&self, call: Call) -> impl Future<Output = Option<TxJsonRpcMessage<RoleServer>>> + Send + use<> {
        let (id, leaving, under_way) = (call.id.clone(), self.token(), self.under_way.clone());
        under_way.lock().insert(id.clone(), leaving.clone());
        let answer = self.answer(call, leaving);
        async move {
            let answer = answer.await;
            under_way.lock().remove(&id)?;
            Some(answer)
        }
    }

    /// Tells a call that nobody waits for its answer. Says whether it is one of those here.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let cancelled = self.under_way.lock().remove(id);
        cancelled.inspect(CancellationToken::cancel).is_some()
    }
}

/// The same face for the SDK and for the short way.
pub(crate) struct Shared(pub(crate) Arc<Face>);

impl Service<RoleServer> for Shared {
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
