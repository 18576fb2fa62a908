//! Which configuration the servers of each client go to: the one that the client already uses, or a common one.

use std::path::{Path, PathBuf};

use super::clients::Client;
use super::own_entry;

/// A configuration that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    New(PathBuf),
    /// One that a client already uses.
    Existing(PathBuf),
}

/// Clients whose servers go to the same configuration.
pub(super) struct Group<'a> {
    pub(super) target: Target,
    pub(super) clients: Vec<&'a Client>,
}

impl Group<'_> {
    pub(super) fn client_names(&self) -> String {
        let names: Vec<&str> = self.clients.iter().map(|client| client.name).collect();
        names.join(", ")
    }
}

/// Groups the clients that have servers.
pub(super) fn group<'a>(clients: &'a [Client], output: Option<&Path>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for client in clients.iter().filter(|client| !client.servers.is_empty()) {
        let target = match configuration(client) {
            Some(own) => {
                if let Some(output) = output.filter(|output| output.canonicalize().ok().as_ref() != Some(&own)) {
                    eprintln!("{} keeps using {}, and not {}", client.name, own.display(), output.display());
                }
                Target::Existing(own)
            }
            None => target_of_new(client, clients, output),
        };
        match groups.iter_mut().find(|group| group.target == target) {
            Some(group) => group.clients.push(client),
            None => groups.push(Group { target, clients: vec![client] }),
        }
    }
    groups
}

/// The configuration for a client that does not use Aquifer yet: the named one, or that of other clients.
fn target_of_new(client: &Client, all: &[Client], output: Option<&Path>) -> Target {
    let wanted = output.unwrap_or(Path::new("aquifer.toml"));
    let used_by = |is_meant: &dyn Fn(&&Client) -> bool| all.iter().filter(is_meant).filter_map(configuration).collect();
    // Settings of a project come with its repository. They must not decide what clients start outside of it.
    let mut in_use: Vec<PathBuf> = used_by(&|other| other.workspace == client.workspace);
    in_use.extend::<Vec<PathBuf>>(used_by(&|other| other.workspace.is_none() || output.is_some()));
    match wanted.canonicalize() {
        Ok(path) if in_use.contains(&path) => Target::Existing(path),
        Err(_) if output.is_none() => match in_use.into_iter().next() {
            Some(path) => Target::Existing(path),
            None => Target::New(wanted.to_owned()),
        },
        _ => Target::New(wanted.to_owned()),
    }
}

/// The existing configuration that a client starts Aquifer with.
fn configuration(client: &Client) -> Option<PathBuf> {
    let named = client.own_entries.iter().filter_map(|own| own_entry::configuration(client, own));
    named.filter_map(|path| path.canonicalize().ok()).find(|path| path.is_file())
}
