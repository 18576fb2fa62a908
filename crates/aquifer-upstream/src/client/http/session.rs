//! The session with a server.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::header::HeaderValue;

/// A session with a server. Servers without sessions never open one.
#[derive(Default)]
pub(super) struct Session {
    id: OnceLock<HeaderValue>,
    /// Whether the server has lost the session or we have ended it.
    is_over: AtomicBool,
}

impl Session {
    /// Records the id that the server assigned. Ignored if there is an id already.
    pub(super) fn open(&self, id: &HeaderValue) {
        let mut id = id.clone();
        id.set_sensitive(true);
        let _ = self.id.set(id);
    }

    /// The id to send with every request.
    pub(super) fn id(&self) -> Option<&HeaderValue> {
        self.id.get()
    }

    /// Records that the server has lost the session.
    pub(super) fn lose(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Marks the session as ended. Returns whether a DELETE request has to be sent: once, and never for a lost session.
    pub(super) fn end(&self) -> bool {
        self.id.get().is_some() && !self.is_over.swap(true, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_ended_once_and_only_if_the_server_has_it() {
        let id = HeaderValue::from_static("s1");
        let none = Session::default();
        assert!(!none.end());
        let open = Session::default();
        open.open(&id);
        assert!(open.end());
        assert!(!open.end());
        let lost = Session::default();
        lost.open(&id);
        lost.lose();
        assert!(!lost.end());
    }
}
