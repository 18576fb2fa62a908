//! `init --apply`: replaces the servers in each client's own file with Aquifer. Keeps a backup of the file and changes
//! nothing else in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::{Server, ServerTransport, replace_servers};
use serde_json::Value;

use super::clients::{Client, Dialect, is_same_file};
use super::snippet::{self, NAME, ServeCommand};
use super::values::Variable;
use super::{backup, codex, own_entry};
use crate::files::write;
use crate::system::{AccessKind, can_keep_owner, check_access};
use crate::terminal;

/// The texts of files that were changed before in this run. One file can have settings of several scopes.
pub(super) type WrittenTexts = BTreeMap<PathBuf, String>;

/// Changes a client's file and returns the path of its backup.
pub(super) fn apply(
    client: &Client,
    start: &ServeCommand,
    variables: &[Variable],
    written: &mut WrittenTexts,
) -> anyhow::Result<PathBuf> {
    // If the path is a link, its target is written.
    let path = client.path.canonicalize().with_context(|| format!("cannot find {}", client.path.display()))?;
    let shown = path.display();
    let current = written.get(&path).and_then(|text| client.with_text(text.clone()));
    let client = current.as_ref().unwrap_or(client);
    let (name, entry) = entry(client, start, variables);
    check_file(&path)?;
    let Some(edited) = edited(client, &name, &entry).into_iter().next() else {
        terminal::print_exact(snippet::all(&[client], start, variables)?.trim_end())?;
        bail!("{shown} cannot be edited safely. Replace its servers yourself. Paste the snippet for {}", client.name);
    };
    let copy = backup::create(&path, backup::BEFORE)?;
    // The client may have changed its file in the meantime.
    if crate::files::read(&path).ok().as_deref() != Some(client.text.as_str()) {
        bail!("{shown} was changed by another program. Close {} and try again", client.name);
    }
    write::file(&path, &edited, true)?;
    written.insert(path, edited);
    Ok(copy)
}

/// Fails if a file must not be replaced: its owner made it read-only, or the new one would belong to somebody else.
pub(super) fn check_file(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let metadata = path.metadata().with_context(|| format!("cannot find {shown}"))?;
    if metadata.permissions().readonly() || check_access(path, AccessKind::ReadAndWrite).is_err() {
        bail!("{shown} is read-only and stays as it is. To let init change it, make it writable");
    }
    if !can_keep_owner(&metadata) {
        bail!("{shown} belongs to another user and stays as it is. Its owner can change it");
    }
    Ok(())
}

/// The text of a client's file with this entry instead of its servers, in every form that `apply` may give it. The
/// first one is written.
pub(super) fn edited(client: &Client, name: &str, entry: &Value) -> Vec<String> {
    let removed: Vec<&str> = client.servers.iter().map(|server| server.name.as_str()).collect();
    if client.dialect != Dialect::Codex {
        return replace_servers(&client.text, &client.keys(), &removed, name, entry).ok().into_iter().collect();
    }
    let is_there = client.written().iter().any(|there| there.name == name && there.entry == *entry);
    let kept = is_there.then_some(None);
    let table = snippet::codex(name, entry);
    let tables = kept.into_iter().chain([Some(table.as_str())]);
    tables.filter_map(|table| codex::replace_servers(&client.text, &removed, name, table)).collect()
}

/// The entry that starts Aquifer, and its name. A client that already starts it with this configuration keeps its entry.
fn entry(client: &Client, start: &ServeCommand, variables: &[Variable]) -> (String, Value) {
    let uses =
        |own: &&Server| own_entry::configuration(client, own).is_some_and(|path| is_same_file(&path, &start.path));
    let written = client.written();
    if let Some(own) = client.own_entries.iter().find(uses)
        && let Some(there) = written.iter().find(|there| there.name == own.name)
    {
        let mut entry = there.entry.clone();
        snippet::pass_inputs_on(&mut entry, client, variables);
        return (own.name.clone(), entry);
    }
    // Another entry with this name is kept: one that is disabled or invalid, or that serves something else.
    let is_replaced = |name: &str| {
        client.servers.iter().any(|server| server.name == name)
            || client.own_entries.iter().any(|own| own.name == name && is_replaceable(client, own))
    };
    let is_free = |name: &String| is_replaced(name) || !written.iter().any(|there| there.name == *name);
    let mut names = std::iter::once(NAME.to_owned()).chain((2..).map(|number| format!("{NAME}-{number}")));
    (names.find(is_free).unwrap_or_else(|| NAME.to_owned()), start.entry(client, variables))
}

/// Whether an entry starts Aquifer with a configuration that does not exist, and with no sources of its own.
fn is_replaceable(client: &Client, own: &Server) -> bool {
    let ServerTransport::Stdio { args, .. } = &own.transport else { return false };
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let is_alone = match args.as_slice() {
        ["serve", "--config", _] => true,
        ["serve", word] => word.starts_with("--config="),
        _ => false,
    };
    let is_missing = |path: PathBuf| path.try_exists().is_ok_and(|exists| !exists);
    is_alone && own_entry::configuration(client, own).is_some_and(is_missing)
}
