//! Files inherit the permissions of their directory, and the standard library does not tell their numbers.

use std::fs::{Metadata, OpenOptions};
use std::io::Result;
use std::os::windows::fs::MetadataExt as _;
use std::path::Path;

/// The time of creation stands for the number of a file. Windows gives a file that soon takes the name of a deleted one
/// the same time, so such a file is not detected.
pub(crate) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.creation_time())
}

/// Nothing to do: files have the permissions of their directory.
pub fn make_private(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Nothing to do: files have the permissions of their directory.
///
/// # Errors
///
/// Never.
pub fn restrict_file(_: &Path, _: &Metadata) -> Result<()> {
    Ok(())
}

/// Nothing to do: files have the permissions of their directory.
pub fn share_mode(_: &Path, _: &Metadata) {}

/// Creates a directory and its missing parents.
///
/// # Errors
///
/// If one of them cannot be created.
pub fn create_private_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path)
}

/// Nothing to do: the directory has the permissions of the one above it.
///
/// # Errors
///
/// Never.
pub fn restrict_directory(_: &Path) -> Result<()> {
    Ok(())
}

/// Nothing to do: a directory cannot be synced.
///
/// # Errors
///
/// Never.
pub fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}

/// Whether a file may be written to. Permissions of users are found out only by writing.
pub fn may_write(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}

/// The attribute of a directory does not forbid to create files in it, so this is found out only by creating one.
pub fn may_create_files(_: &Path) -> bool {
    true
}
