//! Linux and macOS.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};

/// The numbers of the device and of the file, by which a file is recognized that has taken the place of another.
pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Whether this user may write to a file. Does not open it, because closing it would release SQLite's locks.
pub(crate) fn may_write(file: &Path) -> bool {
    has_access(file, Access::WRITE_OK)
}

/// Whether this user may create files in a directory.
pub(crate) fn may_create_files(directory: &Path) -> bool {
    has_access(directory, Access::WRITE_OK | Access::EXEC_OK)
}

fn has_access(path: &Path, access: Access) -> bool {
    rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}
