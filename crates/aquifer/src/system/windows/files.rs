//! Files, of which only what the standard library provides is used.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::path::Path;

use super::directories::is_in_profile;
use crate::system::{AccessKind, Obstacle};

/// Whether a file exists. There is no permission to execute it.
pub(in crate::system) fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// The name of the file that a command without a directory starts: only `.exe` need not be written.
pub(in crate::system) fn program_file_name(command: &str) -> String {
    match Path::new(command).extension() {
        Some(_) => command.to_owned(),
        None => format!("{command}.exe"),
    }
}

/// Unknown.
pub(crate) fn free_bytes(_: &Path) -> Option<u64> {
    None
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_new(path: &Path, _: &Permissions) -> Result<File> {
    create_private(path)
}

/// Creates a file. Fails if it exists.
pub(crate) fn create_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a file for writing, and creates it if it is missing.
pub(crate) fn open_private(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).open(path)
}

/// Whether a file is where other users may have access to it.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    path.exists() && !is_in_profile(path)
}

/// How to make a file private.
pub(crate) fn private_file_advice(path: &Path) -> String {
    format!("Move {} into your user profile", path.display())
}

/// Whether this user may use a file or directory in this way. Only trying tells: an empty file is created in a directory,
/// and removed.
pub(crate) fn check_access(path: &Path, kind: AccessKind) -> Result<()> {
    match kind {
        AccessKind::Read => File::open(path).map(drop),
        AccessKind::ReadAndWrite => OpenOptions::new().read(true).write(true).open(path).map(drop),
        AccessKind::CreateFiles => {
            let probe = path.join(format!(".aquifer-probe-{}", std::process::id()));
            create_private(&probe)?;
            std::fs::remove_file(&probe)
        }
    }
}

/// Unknown.
pub(crate) fn find_obstacle(_: &Path) -> Obstacle {
    Obstacle::Unknown
}

/// Unknown: who replaces a file owns it.
pub(crate) fn can_keep_owner(_: &Metadata) -> bool {
    true
}

/// Does nothing.
pub(crate) fn keep_owner(_: &File, _: &Metadata) {}

/// Why somebody else may have written a file.
pub(crate) fn suspicion(path: &Path, _: &Metadata) -> Option<&'static str> {
    (!is_in_profile(path)).then_some("is outside your user profile, where others may have written it")
}

/// How a file that somebody else may have written becomes one that is used.
pub(crate) fn distrusted_file_advice(path: &Path) -> String {
    format!("Check what is in it, then name it: --config {}", path.display())
}

/// Disks are not files here.
pub(crate) fn is_block_device(_: &Metadata) -> bool {
    false
}
