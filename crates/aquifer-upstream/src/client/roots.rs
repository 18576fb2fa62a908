//! Roots: the folders that a client works in. Upstreams usually request them at startup, before a client is connected,
//! and cache the answer. Once an upstream has requested roots, it is notified whenever the roots of another client
//! apply.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::source::ClientCapability;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use super::message;
use super::pending_calls::CallOrigin;
use super::shared_state::SharedState;

/// The roots that one upstream knows.
pub(crate) struct Roots(Mutex<RootsState>);

struct RootsState {
    /// Whether the upstream has requested roots.
    is_requested: bool,
    /// The session whose roots these are.
    owner: Option<Arc<str>>,
    list: Value,
}

impl Default for Roots {
    fn default() -> Self {
        Self(Mutex::new(RootsState { is_requested: false, owner: None, list: empty_list() }))
    }
}

impl Roots {
    fn with<T>(&self, update: impl FnOnce(&mut RootsState) -> T) -> T {
        update(&mut self.0.lock())
    }

    /// Records that the upstream has requested roots.
    pub(crate) fn mark_requested(&self) {
        self.with(|known| known.is_requested = true);
    }

    /// The current roots.
    pub(crate) fn list(&self) -> Value {
        self.with(|known| known.list.clone())
    }
}

fn empty_list() -> Value {
    json!({ "roots": [] })
}

/// Called before a call: asks the client for its roots if the upstream needs them, and notifies the upstream if they
/// changed. While calls of several clients are pending, the list is empty.
pub(crate) async fn refresh(shared: &Arc<SharedState>, call_origin: &CallOrigin, timeout: Duration) {
    if !shared.roots.with(|known| known.is_requested && known.owner != call_origin.session) {
        return;
    }
    let client = call_origin.client.as_ref().filter(|client| client.can(ClientCapability::Roots));
    // A client that could not be reached is asked again on the next call.
    let (owner, list) = match client {
        None => (call_origin.session.clone(), empty_list()),
        Some(_) if shared.calls.has_others(call_origin) => (None, empty_list()),
        Some(client) => match tokio::time::timeout(timeout, client.ask(ClientCapability::Roots, Map::new())).await {
            Ok(Ok(list)) => (call_origin.session.clone(), list),
            Ok(Err(_)) => (None, empty_list()),
            // Later calls must not wait for it again.
            Err(_) => (call_origin.session.clone(), empty_list()),
        },
    };
    let is_changed = shared.roots.with(|known| {
        known.owner = owner;
        let is_changed = known.list != list;
        known.list = list;
        is_changed
    });
    if is_changed {
        shared.send(message::notification("notifications/roots/list_changed", None));
    }
}
