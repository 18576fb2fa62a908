//! Which configuration the servers of each client go to: the one that the client already uses, or a common one.

use std::path::{Path, PathBuf};

use super::clients::Client;
use super::existing::ExistingConfig;
use super::own_entry;

/// A configuration that is written.
pub(super) enum Target {
    New(PathBuf),
    /// One that a client already uses.
    Existing(Box<ExistingConfig>),
}

/// Clients whose servers go to the same configuration.
pub(super) struct Group<'a> {
    pub(super) target: Target,
    pub(super) clients: Vec<&'a Client>,
}

/// Groups the clients that have servers. Also returns which of them are left out, and why.
pub(super) fn group<'a>(
    with_servers: Vec<&'a Client>,
    all: &[Client],
    output: Option<&Path>,
) -> (Vec<Group<'a>>, Vec<String>) {
    let in_use: Vec<PathBuf> = all.iter().filter_map(configuration).collect();
    let wanted = output.unwrap_or(Path::new("aquifer.toml"));
    let default = match wanted.canonicalize() {
        Ok(path) if in_use.contains(&path) => path,
        // Without a file of that name, a new client joins the others.
        _ if output.is_none() && !wanted.exists() => in_use.first().cloned().unwrap_or_else(|| wanted.to_owned()),
        _ => wanted.to_owned(),
    };
    let mut paths: Vec<(PathBuf, Vec<&Client>)> = Vec::new();
    for client in with_servers {
        let own = configuration(client);
        if let (Some(own), Some(output)) = (&own, output)
            && *own != default
        {
            eprintln!("{} keeps using {}, and not {}", client.name, own.display(), output.display());
        }
        let path = own.unwrap_or_else(|| default.clone());
        match paths.iter_mut().find(|(known, _)| *known == path) {
            Some((_, clients)) => clients.push(client),
            None => paths.push((path, vec![client])),
        }
    }
    let (mut groups, mut failures) = (Vec::new(), Vec::new());
    for (path, clients) in paths {
        if !in_use.contains(&path) {
            groups.push(Group { target: Target::New(path), clients });
            continue;
        }
        match ExistingConfig::read(&path) {
            Ok(existing) => groups.push(Group { target: Target::Existing(Box::new(existing)), clients }),
            Err(error) => {
                let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
                failures.push(format!("{} left out: {error:#}", names.join(", ")));
            }
        }
    }
    (groups, failures)
}

/// The existing configuration that a client starts Aquifer with.
fn configuration(client: &Client) -> Option<PathBuf> {
    let named = client.own_entries.iter().filter_map(|own| own_entry::configuration(client, own));
    named.filter_map(|path| path.canonicalize().ok()).find(|path| path.is_file())
}
