//! The state directory. It is created for its owner only, and repaired or refused if others could read or change its
//! contents: whoever can write there can approve calls and replace logins.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Once;

use anyhow::{Context, bail};

use crate::config::StateAccess;
use crate::system::{self, DirectoryVerdict};

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
    "validations",
    "version",
    "backup-",
];

/// Maximum number of entries examined to determine whether the directory contains only our files.
const MAX_ENTRIES: usize = 1_000;

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
    let verdict = match examine(path) {
        Ok(verdict) => verdict,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Privacy::Missing),
        Err(error) => return Err(error),
    };
    Ok(match verdict {
        DirectoryVerdict::Private => Privacy::Private,
        DirectoryVerdict::Repair => Privacy::Open,
        DirectoryVerdict::Warn(reason) => Privacy::Shared(reason),
        DirectoryVerdict::Refuse(reason) => Privacy::Unusable(reason),
    })
}

/// Creates the directory, or ensures that it is private.
pub(super) fn prepare(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    match fs::symlink_metadata(path) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => {
            system::create_private_directory(path).with_context(|| format!("cannot create {shown}"))?;
        }
        Err(error) => return Err(error).with_context(|| format!("cannot use {shown}")),
    }
    enforce(path, examine(path).with_context(|| format!("cannot use {shown}"))?)
}

/// Ensures that a directory is private, if it exists. Fails if the path is not a directory.
pub(super) fn check(path: &Path, access: StateAccess) -> anyhow::Result<()> {
    match examine(path) {
        Ok(DirectoryVerdict::Repair) if access == StateAccess::Inspect => Ok(()),
        Ok(verdict) => enforce(path, verdict),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot use the state directory {}", path.display())),
    }
}

fn examine(path: &Path) -> io::Result<DirectoryVerdict> {
    system::examine_directory(path, has_other_entries)
}

fn enforce(path: &Path, verdict: DirectoryVerdict) -> anyhow::Result<()> {
    let shown = path.display();
    match verdict {
        DirectoryVerdict::Private => {}
        DirectoryVerdict::Repair => {
            system::restrict_directory(path).with_context(|| format!("cannot make {shown} private"))?;
            tracing::warn!("the state directory {shown} was accessible to other users; it is now private (mode 0700)");
        }
        DirectoryVerdict::Warn(reason) => {
            // Warns once, because commands check several times.
            static WARNED: Once = Once::new();
            WARNED.call_once(|| tracing::warn!("the state directory {shown} is not private: {reason}"));
        }
        DirectoryVerdict::Refuse(reason) => bail!("cannot use the state directory {shown}: {reason}"),
    }
    Ok(())
}
