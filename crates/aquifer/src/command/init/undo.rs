//! `init --undo`: puts the servers of clients back as they were before `--apply`.
//!
//! Every `--apply` that changed a file left a backup, so the changes are undone from the newest to the oldest until the
//! file does not start Aquifer any more. If the file was edited after a change, only that change is taken back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::{Server, WrittenServer, restore_servers};

use super::backup::{self, BEFORE, BEFORE_UNDO, UNDONE};
use super::clients::{Client, Dialect};
use super::target::CONFIG;
use super::{apply, codex, configuration, own_entry};
use crate::CommandOutcome;
use crate::files::write;

/// Restores the file of every client that uses Aquifer. A failure does not affect the other files.
pub(super) fn run(clients: &[Client]) -> anyhow::Result<CommandOutcome> {
    let (mut undone, mut failed) = (0, 0);
    let left = configurations(clients);
    for client in clients {
        for problem in client.problems.iter().filter(|_| client.is_unusable) {
            note!("aquifer: {}: {}:{problem}", client.name, client.path.display());
        }
        failed += usize::from(client.is_unusable);
    }
    for views in by_file(clients) {
        let names = client_names(&views);
        match undo(&views) {
            Ok(Some(Report { text, is_complete })) => {
                note!("{names}: {text}");
                undone += 1;
                failed += usize::from(!is_complete);
            }
            Ok(None) => {
                let shown = views.first().map(|client| client.path.display().to_string()).unwrap_or_default();
                note!("{names} starts Aquifer with an entry that init did not write. It stays in {shown}");
            }
            Err(error) => {
                note!("aquifer: {names} still starts Aquifer: {error:#}");
                failed += 1;
            }
        }
    }
    note!(
        "Settings of projects were looked for in this folder only. If you ran --apply in another project, run --undo there, too."
    );
    if !left.is_empty() {
        let text = format!(
            "Configurations and their env files are left as they are, and a server that runs with one goes on. Delete those \
             that you no longer need: {}",
            left.join(", ")
        );
        note!("{text}");
    }
    match (undone, failed) {
        (0, 0) => bail!("no client on this machine uses Aquifer because of --apply, so there is nothing to undo"),
        (0, _) => {}
        _ => note!("Restart the clients for this to take effect."),
    }
    Ok(if failed > 0 { CommandOutcome::Failure } else { CommandOutcome::Done })
}

/// The configurations that `init` wrote for these clients, or in this folder without changing a client.
fn configurations(clients: &[Client]) -> Vec<String> {
    let named = clients.iter().flat_map(|client| {
        let own_entries = client.own_entries.iter().filter(|own| own_entry::is_written_by_init(own));
        own_entries.filter_map(|own| own_entry::configuration(client, own))
    });
    let here = Some(Path::new(CONFIG))
        .filter(|path| crate::files::read(path).is_ok_and(|text| text.starts_with(configuration::HEADING)));
    let all = named.chain(here.map(Path::to_owned)).filter_map(|path| path.canonicalize().ok());
    let all: BTreeSet<PathBuf> = all.collect();
    all.iter().map(|path| path.display().to_string()).collect()
}

/// A file with its changes taken back.
struct Restored {
    text: String,
    /// Whether this is exactly the text of the oldest backup that was used.
    is_exact: bool,
    /// Servers that are not put back, because the file has others with their names.
    kept: Vec<String>,
    step_count: usize,
}

/// What was undone in a client's file.
struct Report {
    text: String,
    /// Whether no entry that `init` wrote is left.
    is_complete: bool,
}

/// The clients that use Aquifer, those with the same file together.
fn by_file(clients: &[Client]) -> Vec<Vec<&Client>> {
    let mut files: Vec<Vec<&Client>> = Vec::new();
    for client in clients.iter().filter(|client| !client.is_unusable && !client.own_entries.is_empty()) {
        match files.iter_mut().find(|views| views.iter().any(|other| other.path == client.path)) {
            Some(views) => views.push(client),
            None => files.push(vec![client]),
        }
    }
    files
}

