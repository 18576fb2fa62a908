//! Linux and macOS.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const OWNER_ONLY: u32 = 0o600;
const OTHERS: u32 = 0o077;

pub(super) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Removes the access of other users to a file.
pub(crate) fn restrict_to_owner(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.mode() & OTHERS == 0 {
        return Ok(());
    }
    std::fs::set_permissions(path, Permissions::from_mode(metadata.mode() & OWNER_ONLY))
}

/// Copies the mode if possible; otherwise SQLite reports the problem.
pub(crate) fn copy_mode(path: &Path, other: &Metadata) {
    let mode = other.mode() & OWNER_ONLY;
    if std::fs::metadata(path).is_ok_and(|found| found.mode() & (OWNER_ONLY | OTHERS) != mode) {
        let _ = std::fs::set_permissions(path, Permissions::from_mode(mode));
    }
}

/// Makes files that are created with these options accessible to the owner only.
pub(crate) fn owner_only(options: &mut OpenOptions) {
    options.mode(OWNER_ONLY);
}

/// Creates a directory and its missing parents, accessible to the owner only.
pub(crate) fn create_private_directory(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Syncs a directory, so that the entry of a new file survives a crash.
pub(crate) fn sync_directory(path: &Path) -> Result<()> {
    File::open(path)?.sync_all()
}
