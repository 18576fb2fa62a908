//! The permissions and the identity of files.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;
const OTHERS: u32 = 0o077;

pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Makes files that are created with these options accessible to the owner only.
pub fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(PRIVATE_FILE)
}

/// Removes the access of other users to a file.
///
/// # Errors
///
/// If its permissions cannot be changed.
pub fn restrict_file(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.mode() & OTHERS == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(metadata.mode() & PRIVATE_FILE))
}

/// Gives a file the owner's permissions of another file, if possible.
pub fn share_mode(path: &Path, other: &Metadata) {
    let mode = other.mode() & PRIVATE_FILE;
    if std::fs::metadata(path).is_ok_and(|found| found.mode() & (PRIVATE_FILE | OTHERS) != mode) {
        let _ = std::fs::set_permissions(path, Permissions::from_mode(mode));
    }
}

/// Creates a directory and its missing parents, accessible to the owner only.
///
/// # Errors
///
/// If one of them cannot be created.
pub fn create_private_directory(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(path)
}

/// Removes the access of other users to a directory.
///
/// # Errors
///
/// If its permissions cannot be changed.
pub fn restrict_directory(path: &Path) -> Result<()> {
    std::fs::set_permissions(path, Permissions::from_mode(PRIVATE_DIRECTORY))
}

/// Syncs a directory, so that the entry of a new file survives a crash.
///
/// # Errors
///
/// If the system cannot.
pub fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)?.sync_all()
}

/// Whether this user may write to a file. Does not open it, because closing it would release SQLite's locks.
pub fn may_write(file: &Path) -> bool {
    has_access(file, Access::WRITE_OK)
}

/// Whether this user may create files in a directory.
pub fn may_create_files(directory: &Path) -> bool {
    has_access(directory, Access::WRITE_OK | Access::EXEC_OK)
}

fn has_access(path: &Path, access: Access) -> bool {
    rustix::fs::accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}
