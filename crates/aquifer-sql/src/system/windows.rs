//! Windows, where the standard library does not tell the numbers of files.

use std::fs::Metadata;
use std::os::windows::fs::MetadataExt as _;
use std::path::Path;

/// The time of creation stands for the number of a file. Windows gives a file that soon takes the name of a deleted one
/// the same time, so such a file is not detected.
pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.creation_time())
}

/// Whether a file may be written to. Permissions of users are found out only by writing.
pub(crate) fn may_write(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// The attribute of a directory does not forbid to create files in it, so this is found out only by creating one.
pub(crate) fn may_create_files(_directory: &Path) -> bool {
    true
}
