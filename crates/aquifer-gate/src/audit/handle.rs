//! A handle for an entry whose position is not known yet.

use std::sync::{Arc, OnceLock};

use super::EntryPosition;

/// Identifies an entry that was handed to the writer. Its position is known once it is written.
///
/// An outcome refers to its intent by this handle. The writer works in order, so it knows the position of the intent
/// when it writes the outcome, even if no caller waited for it.
#[derive(Debug, Clone, Default)]
pub struct EntryHandle(Arc<OnceLock<EntryPosition>>);

impl EntryHandle {
    /// The position of the entry, once it is written.
    pub fn position(&self) -> Option<&EntryPosition> {
        self.0.get()
    }

    /// Sets the position, once.
    pub(super) fn set_position(&self, position: EntryPosition) {
        // Each handle belongs to one entry, so this never fails.
        let _ = self.0.set(position);
    }

    /// Whether both handles identify the same entry.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<EntryPosition> for EntryHandle {
    fn from(position: EntryPosition) -> Self {
        Self(Arc::new(OnceLock::from(position)))
    }
}
