//! Files and their permissions.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use super::directory::ANY_ACCESS_OF_OTHERS;

/// Whether a file exists and can be executed.
pub(in crate::system) fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The name of the file that a command without a directory starts.
pub(in crate::system) fn program_file_name(command: &str) -> String {
    command.to_owned()
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

/// Creates a file that only its owner can read from the start. Fails if it exists.
pub(crate) fn create_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a file for writing, and creates it for its owner only if it is missing.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Whether other users can read or change a file.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.mode() & ANY_ACCESS_OF_OTHERS != 0)
}

/// How to make a file private.
pub(crate) fn private_file_advice(path: &Path) -> String {
    format!("Run: chmod 600 {}", path.display())
}

/// How this user gets access to a file or directory that exists but is closed to them.
pub(crate) fn access_advice(path: &Path) -> String {
    let shown = path.display();
    let metadata = std::fs::metadata(path);
    let mode = if metadata.as_ref().is_ok_and(Metadata::is_dir) { "u+rwx" } else { "u+rw" };
    match metadata.is_ok_and(|metadata| metadata.uid() == rustix::process::geteuid().as_raw()) {
        true => format!("Run: chmod {mode} {shown}"),
        false => format!("It belongs to another user. Run: sudo chown -R $(id -un) {shown}"),
    }
}

/// Why somebody other than the current user and root may have written a file.
pub(crate) fn suspicion(_: &Path, metadata: &Metadata) -> Option<&'static str> {
    const WORLD_WRITABLE: u32 = 0o002;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw() || metadata.uid() == 0;
    if !is_own {
        return Some("belongs to another user");
    }
    (metadata.mode() & WORLD_WRITABLE != 0).then_some("is writable by everyone")
}

/// How a file that somebody else may have written becomes one that is used.
pub(crate) fn distrusted_file_advice(path: &Path) -> String {
    let shown = path.display();
    let is_own = path.metadata().is_ok_and(|found| found.uid() == rustix::process::geteuid().as_raw());
    let command = if is_own { "chmod go-w" } else { "sudo chown $(id -un)" };
    format!("Check what is in it, then run: {command} {shown}")
}

/// Whether a file is a disk or a part of one.
pub(crate) fn is_block_device(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}
