//! Linux and macOS.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Whether a file exists and can be executed.
pub(super) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The bytes that this user can still write on the disk of a directory.
pub(crate) fn free_bytes(directory: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(directory).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// Creates a file with these permissions from the start. Fails if it exists.
pub(crate) fn create_new(path: &Path, permissions: &Permissions) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(permissions.mode() & 0o777).open(path)
}

/// Opens a file for writing, and creates it for its owner only if it is missing.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}
