//! `init --apply`: replaces the servers in each client's own file with Aquifer. Keeps a backup of the file and changes
//! nothing else in it.

use std::path::PathBuf;

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::replace_servers;

use super::clients::{Client, Dialect};
use super::snippet::{self, NAME, ServeCommand};
use super::values::Variable;
use super::{backup, codex};
use crate::command::write;

/// Changes a client's file and returns the path of its backup.
pub(super) fn apply(client: &Client, start: &ServeCommand, variables: &[Variable]) -> anyhow::Result<PathBuf> {
    // If the path is a link, its target is written.
    let path = client.path.canonicalize().with_context(|| format!("cannot find {}", client.path.display()))?;
    let shown = path.display();
    let removed: Vec<&str> = client.servers.iter().map(|server| server.name.as_str()).collect();
    let entry = start.entry(client, variables);
    let edited = match client.dialect {
        Dialect::Codex => codex::replace_servers(&client.text, &removed, NAME, &snippet::codex(&entry)),
        _ => replace_servers(&client.text, &removed, NAME, &entry).ok(),
    };
    let Some(edited) = edited else {
        bail!("{shown} cannot be edited safely. Paste the snippet yourself");
    };
    let copy = backup::create(&path, backup::BEFORE)?;
    // The client may have changed its file in the meantime.
    if crate::files::read(&path).ok().as_deref() != Some(client.text.as_str()) {
        bail!("{shown} was changed by another program. Close {} and try again", client.name);
    }
    write::file(&path, &edited, true)?;
    Ok(copy)
}
