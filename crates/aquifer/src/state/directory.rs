//! The state directory. It is created for its owner only, and repaired or refused if others could read or change its
//! contents: whoever can write there can approve calls and replace logins.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Once;

use anyhow::{Context, bail};

const OWNER_ONLY: u32 = 0o700;
const ANY_ACCESS_OF_OTHERS: u32 = 0o077;
const WRITE_ACCESS_OF_OTHERS: u32 = 0o022;
const WRITE_ACCESS_OF_EVERYBODY: u32 = 0o002;
const STICKY: u32 = 0o1000;
const ROOT: u32 = 0;

/// Prefixes of the names of our own files.
const OUR_NAMES: &[&str] = &[
    "state.sqlite",
    "cursor.key",
    "admin.key",
    "catalog",
    "descriptions",
    "logins",
    "audit",
    "trust",
    "version",
    "backup-",
];

/// Maximum number of entries examined to determine whether the directory contains only our files.
const MAX_ENTRIES: usize = 1_000;

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

/// What to do with the directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// Nobody else can read or change its contents.
    Private,
    /// It is ours, but its permissions are too wide.
    Repair,
    /// It is used, with a warning for the operator.
    Warn(&'static str),
    /// It is not used.
    Refuse(&'static str),
}

impl DirectoryFacts {
    fn read(path: &Path) -> io::Result<Self> {
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

    fn verdict(self, user: u32) -> Verdict {
        let is_open = self.mode & ANY_ACCESS_OF_OTHERS != 0;
        if self.is_public_link {
            return Verdict::Refuse("it is a symbolic link in or into a directory where everyone can create files");
        }
        match self.owner {
            owner if owner != user && owner != ROOT && user == ROOT => {
                Verdict::Warn("it belongs to another user, who can change its contents")
            }
            owner if owner != user && owner != ROOT => Verdict::Refuse("it belongs to another user"),
            owner if owner != user && self.mode & WRITE_ACCESS_OF_EVERYBODY != 0 => {
                Verdict::Refuse("everyone can write to it")
            }
            owner if owner != user && is_open => {
                Verdict::Warn("it belongs to root and is not private; only the files in it are private")
            }
            _ if !is_open => Verdict::Private,
            // A directory such as /tmp is shared and cannot be made private.
            _ if self.mode & STICKY != 0 => Verdict::Refuse("it is shared with other users"),
            _ if !self.has_other_entries => Verdict::Repair,
            _ if self.mode & WRITE_ACCESS_OF_OTHERS != 0 => {
                Verdict::Refuse("other users can write to it, and it holds files that are not Aquifer's")
            }
            _ => Verdict::Warn("it also holds other files, so its mode is unchanged; only the state files are private"),
        }
    }
}

/// Whether everybody can create files in a directory.
fn is_public(directory: &Path) -> bool {
    fs::metadata(directory).is_ok_and(|found| found.mode() & WRITE_ACCESS_OF_EVERYBODY != 0)
}

fn has_other_entries(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else { return true };
    entries.take(MAX_ENTRIES).any(|entry| {
        let name = entry.map(|entry| entry.file_name()).unwrap_or_default();
        let name = name.to_string_lossy();
        !OUR_NAMES.iter().any(|ours| name.starts_with(ours))
    })
}

/// Whether others can access the directory, for a person who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privacy {
    /// It does not exist yet.
    Missing,
    /// Nobody else can read or change its contents.
    Private,
    /// Others can, and it can be made private.
    Open,
    /// It is used although others can see it.
    Shared(&'static str),
    /// It is not used.
    Unusable(&'static str),
}

/// Whether a directory is private. Changes nothing.
pub(crate) fn inspect(path: &Path) -> io::Result<Privacy> {
    let facts = match DirectoryFacts::read(path) {
        Ok(facts) => facts,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Privacy::Missing),
        Err(error) => return Err(error),
    };
    Ok(match facts.verdict(rustix::process::geteuid().as_raw()) {
        Verdict::Private => Privacy::Private,
        Verdict::Repair => Privacy::Open,
        Verdict::Warn(reason) => Privacy::Shared(reason),
        Verdict::Refuse(reason) => Privacy::Unusable(reason),
    })
}

/// Whether other users can read or change a file.
pub(crate) fn is_open_to_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.mode() & ANY_ACCESS_OF_OTHERS != 0)
}

/// Creates the directory, or ensures that it is private.
pub(super) fn prepare(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            create(path).with_context(|| format!("cannot create {shown}"))?;
        }
        Err(error) => return Err(error).with_context(|| format!("cannot use {shown}")),
    }
    enforce(path, DirectoryFacts::read(path).with_context(|| format!("cannot use {shown}"))?)
}

/// Ensures that a directory is private, if it exists. Fails if the path is not a directory.
pub(super) fn check(path: &Path) -> anyhow::Result<()> {
    match DirectoryFacts::read(path) {
        Ok(facts) => enforce(path, facts),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot use the state directory {}", path.display())),
    }
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

fn enforce(path: &Path, facts: DirectoryFacts) -> anyhow::Result<()> {
    let shown = path.display();
    match facts.verdict(rustix::process::geteuid().as_raw()) {
        Verdict::Private => {}
        Verdict::Repair => {
            fs::set_permissions(path, Permissions::from_mode(OWNER_ONLY))
                .with_context(|| format!("cannot make {shown} private"))?;
            tracing::warn!("the state directory {shown} was accessible to other users; it is now private (mode 0700)");
        }
        Verdict::Warn(reason) => {
            // Warns once, because commands check several times.
            static WARNED: Once = Once::new();
            WARNED.call_once(|| tracing::warn!("the state directory {shown} is not private: {reason}"));
        }
        Verdict::Refuse(reason) => bail!("cannot use the state directory {shown}: {reason}"),
    }
    Ok(())
}

/// Creates a directory and its missing parents, accessible to the owner only.
pub(crate) fn create(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(OWNER_ONLY).create(path)
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
                Verdict::Private => "private",
                Verdict::Repair => "repair",
                Verdict::Warn(_) => "warn",
                Verdict::Refuse(_) => "refuse",
            };
            assert_eq!(verdict, expected, "{facts:?} for {user}");
        }
    }
}
