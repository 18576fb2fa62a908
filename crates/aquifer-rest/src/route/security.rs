//! Which credentials a request needs.

use std::sync::Arc;

/// The credentials that a request needs, as indexes into [`Api::auth`](crate::api::Api::auth).
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Security {
    /// The credential of the first configured scheme, because the description does not say which one is needed.
    #[default]
    Any,
    /// All credentials of the first alternative that is configured. An empty alternative is always met, so it comes
    /// last. Requests without alternatives get no credentials.
    OneOf(Arc<[Vec<usize>]>),
}

impl Security {
    /// No credentials.
    pub fn none() -> Self {
        Self::OneOf(Arc::new([]))
    }
}
