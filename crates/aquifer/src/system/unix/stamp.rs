//! Detects that a file was changed or replaced.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;

/// The time of the last change, which programs cannot set, and the number of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    changed: (i64, i64),
    number: u64,
}

impl FileChange {
    pub(crate) fn new(metadata: &Metadata) -> Self {
        Self { changed: (metadata.ctime(), metadata.ctime_nsec()), number: metadata.ino() }
    }
}
