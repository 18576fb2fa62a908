//! `init --undo`: puts the files of clients back as they were before `--apply`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::backup::{self, BEFORE, WITH};
use super::clients::Client;
use crate::CommandOutcome;
use crate::command::write;

/// Restores the file of every client that uses Aquifer. A failure does not affect the other files.
pub(super) fn run(clients: &[Client]) -> anyhow::Result<CommandOutcome> {
    let mut changed: Vec<&Client> = clients.iter().filter(|client| !client.own_entries.is_empty()).collect();
    changed.retain(|client| newest_backup(&client.path).is_some());
    if changed.is_empty() {
        bail!("no client on this machine uses Aquifer and has a backup of its file, so there is nothing to undo");
    }
    let mut outcome = CommandOutcome::Done;
    for client in changed {
        match restore(client) {
            Ok((backup, copy)) => {
                let (backup, copy) = (backup.display(), copy.display());
                eprintln!("{} is as it was in {backup}. What it was until now: {copy}", client.name);
            }
            Err(error) => {
                eprintln!("aquifer: {}: {error:#}", client.name);
                outcome = CommandOutcome::Failure;
            }
        }
    }
    eprintln!("Restart the clients for this to take effect.");
    Ok(outcome)
}

/// Returns the backup that was put back, and the copy of the file that it replaced.
fn restore(client: &Client) -> anyhow::Result<(PathBuf, PathBuf)> {
    let path = client.path.canonicalize().with_context(|| format!("cannot find {}", client.path.display()))?;
    let backup = newest_backup(&path).or_else(|| newest_backup(&client.path)).context("there is no backup")?;
    let text = crate::files::read(&backup).with_context(|| format!("cannot read {}", backup.display()))?;
    let copy = backup::create(&path, WITH)?;
    // The client may have changed its file in the meantime.
    if crate::files::read(&path).ok().as_deref() != Some(client.text.as_str()) {
        bail!("{} was changed by another program. Close {} and try again", path.display(), client.name);
    }
    write::file(&path, &text, true)?;
    Ok((backup, copy))
}

/// The last backup that was made of a file.
fn newest_backup(path: &Path) -> Option<PathBuf> {
    let path = path.canonicalize().ok()?;
    backup::names(&path, BEFORE).take_while(|name| name.exists()).last()
}
