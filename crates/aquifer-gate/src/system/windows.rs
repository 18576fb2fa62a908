//! Windows. Files inherit the permissions of their directory, and the standard library does not tell their numbers.

use std::fs::{Metadata, OpenOptions};
use std::io::Result;
use std::os::windows::fs::MetadataExt as _;
use std::path::Path;

/// The time of creation stands for the number of a file. Windows gives a file that soon takes the name of a deleted one
/// the same time, so such a file is not detected.
pub(super) fn device_and_number(metadata: &Metadata) -> (u64, u64) {
    (0, metadata.creation_time())
}

/// Nothing to do: files have the permissions of their directory.
pub(crate) fn restrict_to_owner(_: &Path, _: &Metadata) -> Result<()> {
    Ok(())
}

/// Nothing to do: files have the permissions of their directory.
pub(crate) fn copy_mode(_: &Path, _: &Metadata) {}

/// Nothing to do: files have the permissions of their directory.
pub(crate) fn owner_only(_: &mut OpenOptions) {}

/// Creates a directory and its missing parents.
pub(crate) fn create_private_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path)
}

/// Nothing to do: a directory cannot be synced.
pub(crate) fn sync_directory(_: &Path) -> Result<()> {
    Ok(())
}
