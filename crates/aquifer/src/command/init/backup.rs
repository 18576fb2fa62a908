//! Copies a file beside itself before it is changed.

use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The maximum number of backups of a file.
const MAX_BACKUPS: u32 = 999;

/// Copies a file to `FILE.before-aquifer`, or to the next free name after it, with the same permissions.
pub(super) fn create(path: &Path) -> anyhow::Result<PathBuf> {
    let shown = path.display();
    let read = || -> std::io::Result<(Vec<u8>, u32)> {
        Ok((std::fs::read(path)?, std::fs::metadata(path)?.permissions().mode() & 0o777))
    };
    let (bytes, mode) = read().with_context(|| format!("cannot read {shown}"))?;
    for number in 1..=MAX_BACKUPS {
        let mut copy = path.as_os_str().to_owned();
        copy.push(".before-aquifer");
        if number > 1 {
            copy.push(format!("-{number}"));
        }
        let copy = PathBuf::from(copy);
        // Never overwrites a backup: the first one is the most valuable.
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&copy) {
            Ok(mut file) => {
                let written = file.write_all(&bytes).and_then(|()| file.sync_all());
                return written.map(|()| copy).with_context(|| format!("cannot copy {shown}"));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error).with_context(|| format!("cannot copy {shown}")),
        }
    }
    bail!("{shown} has too many backups. Remove some of {shown}.before-aquifer-*")
}
