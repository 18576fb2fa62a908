//! Other systems, of which only what the standard library provides is used.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Result;
use std::path::Path;

/// Whether a file exists. There is no permission to execute it.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Unknown.
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_new(path: &Path, _: &Permissions) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a file for writing, and creates it if it is missing.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}
