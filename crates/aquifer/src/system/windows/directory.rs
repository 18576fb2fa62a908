//! The state directory.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;

use super::directories::is_in_profile;
use crate::system::DirectoryVerdict;

/// What to do with an existing directory. Fails if it is not a directory.
pub(crate) fn examine_directory(path: &Path, _: fn(&Path) -> bool) -> Result<DirectoryVerdict> {
    if !fs::metadata(path)?.is_dir() {
        return Err(Error::new(ErrorKind::NotADirectory, "it is not a directory"));
    }
    Ok(match is_in_profile(path) {
        true => DirectoryVerdict::Private,
        false => DirectoryVerdict::Warn(
            "it is outside the profile of the user, and on this system Aquifer cannot tell who has access to it",
        ),
    })
}

/// Nothing to do: files have the permissions of their directory.
pub(crate) fn close_to_others(_: &Path) {}

/// Creates a directory. Fails if it exists.
pub(crate) fn create_new_private_directory(path: &Path) -> Result<()> {
    fs::create_dir(path)
}
