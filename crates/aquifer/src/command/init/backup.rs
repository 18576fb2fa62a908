//! Copies a file beside itself before it is changed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The ending of backups made before a file is changed.
pub(super) const BEFORE: &str = ".before-aquifer";
/// The ending of copies made before a change is undone.
pub(super) const BEFORE_UNDO: &str = ".with-aquifer";
/// The ending of backups whose change was undone.
pub(super) const UNDONE: &str = ".undone-aquifer";

/// The maximum number of backups of a file.
const MAX_BACKUPS: u32 = 999;

/// The names of the backups of a file, oldest first.
pub(super) fn names(path: &Path, ending: &'static str) -> impl Iterator<Item = PathBuf> + use<> {
    let path = path.as_os_str().to_owned();
    (1..=MAX_BACKUPS).map(move |number| {
        let mut name = path.clone();
        name.push(ending);
        if number > 1 {
            name.push(format!("-{number}"));
        }
        PathBuf::from(name)
    })
}

/// The existing backups of a file, newest first.
pub(super) fn existing(path: &Path, ending: &'static str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = names(path, ending).filter(|name| name.is_file()).collect();
    found.reverse();
    found
}

/// Gives a backup another ending, so that it does not count any more.
pub(super) fn retire(path: &Path, backup: &Path, ending: &'static str) -> anyhow::Result<PathBuf> {
    let shown = backup.display();
    let free = names(path, ending).find(|name| name.symlink_metadata().is_err());
    let name = free.with_context(|| format!("{shown} cannot be renamed: there are too many copies"))?;
    std::fs::rename(backup, &name).with_context(|| format!("cannot rename {shown}"))?;
    Ok(name)
}

/// Copies a file to the next name with this ending, with the same permissions.
pub(super) fn create(path: &Path, ending: &'static str) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let read = || -> std::io::Result<_> { Ok((std::fs::read(path)?, std::fs::metadata(path)?.permissions())) };
    let (bytes, permissions) = read().with_context(|| format!("cannot read {shown}"))?;
    // After the newest one, also if older ones were deleted: their order is the order of the changes.
    let last = names(path, ending).enumerate().filter(|(_, name)| name.symlink_metadata().is_ok()).last();
    for copy in names(path, ending).skip(last.map_or(0, |(index, _)| index + 1)) {
        // Never overwrites a backup: the first one is the most valuable.
        match crate::system::create_new(&copy, &permissions) {
            Ok(mut file) => {
                let written = file.write_all(&bytes).and_then(|()| file.sync_all());
                return written.map(|()| copy).with_context(|| format!("cannot copy {shown}"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot copy {shown}")),
        }
    }
    bail!("{shown} has too many backups. Remove some of {shown}{ending}-*")
}
