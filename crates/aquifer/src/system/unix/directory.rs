//! The state directory. It is created for its owner only, and repaired or refused if others could read or change its
//! contents.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use crate::system::DirectoryVerdict;

const OWNER_ONLY: u32 = 0o700;
pub(super) const ANY_ACCESS_OF_OTHERS: u32 = 0o077;
const WRITE_ACCESS_OF_OTHERS: u32 = 0o022;
const WRITE_ACCESS_OF_EVERYBODY: u32 = 0o002;
const STICKY: u32 = 0o1000;
pub(super) const ROOT: u32 = 0;

/// The properties of an existing directory.
#[derive(Debug, Clone, Copy)]
struct DirectoryFacts {
    owner: u32,
    mode: u32,
    /// Whether it is a symbolic link in or into a directory where everybody can create files.
    is_public_link: bool,
    /// Whether it contains entries that we did not create.
    has_other_entries: bool,
}

impl DirectoryFacts {
    fn read(path: &Path, has_other_entries: fn(&Path) -> bool) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        if !metadata.is_dir() {
            return Err(io::Error::new(ErrorKind::NotADirectory, "it is not a directory"));
        }
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        let link_is_public = || path.parent().is_some_and(is_public);
        let target_is_public = || path.canonicalize().is_ok_and(|target| target.parent().is_some_and(is_public));
        let is_public_link = is_link && (link_is_public() || target_is_public());
        let mode = metadata.mode();
        let has_other_entries = mode & ANY_ACCESS_OF_OTHERS != 0 && has_other_entries(path);
        Ok(Self { owner: metadata.uid(), mode, is_public_link, has_other_entries })
    }

    fn verdict(self, user: u32) -> DirectoryVerdict {
        let is_open = self.mode & ANY_ACCESS_OF_OTHERS != 0;
        if self.is_public_link {
            return DirectoryVerdict::Refuse(
                "it is a symbolic link in or into a directory where everyone can create files",
            );
        }
        match self.owner {
            owner if owner != user && owner != ROOT && user == ROOT => {
                DirectoryVerdict::Warn("it belongs to another user, who can change its contents")
            }
            owner if owner != user && owner != ROOT => DirectoryVerdict::Refuse("it belongs to another user"),
            owner if owner != user && self.mode & WRITE_ACCESS_OF_EVERYBODY != 0 => {
                DirectoryVerdict::Refuse("everyone can write to it")
            }
            owner if owner != user && is_open => {
                DirectoryVerdict::Warn("it belongs to root and is not private; only the files in it are private")
            }
            _ if !is_open => DirectoryVerdict::Private,
            // A directory such as /tmp is shared and cannot be made private.
            _ if self.mode & STICKY != 0 => DirectoryVerdict::Refuse("it is shared with other users"),
            _ if !self.has_other_entries => DirectoryVerdict::Repair,
            _ if self.mode & WRITE_ACCESS_OF_OTHERS != 0 => {
                DirectoryVerdict::Refuse("other users can write to it, and it holds files that are not Aquifer's")
            }
            _ => DirectoryVerdict::Warn(
                "it also holds other files, so its mode is unchanged; only the state files are private",
            ),
        }
    }
}

/// Whether everybody can create files in a directory.
fn is_public(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.mode() & WRITE_ACCESS_OF_EVERYBODY != 0)
}

/// What to do with an existing directory. Fails if it is not a directory. `has_other_entries` says whether it contains
/// entries that we did not create.
pub(crate) fn examine_directory(path: &Path, has_other_entries: fn(&Path) -> bool) -> io::Result<DirectoryVerdict> {
    Ok(DirectoryFacts::read(path, has_other_entries)?.verdict(rustix::process::geteuid().as_raw()))
}

/// Removes the access of other users to a file or directory of ours, if it exists. Symbolic links are skipped.
pub(crate) fn close_to_others(path: &Path) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return };
    let is_ours = metadata.uid() == rustix::process::geteuid().as_raw() && (metadata.is_file() || metadata.is_dir());
    if !is_ours || metadata.mode() & ANY_ACCESS_OF_OTHERS == 0 {
        return;
    }
    let shown = path.display();
    match fs::set_permissions(path, Permissions::from_mode(metadata.mode() & OWNER_ONLY)) {
        Ok(()) => tracing::warn!("{shown} was accessible to other users; it is now private"),
        Err(error) => tracing::warn!("{shown} is accessible to other users and cannot be made private: {error}"),
    }
}

/// Creates a directory, accessible to the owner only. Fails if it exists.
pub(crate) fn create_new_private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(OWNER_ONLY).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u32 = 1000;
    const OTHER: u32 = 1001;

    #[test]
    fn r_saf_6_a_directory_is_used_repaired_or_refused() {
        let private = DirectoryFacts { owner: US, mode: 0o700, is_public_link: false, has_other_entries: false };
        let open = DirectoryFacts { mode: 0o755, ..private };
        let shared = DirectoryFacts { has_other_entries: true, ..open };
        let of_root = DirectoryFacts { owner: ROOT, ..open };
        // (facts, who we are, verdict)
        let table = [
            (private, US, "private"),
            (open, US, "repair"),
            (DirectoryFacts { mode: 0o777, ..private }, US, "repair"),
            (DirectoryFacts { mode: 0o750, ..private }, US, "repair"),
            (shared, US, "warn"),
            (DirectoryFacts { mode: 0o775, ..shared }, US, "refuse"),
            (DirectoryFacts { mode: 0o777, ..shared }, US, "refuse"),
            (DirectoryFacts { owner: OTHER, ..private }, US, "refuse"),
            (DirectoryFacts { owner: OTHER, ..open }, US, "refuse"),
            (DirectoryFacts { owner: OTHER, ..private }, ROOT, "warn"),
            (DirectoryFacts { owner: ROOT, ..private }, ROOT, "private"),
            (of_root, ROOT, "repair"),
            (of_root, US, "warn"),
            (DirectoryFacts { mode: 0o770, ..of_root }, US, "warn"),
            (DirectoryFacts { mode: 0o777, ..of_root }, US, "refuse"),
            (DirectoryFacts { mode: 0o1777, ..of_root }, US, "refuse"),
            (DirectoryFacts { mode: 0o1777, ..of_root }, ROOT, "refuse"),
            (DirectoryFacts { is_public_link: true, ..private }, US, "refuse"),
            (DirectoryFacts { is_public_link: true, owner: ROOT, ..private }, ROOT, "refuse"),
        ];
        for (facts, user, expected) in table {
            let verdict = match facts.verdict(user) {
                DirectoryVerdict::Private => "private",
                DirectoryVerdict::Repair => "repair",
                DirectoryVerdict::Warn(_) => "warn",
                DirectoryVerdict::Refuse(_) => "refuse",
            };
            assert_eq!(verdict, expected, "{facts:?} for {user}");
        }
    }
}
