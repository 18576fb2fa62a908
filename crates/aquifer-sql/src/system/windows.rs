//! Windows, where the standard library does not tell the numbers of files.

use std::fs::Metadata;
use std::os::windows::fs::MetadataExt as _;

/// The time of creation stands for the number of a file. Windows gives a file that soon takes the name of a deleted one
/// the same time, so such a file is not detected.
pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.creation_time())
}
