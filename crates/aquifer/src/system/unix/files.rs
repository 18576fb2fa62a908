//! Files and their permissions.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io::Result;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use super::directory::{ANY_ACCESS_OF_OTHERS, ROOT};
use crate::system::{AccessKind, Obstacle, quoted_path};

const WORLD_WRITABLE: u32 = 0o002;
/// The maximum number of links that are followed to what denies access.
const MAX_LINKS: usize = 16;

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
    // A file system without blocks, such as /proc, has no free ones either.
    let found = rustix::fs::statvfs(directory).ok().filter(|found| found.f_blocks > 0)?;
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
    format!("Run: chmod 600 {}", quoted_path(path))
}

/// Whether this user may use a file or directory in this way. Changes nothing.
pub(crate) fn check_access(path: &Path, kind: AccessKind) -> Result<()> {
    let mode = match kind {
        AccessKind::Read => Access::READ_OK,
        AccessKind::ReadAndWrite => Access::READ_OK | Access::WRITE_OK,
        AccessKind::CreateFiles => Access::WRITE_OK | Access::EXEC_OK,
    };
    Ok(rustix::fs::accessat(CWD, path, mode, AtFlags::EACCESS)?)
}

/// What denies this user access to a file or directory: itself, or the first directory above it that hides it.
pub(crate) fn find_obstacle(path: &Path) -> Obstacle {
    let mut path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for _ in 0..MAX_LINKS {
        let visible = path.ancestors().find_map(|part| Some((part.to_owned(), part.symlink_metadata().ok()?)));
        let Some((found, metadata)) = visible else { return Obstacle::Unknown };
        match (metadata.is_symlink(), std::fs::read_link(&found)) {
            // The obstacle is where the link leads.
            (true, Ok(target)) => path = found.parent().unwrap_or(&found).join(target),
            _ => return FileFacts::new(&metadata).obstacle(found, rustix::process::geteuid().as_raw()),
        }
    }
    Obstacle::Unknown
}

/// Whether a file that replaces another one can belong to the same user.
pub(crate) fn can_keep_owner(metadata: &Metadata) -> bool {
    let user = rustix::process::geteuid().as_raw();
    metadata.uid() == user || user == ROOT
}

/// Gives a new file the owner and the group of the one that it replaces, as far as this user may.
pub(crate) fn keep_owner(file: &File, before: &Metadata) {
    let Ok(new) = file.metadata() else { return };
    if (new.uid(), new.gid()) != (before.uid(), before.gid()) {
        let _ = std::os::unix::fs::fchown(file, Some(before.uid()), Some(before.gid()));
    }
}

/// Why somebody other than the current user and root may have written a file.
pub(crate) fn suspicion(_: &Path, metadata: &Metadata) -> Option<&'static str> {
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw() || metadata.uid() == ROOT;
    if !is_own {
        return Some("belongs to another user");
    }
    (metadata.mode() & WORLD_WRITABLE != 0).then_some("is writable by everyone")
}

/// How a file that somebody else may have written becomes one that is used.
pub(crate) fn distrusted_file_advice(path: &Path) -> String {
    let Ok(metadata) = path.metadata() else { return "Check what is in it, then name it with --config".to_owned() };
    let commands = FileFacts::new(&metadata).trust_commands(rustix::process::geteuid().as_raw());
    let commands: Vec<String> = commands.iter().map(|command| format!("{command} {}", quoted_path(path))).collect();
    format!("Check what is in it, then run: {}. Or name it with --config", commands.join(" && "))
}

/// The properties of a file or directory on which advice depends.
#[derive(Debug, Clone, Copy)]
struct FileFacts {
    owner: u32,
    mode: u32,
    is_directory: bool,
}

impl FileFacts {
    fn new(metadata: &Metadata) -> Self {
        Self { owner: metadata.uid(), mode: metadata.mode(), is_directory: metadata.is_dir() }
    }

    /// What denies a user access to it, if anything of it does.
    fn obstacle(self, path: PathBuf, user: u32) -> Obstacle {
        let Self { owner, mode, is_directory } = self;
        let wanted = if is_directory { 0o700 } else { 0o600 };
        match owner {
            _ if owner == user && mode & wanted == wanted => Obstacle::Unknown,
            _ if owner == user => Obstacle::Permissions { path, is_directory },
            ROOT => Obstacle::OtherOwner { path, owner: "root".to_owned() },
            _ => Obstacle::OtherOwner { path, owner: format!("the user with the id {owner}") },
        }
    }

    /// The commands after which a user trusts it.
    fn trust_commands(self, user: u32) -> Vec<&'static str> {
        let is_writable = self.mode & WORLD_WRITABLE != 0;
        match self.owner {
            owner if owner == user => vec!["chmod go-w"],
            ROOT => vec!["sudo chmod go-w"],
            _ if is_writable => vec!["sudo chown $(id -un)", "chmod go-w"],
            _ => vec!["sudo chown $(id -un)"],
        }
    }
}

/// Whether a file is a disk or a part of one.
pub(crate) fn is_block_device(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u32 = 1000;
    const OTHER: u32 = 1001;

    fn facts(owner: u32, mode: u32) -> FileFacts {
        FileFacts { owner, mode, is_directory: false }
    }

    #[test]
    fn the_commands_remove_every_reason_to_distrust_a_file() {
        for (owner, mode, commands) in [
            (US, 0o666, &["chmod go-w"][..]),
            (ROOT, 0o666, &["sudo chmod go-w"]),
            (OTHER, 0o644, &["sudo chown $(id -un)"]),
            (OTHER, 0o646, &["sudo chown $(id -un)", "chmod go-w"]),
        ] {
            assert_eq!(facts(owner, mode).trust_commands(US), commands, "{owner} {mode:o}");
        }
    }

    #[test]
    fn an_obstacle_is_named_with_its_owner() {
        let folder = FileFacts { is_directory: true, ..facts(US, 0o600) };
        let path = || PathBuf::from("/x");
        let of_other = |owner: &str| Obstacle::OtherOwner { path: path(), owner: owner.to_owned() };
        for (facts, expected) in [
            (facts(US, 0o400), Obstacle::Permissions { path: path(), is_directory: false }),
            (folder, Obstacle::Permissions { path: path(), is_directory: true }),
            // Something else denies what these permissions allow.
            (facts(US, 0o600), Obstacle::Unknown),
            (facts(ROOT, 0o644), of_other("root")),
            (facts(OTHER, 0o600), of_other("the user with the id 1001")),
        ] {
            assert_eq!(facts.obstacle(path(), US), expected, "{facts:?}");
        }
    }
}
