//! Names an entry that was handed to the writer, before anybody knows where it will stand.

use std::sync::{Arc, OnceLock};

use super::EntryPosition;

/// Names one entry. Its position is known once it is written, and never if it could not be.
///
/// An outcome refers to its intent by this handle. The writer works in order, so it knows the position of the intent when
/// it writes the outcome, although no caller has waited for it.
#[derive(Debug, Clone, Default)]
pub struct EntryHandle(Arc<OnceLock<EntryPosition>>);

impl EntryHandle {
    /// Where the entry stands, once it is written.
    pub fn position(&self) -> Option<&EntryPosition> {
        self.0.get()
    }

    /// Notes where the entry stands. It stays there.
    pub(super) fn set_position(&self, position: EntryPosition) {
        // A second position would be a second entry; each handle is handed in once.
        let _ = self.0.set(position);
    }

    /// Whether both name the same entry.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<EntryPosition> for EntryHandle {
    fn from(position: EntryPosition) -> Self {
        Self(Arc::new(OnceLock::from(position)))
    }
}
