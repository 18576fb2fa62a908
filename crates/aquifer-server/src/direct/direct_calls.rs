//! Parses and handles tool calls without the SDK.
//!
//! The SDK tries to parse every message as one of dozens of kinds and passes it and its answer through several tasks
//! and channels, which accounts for most of the cost of a call. Nearly every message is a tool call, so tool calls are
//! parsed as such and handled where they arrive. Other messages, calls before the handshake and malformed messages go
//! to the SDK.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use futures::FutureExt;
use futures::future::BoxFuture;
use memchr::memmem;
use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleServer;
use rmcp::model::{CallToolRequestParams, JsonRpcVersion2_0, ProtocolVersion, RequestId, RequestMetaObject};
use rmcp::service::Peer;
use serde::Deserialize;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::answer::payload::{CallAnswer, ResultForm};
use crate::client::call_context::CallContext;
use crate::handler::McpHandler;
use crate::progress;

/// The direct calls of one connection.
pub(crate) struct DirectCalls {
    handler: Arc<McpHandler>,
    running: Arc<RunningCalls>,
    alive: CancellationToken,
    _ends_calls: DropGuard,
}

/// The running calls, with the tokens that cancel them.
#[derive(Default)]
struct RunningCalls(Mutex<HashMap<RequestId, CancellationToken>>);

impl RunningCalls {
    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.0.lock()
    }
}

/// The message of a call.
#[derive(Deserialize)]
struct CallMessage<'a> {
    #[serde(rename = "jsonrpc")]
    _version: JsonRpcVersion2_0,
    id: RequestId,
    #[serde(borrow)]
    method: Cow<'a, str>,
    params: CallToolRequestParams,
}

/// A parsed call.
pub(crate) struct Call {
    pub(crate) id: RequestId,
    params: CallToolRequestParams,
    /// The `_meta` of its parameters.
    pub(crate) meta: RequestMetaObject,
    /// Whether it uses the newest revision, which has no handshake.
    pub(crate) is_newest: bool,
    peer: Peer<RoleServer>,
}

static METHOD: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(b"\"tools/call\""));

impl Call {
    /// Whether the client requested progress notifications.
    pub(crate) fn wants_progress(&self) -> bool {
        let arguments = self.params.arguments.as_ref();
        self.meta.get_progress_token().is_some() || arguments.and_then(progress::token_in).is_some()
    }

    /// The name of the tool.
    pub(crate) fn tool(&self) -> &str {
        &self.params.name
    }
}

impl DirectCalls {
    pub(crate) fn new(handler: Arc<McpHandler>) -> Self {
        let alive = CancellationToken::new();
        let _ends_calls = alive.clone().drop_guard();
        Self { handler, running: Arc::default(), alive, _ends_calls }
    }

    /// Parses a message as a call that can be handled directly. `peer` is its client; `None` stands for the only client
    /// of this connection, which is known after the handshake.
    pub(crate) fn read(&self, message: &[u8], peer: Option<&Peer<RoleServer>>) -> Option<Call> {
        let peer = peer.or_else(|| self.handler.peer())?;
        METHOD.find(message)?;
        let CallMessage { id, method, mut params, .. } = serde_json::from_slice(message).ok()?;
        if method != "tools/call" {
            return None;
        }
        let meta = params.meta.take().unwrap_or_default();
        let newest = ProtocolVersion::V_2026_07_28;
        // After a handshake, a request needs no metadata. Without one, every request has to contain all of it.
        let is_newest = match meta.protocol_version() {
            None => peer.peer_info().filter(|client| client.protocol_version < newest).map(|_| false)?,
            Some(version) if version == newest && meta.missing_required_keys(&newest).is_empty() => true,
            Some(_) => return None,
        };
        Some(Call { id, params, meta, is_newest, peer: peer.clone() })
    }

    /// Whether the tool of a call exists.
    pub(crate) fn has_tool_of(&self, call: &Call) -> bool {
        self.handler.has_tool(&call.params.name)
    }

    /// A token for a call. It is cancelled at the latest when `self` is dropped.
    pub(crate) fn token(&self) -> CancellationToken {
        self.alive.child_token()
    }

    /// Makes a call and answers it. Boxed, because the task that awaits it is moved several times, and this is by far
    /// its largest part.
    pub(crate) fn answer(&self, call: Call, cancelled: CancellationToken) -> BoxFuture<'static, CallAnswer> {
        let Call { id, params, meta, is_newest, peer } = call;
        let context = CallContext::new(meta, peer, cancelled);
        let handler = self.handler.clone();
        async move {
            // This replaces everything that the SDK does around a request: `read` has checked version and metadata, and
            // the rest happens here.
            let result = handler.call(params, &context).await;
            let form = if is_newest { ResultForm::Typed } else { ResultForm::Untyped };
            CallAnswer { id, result, form }
        }
        .boxed()
    }

    /// Makes a call that can be cancelled by its id. Returns `None` if it was cancelled.
    pub(crate) fn run(&self, call: Call) -> impl Future<Output = Option<CallAnswer>> + Send + use<> {
        let (id, cancelled, running) = (call.id.clone(), self.token(), self.running.clone());
        running.lock().insert(id.clone(), cancelled.clone());
        let answer = self.answer(call, cancelled.clone());
        async move {
            let answer = answer.await;
            running.lock().remove(&id);
            // Whether `remove` finds the id proves nothing, because another call may have used the same id.
            (!cancelled.is_cancelled()).then_some(answer)
        }
    }

    /// Cancels a call. Returns `false` if no direct call with this id is running.
    pub(crate) fn cancel(&self, id: &RequestId) -> bool {
        let cancelled = self.running.lock().remove(id);
        cancelled.inspect(CancellationToken::cancel).is_some()
    }
}
