//! Who is asking.

use std::sync::Arc;

/// Who is asking: somebody authenticated, one connection, or nobody in particular.
///
/// What must belong to somebody belongs to the principal where there is one, else to the session, else it is a bearer
/// handle. Nothing a client writes into its request is ever an identity (R-END-6).
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The authenticated principal.
    pub principal: Option<Arc<str>>,
    /// The connection, where there are connections.
    pub session: Option<Arc<str>>,
}

impl Caller {
    /// Nobody in particular.
    pub fn anonymous() -> Self {
        Self::default()
    }

    /// A caller known by its connection only.
    pub fn session(id: impl Into<Arc<str>>) -> Self {
        Self { principal: None, session: Some(id.into()) }
    }

    /// Whom to bind things to.
    pub fn owner(&self) -> Option<&str> {
        self.principal.as_deref().or(self.session.as_deref())
    }
}
