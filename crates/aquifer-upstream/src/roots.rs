//! Roots: the folders a client works in. An upstream asks for them when it likes, mostly when it is started and nobody is
//! there yet, and remembers the answer. So once it has asked, it is told whenever those of another client count.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aquifer_engine::source::ClientCapability;
use serde_json::{Map, Value, json};

use crate::calls::CallOrigin;
use crate::message;
use crate::shared::Shared;

/// What one upstream knows of roots.
pub(crate) struct Roots(Mutex<Known>);

struct Known {
    /// Whether it has asked for any.
    wanted: bool,
    /// Whose they are.
    of: Option<Arc<str>>,
    list: Value,
}

impl Default for Roots {
    fn default() -> Self {
        Self(Mutex::new(Known { wanted: false, of: None, list: none() }))
    }
}

impl Roots {
    fn with<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The upstream wants them.
    pub(crate) fn want(&self) {
        self.with(|known| known.wanted = true);
    }

    /// Those known now.
    pub(crate) fn list(&self) -> Value {
        self.with(|known| known.list.clone())
    }
}

fn none() -> Value {
    json!({ "roots": [] })
}

/// Before a call: asks the client behind it for its roots, unless they are known or nobody wants them, and tells the
/// upstream if they are others. While calls of several clients are under way, nobody's count.
pub(crate) async fn bring(shared: &Arc<Shared>, call_origin: &CallOrigin, timeout: Duration) {
    if !shared.roots.with(|known| known.wanted && known.of != call_origin.session) {
        return;
    }
    let client = call_origin.client.as_ref().filter(|client| client.can(ClientCapability::Roots));
    // Whoever could not be asked now is asked with the next call.
    let (of, list) = match client {
        None => (call_origin.session.clone(), none()),
        Some(_) if shared.calls.has_others(call_origin) => (None, none()),
        Some(client) => match tokio::time::timeout(timeout, client.ask(ClientCapability::Roots, Map::new())).await {
            Ok(Ok(list)) => (call_origin.session.clone(), list),
            Ok(Err(_)) => (None, none()),
            // Every call would take as long again.
            Err(_) => (call_origin.session.clone(), none()),
        },
    };
    let others = shared.roots.with(|known| {
        known.of = of;
        let others = known.list != list;
        known.list = list;
        others
    });
    if others {
        shared.send(message::notification("notifications/roots/list_changed", None));
    }
}
