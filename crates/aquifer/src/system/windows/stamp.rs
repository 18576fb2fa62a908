//! Detects that a file was replaced.

use std::fs::Metadata;
use std::os::windows::fs::MetadataExt as _;

/// The time at which the file was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    created: u64,
}

impl FileChange {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self { created: metadata.creation_time() }
    }
}
