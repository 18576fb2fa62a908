//! The version of the state directory, in its file `version`. Older state is changed to the current form, after a copy of
//! it was made; newer state is refused.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use aquifer_gate::store::copy_state_file;

use crate::config::StateAccess;
use crate::system::{create_private_directory, open_private};

use super::{STORE_FILE, read_small_file, write_private};

/// The current version.
pub(crate) const STATE_VERSION: u32 = 2;

/// State without the file, as the first release wrote it.
const FIRST_VERSION: u32 = 1;

const VERSION_FILE: &str = "version";
const LOCK_FILE: &str = "version.lock";

/// A change from one version to the next. It can be repeated, because the process may end before the new version is
/// written.
type Step = fn(&Path) -> io::Result<()>;

/// The steps, starting with the one from version 1 to 2.
const STEPS: [Step; (STATE_VERSION - FIRST_VERSION) as usize] = [rename_catalogs];

/// What is copied before a change, besides the store. Catalogs and descriptions are caches, and audit files are only ever
/// appended to.
const COPIED: [&str; 5] = ["cursor.key", "admin.key", "logins", "trust", VERSION_FILE];

/// One of these is in every directory that the first release has served from. Later versions write the version first. A
/// store alone says nothing: any version may have written it there, because `state.store` names it. The steps do not
/// change it.
const FIRST_ENTRIES: [&str; 3] = ["cursor.key", "admin.key", "catalogues"];

/// The version of a directory that has been used. Fails if it cannot be read.
pub(crate) fn version_of(directory: &Path) -> io::Result<Option<u32>> {
    match read_small_file(&directory.join(VERSION_FILE)) {
        Ok(bytes) => {
            let number = String::from_utf8_lossy(&bytes).trim().parse();
            number.map(Some).map_err(|_| io::Error::new(ErrorKind::InvalidData, "it does not contain a version number"))
        }
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Err(_) => Ok(FIRST_ENTRIES.iter().any(|name| directory.join(name).exists()).then_some(FIRST_VERSION)),
    }
}

/// Like `version_of`, with an error that says what to do. State whose version is unknown must not be changed.
fn known_version(directory: &Path) -> anyhow::Result<Option<u32>> {
    let file = directory.join(VERSION_FILE);
    version_of(directory).with_context(|| {
        format!(
            "cannot read {}. Make it readable or restore it, or use another directory with state.dir",
            file.display()
        )
    })
}

/// Brings a directory up to date, unless it is only inspected. Fails if a newer version has written it.
pub(super) fn check(directory: &Path, access: StateAccess) -> anyhow::Result<()> {
    let shown = directory.display();
    match known_version(directory)? {
        None | Some(STATE_VERSION) => Ok(()),
        Some(version) if version > STATE_VERSION => bail!(
            "the state in {shown} was written by a newer Aquifer (state version {version}, this one knows {STATE_VERSION}). \
             Use that version, or another directory with state.dir"
        ),
        Some(_) if access == StateAccess::Inspect => Ok(()),
        Some(_) => upgrade(directory),
    }
}

fn upgrade(directory: &Path) -> anyhow::Result<()> {
    let shown = directory.display();
    // Processes that start together take turns; the second finds the work done.
    let lock = open_private(&directory.join(LOCK_FILE)).with_context(|| format!("cannot lock {shown}"))?;
    lock.lock().with_context(|| format!("cannot lock {shown}"))?;
    let Some(version) = known_version(directory)?.filter(|version| *version < STATE_VERSION) else { return Ok(()) };
    let copy = back_up(directory, version).with_context(|| format!("cannot copy the state in {shown}"))?;
    for (step, from) in STEPS.iter().zip(FIRST_VERSION..).filter(|(_, from)| *from >= version) {
        step(directory).with_context(|| format!("cannot change the state in {shown} from version {from}"))?;
        write(directory, from + 1)?;
    }
    tracing::warn!(
        "the state in {shown} was changed from version {version} to {STATE_VERSION}; a copy of it is in {}",
        copy.display()
    );
    Ok(())
}

/// Writes the version into a new directory.
pub(super) fn mark(directory: &Path) -> anyhow::Result<()> {
    if known_version(directory)?.is_none() { write(directory, STATE_VERSION) } else { Ok(()) }
}

fn write(directory: &Path, version: u32) -> anyhow::Result<()> {
    let file = directory.join(VERSION_FILE);
    write_private(&file, format!("{version}\n").as_bytes()).with_context(|| format!("cannot write {}", file.display()))
}

/// Copies the state to `backup-vN` in the directory, or to the next free name.
fn back_up(directory: &Path, version: u32) -> io::Result<PathBuf> {
    let name = |number: u32| if number == 1 { String::new() } else { format!("-{number}") };
    let names = (1..=u32::MAX).map(|number| directory.join(format!("backup-v{version}{}", name(number))));
    let copy = names.into_iter().find(|copy| !copy.exists()).unwrap_or_else(|| directory.join("backup"));
    create_private_directory(&copy)?;
    COPIED.iter().try_for_each(|name| copy_tree(&directory.join(name), &copy.join(name)))?;
    // Other processes may be writing to it.
    if directory.join(STORE_FILE).exists() {
        copy_state_file(&directory.join(STORE_FILE), &copy.join(STORE_FILE)).map_err(io::Error::other)?;
    }
    Ok(copy)
}

/// Copies a file, or a directory with its files, for their owner only. What is missing is left out.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let metadata = match fs::symlink_metadata(from) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if metadata.is_file() {
        return copy_file(from, to);
    }
    if metadata.is_dir() {
        create_private_directory(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            // There are no directories below these.
            if entry.file_type()?.is_file() {
                copy_file(&entry.path(), &to.join(entry.file_name()))?;
            }
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    write_private(to, &fs::read(from)?)
}

/// The folder of cached tool lists got its name of today.
fn rename_catalogs(directory: &Path) -> io::Result<()> {
    match fs::rename(directory.join("catalogues"), directory.join("catalogs")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
