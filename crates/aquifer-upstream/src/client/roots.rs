//! Roots: the folders a client works in. An upstream asks for them when it likes, mostly when it is started and nobody is
//! there yet, and remembers the answer. So once it has asked, it is told whenever those of another client count.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aquifer_engine::source::ClientCapability;
use serde_json::{Map, Value, json};

use super::message;
use super::pending_calls::CallOrigin;
use super::shared_state::SharedState;

/// What one upstream knows of roots.
pub(crate) struct Roots(Mutex<RootsState>);

struct RootsState {
    /// Whether it has asked for any.
    is_requested: bool,
    /// Whose they are.
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
        update(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The upstream wants them.
    pub(crate) fn mark_requested(&self) {
        self.with(|known| known.is_requested = true);
    }

    /// Those known now.
    pub(crate) fn list(&self) -> Value {
        self.with(|known| known.list.clone())
    }
}

fn empty_list() -> Value {
    json!({ "roots": [] })
}

/// Before a call: asks the client behind it for its roots, unless they are known or nobody wants them, and tells the
/// upstream if they are others. While calls of several clients are under way, nobody's count.
pub(crate) async fn refresh(shared: &Arc<SharedState>, call_origin: &CallOrigin, timeout: Duration) {
    if !shared.roots.with(|known| known.is_requested && known.owner != call_origin.session) {
        return;
    }
    let client = call_origin.client.as_ref().filter(|client| client.can(ClientCapability::Roots));
    // Whoever could not be asked now is asked with the next call.
    let (owner, list) = match client {
        None => (call_origin.session.clone(), empty_list()),
        Some(_) if shared.calls.has_others(call_origin) => (None, empty_list()),
        Some(client) => match tokio::time::timeout(timeout, client.ask(ClientCapability::Roots, Map::new())).await {
            Ok(Ok(list)) => (call_origin.session.clone(), list),
            Ok(Err(_)) => (None, empty_list()),
            // Every call would take as long again.
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
