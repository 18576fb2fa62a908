//! Copies a file beside itself before it is changed.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The ending of backups made before a file is changed.
pub(super) const BEFORE: &str = ".before-aquifer";
/// The ending of copies made before a change is undone.
pub(super) const WITH: &str = ".with-aquifer";

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

/// Copies a file to the first free name with this ending, with the same permissions.
pub(super) fn create(path: &Path, ending: &'static str) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let read = || -> std::io::Result<_> { Ok((std::fs::read(path)?, std::fs::metadata(path)?.permissions())) };
    let (bytes, permissions) = read().with_context(|| format!("cannot read {shown}"))?;
    for copy in names(path, ending) {
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
