//! What a request says besides its parameters.
//!
//! The handler takes this instead of the SDK's context, so that a call is handled in one way, whether the SDK has parsed
//! it or [`direct`](crate::direct). What several steps of a call ask for is resolved once.

use rmcp::RoleServer;
use rmcp::model::{ClientCapabilities, Extensions, Implementation, ProgressToken, ProtocolVersion, RequestMetaObject};
use rmcp::service::{Peer, RequestContext};
use tokio_util::sync::CancellationToken;

/// The client of a request, its metadata, and the token that cancels it.
pub(crate) struct CallContext {
    pub(crate) peer: Peer<RoleServer>,
    pub(crate) cancelled: CancellationToken,
    /// The revision of the request, otherwise that of the handshake.
    pub(crate) protocol_version: Option<ProtocolVersion>,
    /// What the client can do according to the request, otherwise according to the handshake.
    pub(crate) capabilities: Option<ClientCapabilities>,
    pub(crate) meta: RequestMetaObject,
    /// What was attached to the request, such as its entry in a count. It is dropped when the request has ended.
    _attached: Extensions,
}

impl CallContext {
    pub(crate) fn new(meta: RequestMetaObject, peer: Peer<RoleServer>, cancelled: CancellationToken) -> Self {
        let protocol_version =
            meta.protocol_version().or_else(|| peer.peer_info().map(|client| client.protocol_version.clone()));
        let capabilities =
            meta.client_capabilities().or_else(|| peer.peer_info().map(|client| client.capabilities.clone()));
        Self { peer, cancelled, protocol_version, capabilities, meta, _attached: Extensions::default() }
    }

    /// Whether the request uses the newest revision, in which every request stands for itself.
    pub(crate) fn is_newest(&self) -> bool {
        self.protocol_version.as_ref().is_some_and(|version| *version >= ProtocolVersion::V_2026_07_28)
    }

    /// What the client calls itself in the request, otherwise in the handshake.
    pub(crate) fn client_info(&self) -> Option<Implementation> {
        let from_handshake = || self.peer.peer_info().map(|client| client.client_info.clone());
        self.meta.client_info().or_else(from_handshake)
    }

    /// The token under which the client wants progress notifications.
    pub(crate) fn progress_token(&self) -> Option<ProgressToken> {
        self.meta.get_progress_token()
    }
}

impl From<RequestContext<RoleServer>> for CallContext {
    fn from(context: RequestContext<RoleServer>) -> Self {
        let RequestContext { ct, meta, peer, extensions, .. } = context;
        Self { _attached: extensions, ..Self::new(meta, peer, ct) }
    }
}