fn client_names(views: &[&Client]) -> String {
    let names: BTreeSet<&str> = views.iter().map(|client| client.name).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Undoes the changes of a file, of which every client sees its part. `None` if `init` did not change it.
fn undo(views: &[&Client]) -> anyhow::Result<Option<Report>> {
    let Some(client) = views.first() else { return Ok(None) };
    let path = client.path.canonicalize().with_context(|| format!("cannot find {}", client.path.display()))?;
    let backups = backup::existing(&path, BEFORE);
    let restored = restore(views, &path, &backups)?;
    if restored.step_count == 0 {
        let mut written = views.iter().flat_map(|client| client.own_entries.iter().map(move |own| (client, own)));
        return match written.find(|(_, own)| own_entry::is_written_by_init(own)) {
            Some((client, own)) => Err(without_backup(client, own)),
            None => Ok(None),
        };
    }
    apply::check_file(&path)?;
    let copy = backup::create(&path, BEFORE_UNDO)?;
    // The client may have changed its file in the meantime.
    if crate::files::read(&path).ok().as_deref() != Some(client.text.as_str()) {
        bail!("{} was changed by another program. Close {} and try again", path.display(), client.name);
    }
    write::file(&path, &restored.text, true)?;
    // Backups of changes that are undone must not replace what is written later.
    let retired = backups.iter().rev().map(|backup| {
        // The file is restored already, so a backup that keeps its name is no failure.
        backup::retire(&path, backup, UNDONE).unwrap_or_else(|_| backup.clone()).display().to_string()
    });
    let retired: Vec<String> = retired.collect();
    let mut report = match restored.is_exact {
        true => "its file is as it was before --apply.".to_owned(),
        false => "its servers from before --apply are back, and other changes since then are kept.".to_owned(),
    };
    for name in &restored.kept {
        report.push_str(&format!(" '{name}' stays as it is now."));
    }
    let own_entries: Vec<Server> =
        using_aquifer(views, &restored.text).into_iter().flat_map(|client| client.own_entries).collect();
    let left = own_entries.iter().find(|own| own_entry::is_written_by_init(own));
    if let Some(own) = left {
        report.push_str(&format!(" But it still starts Aquifer: {:#}.", without_backup(client, own)));
    } else if !own_entries.is_empty() {
        report.push_str(" It still starts Aquifer with an entry that it had before.");
    }
    report.push_str(&format!(" Saved: {} (before --undo), {} (earlier backups)", copy.display(), retired.join(", ")));
    Ok(Some(Report { text: report, is_complete: left.is_none() }))
}

/// The clients that use Aquifer with this text in their file.
fn using_aquifer(views: &[&Client], text: &str) -> Vec<Client> {
    let now = views.iter().filter_map(|client| client.with_text(text.to_owned()));
    now.filter(|client| !client.own_entries.is_empty()).collect()
}

/// Takes back one change after the other. Each of them changed the part of one client.
fn restore(views: &[&Client], path: &Path, backups: &[PathBuf]) -> anyhow::Result<Restored> {
    let text = views.first().map(|client| client.text.clone()).unwrap_or_default();
    let mut restored = Restored { text, is_exact: true, kept: Vec::new(), step_count: 0 };
    for backup in backups {
        let now = using_aquifer(views, &restored.text);
        let text = match now.is_empty() {
            true => break,
            false => crate::files::read(backup).with_context(|| format!("cannot read {}", backup.display()))?,
        };
        let is_exact = |now: &Client| now.with_text(text.clone()).is_some_and(|before| is_result(now, &before));
        if now.iter().any(is_exact) {
            restored.text = text;
        } else if merge_all(&now, &text, path, backup, &mut restored)? {
            restored.is_exact = false;
        } else {
            break;
        }
        restored.step_count += 1;
    }
    Ok(restored)
}

/// Merges the text of a backup into the part of each client. Returns whether there was an entry of `init` to take back.
fn merge_all(
    views: &[Client],
    before: &str,
    path: &Path,
    backup: &Path,
    restored: &mut Restored,
) -> anyhow::Result<bool> {
    let mut is_any = false;
    for view in views {
        let Some(now) = view.with_text(restored.text.clone()) else { continue };
        let Some(own) = now.own_entries.iter().find(|own| own_entry::is_written_by_init(own)) else { continue };
        let before = now.with_text(before.to_owned());
        let Some(merged) = before.and_then(|before| merge(&now, &before, own, &mut restored.kept)) else {
            bail!(
                "{} was changed after --apply and cannot be merged with its backup {}. Remove '{}' from it, and copy the \
                 servers that you want from the backup",
                path.display(),
                backup.display(),
                own.name
            );
        };
        restored.text = merged;
        is_any = true;
    }
    Ok(is_any)
}

/// Whether a text is exactly what `--apply` makes of an earlier one.
fn is_result(now: &Client, before: &Client) -> bool {
    let written = now.written();
    let own = now.own_entries.iter().filter_map(|own| written.iter().find(|there| there.name == own.name));
    own.into_iter().any(|own| apply::edited(before, &own.name, &own.entry).contains(&now.text))
}

/// The text with the servers of an earlier one instead of the entry of `--apply`.
fn merge(now: &Client, before: &Client, own: &Server, kept: &mut Vec<String>) -> Option<String> {
    let (written, original) = (now.written(), before.written());
    let earlier = find(&original, &own.name);
    let is_kept = earlier == find(&written, &own.name);
    let mut added: Vec<WrittenServer> = Vec::new();
    for server in &before.servers {
        let there = find(&original, &server.name)?;
        match server.name != own.name && written.iter().any(|now| now.name == server.name) {
            true => kept.push(server.name.clone()),
            false => added.push(there.clone()),
        }
    }
    // `--apply` may have replaced an entry with this name.
    let is_added = added.iter().any(|server| server.name == own.name);
    added.extend(earlier.filter(|_| !is_kept && !is_added).cloned());
    let removed = (!is_kept).then_some(own.name.as_str());
    match now.dialect {
        Dialect::Codex => {
            let added: Vec<&str> = added.iter().map(|server| server.name.as_str()).collect();
            codex::restore_servers(&now.text, removed, &before.text, &added)
        }
        _ => restore_servers(&now.text, &now.keys(), removed, &added).ok(),
    }
}

fn find<'a>(servers: &'a [WrittenServer], name: &str) -> Option<&'a WrittenServer> {
    servers.iter().find(|server| server.name == name)
}

fn without_backup(client: &Client, own: &Server) -> anyhow::Error {
    let configuration = own_entry::configuration(client, own).unwrap_or_default();
    anyhow::anyhow!(
        "{} has no backup from before this entry ({BEFORE}). Remove '{}' from it yourself; its servers are in {}",
        client.path.display(),
        own.name,
        configuration.display()
    )
}
