//! The address of the pages where a person decides about approvals.

use std::sync::{Arc, OnceLock};

/// Where approvals are decided. The address is known once a server listens; clones share it.
#[derive(Debug, Clone, Default)]
pub struct ApprovalPages(Arc<OnceLock<String>>);

impl ApprovalPages {
    /// Sets the address of the server, without a path. Only the first one counts.
    pub fn set_base_url(&self, base_url: &str) {
        let _ = self.0.set(base_url.trim_end_matches('/').to_owned());
    }

    /// The address of the server, once it is known.
    pub fn base_url(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }

    /// A reference to an approval, with its address if there are pages.
    pub(super) fn reference(&self, id: String) -> ApprovalReference {
        let url = self.0.get().map(|base| format!("{base}/approvals/{id}"));
        ApprovalReference { id, url }
    }
}

/// An approval that a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApprovalReference {
    pub(crate) id: String,
    /// The page where it is decided.
    pub(crate) url: Option<String>,
}
