//! The caller of a request.

use std::sync::Arc;

/// The caller of a request: an authenticated principal, a connection, or anonymous.
///
/// Owned items belong to the principal if there is one, otherwise to the session. Without either, anyone who has the
/// handle may use it. Nothing that a client writes into its request is an identity (R-END-6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The authenticated principal.
    pub principal: Option<Arc<str>>,
    /// The connection, for transports that have connections.
    pub session: Option<Arc<str>>,
}

impl Caller {
    /// A caller without principal and session.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// A caller identified by its connection only.
    pub fn session(id: impl Into<Arc<str>>) -> Self {
        Self { principal: None, session: Some(id.into()) }
    }

    /// The owner of what this caller creates.
    pub fn owner(&self) -> Option<&str> {
        self.principal.as_deref().or(self.session.as_deref())
    }
}
