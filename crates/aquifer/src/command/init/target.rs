//! Which configuration the servers of each client go to: the one that the client already uses, or a common one.
//!
//! Settings of a project come with its repository, so they must not decide what is started outside of it. Their servers
//! only ever go to a configuration in the folder of the project, which only clients of the project use. The user's own
//! servers only ever go to another one, and those that the user has for one folder to a third one, which is not started
//! elsewhere and does not come with the repository.

use std::path::{Path, PathBuf};

use anyhow::bail;

use super::clients::{Client, Scope};
use super::own_entry;

/// The name of a configuration, in the current folder unless another one is named.
pub(super) const CONFIG: &str = "aquifer.toml";

/// The maximum number of characters in the name of a configuration for one folder.
const MAX_STEM: usize = 60;

/// A configuration that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    New(PathBuf),
    /// One that a client already uses.
    Existing(PathBuf),
}

impl Target {
    pub(super) fn path(&self) -> &Path {
        match self {
            Target::New(path) | Target::Existing(path) => path,
        }
    }
}

/// Clients of one scope whose servers go to the same configuration.
pub(super) struct Group<'a> {
    pub(super) scope: Scope,
    pub(super) target: Target,
    pub(super) clients: Vec<&'a Client>,
}

impl Group<'_> {
    pub(super) fn client_names(&self) -> String {
        names(&self.clients)
    }

    /// Whose servers these are.
    pub(super) fn heading(&self) -> String {
        match &self.scope {
            Scope::User => "Your own servers".to_owned(),
            Scope::Local(folder) => format!("Your own servers for {} alone", folder.display()),
            Scope::Project(folder) => {
                format!("Servers of the project in {}, which only its own settings start", folder.display())
            }
        }
    }

    /// Fails if the configuration belongs to another scope.
    pub(super) fn check_target(&self, all: &[Client], groups: &[Group<'_>]) -> anyhow::Result<()> {
        let path = self.target.path();
        let shown = path.display();
        let is_same =
            |group: &&Group<'_>| std::path::absolute(group.target.path()).ok() == std::path::absolute(path).ok();
        if let Target::New(_) = self.target
            && let Some(other) = groups.iter().find(is_same).filter(|first| first.scope != self.scope)
        {
            bail!("{shown} is for the servers of {}, and these need another configuration", other.client_names());
        }
        let users = |is_meant: &dyn Fn(&Scope) -> bool| -> Vec<&Client> {
            let real = path.canonicalize().ok();
            let uses = |client: &&Client| real.is_some() && configuration(client) == real;
            all.iter().filter(|client| is_meant(&client.scope())).filter(uses).collect()
        };
        let others = users(&|scope| *scope != self.scope);
        let is_own = !users(&|scope| *scope == self.scope).is_empty();
        match &self.scope {
            Scope::User if !others.is_empty() && !is_own => bail!(
                "{shown} is the configuration of a project ({}), and your own servers need another one. Name it with -o",
                names(&others)
            ),
            Scope::Local(folder) if !others.is_empty() => bail!(
                "{shown} is also used outside of {} or by others ({}), and these servers need another configuration. Name \
                 it with -o",
                folder.display(),
                names(&others)
            ),
            Scope::Project(_) if !others.is_empty() => bail!(
                "{shown} is your own configuration ({}), and servers of a project need another one. Name it with -o",
                names(&others)
            ),
            Scope::Project(folder) if !is_inside(path, folder) => bail!(
                "{shown} is not in the folder of the project, {}. Its servers need a configuration there",
                folder.display()
            ),
            Scope::User | Scope::Local(_) | Scope::Project(_) => Ok(()),
        }
    }

    /// Fails if the env file of a project is somewhere else, where other configurations may use it.
    pub(super) fn check_env_file(&self, path: &Path) -> anyhow::Result<()> {
        match &self.scope {
            Scope::Project(folder) if !is_inside(path, folder) => {
                bail!("the env file {} is not in the folder of the project, {}", path.display(), folder.display())
            }
            Scope::User | Scope::Local(_) | Scope::Project(_) => Ok(()),
        }
    }
}

/// Groups the clients that have servers.
pub(super) fn group<'a>(clients: &'a [Client], output: Option<&Path>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let with_servers = || clients.iter().filter(|client| !client.servers.is_empty());
    // A named file is for one scope: the first one that needs a new configuration.
    let is_new = |client: &&Client| usable_configuration(client, clients).is_none();
    let named_for = with_servers().filter(is_new).map(Client::scope).min();
    for client in with_servers() {
        let scope = client.scope();
        let target = match usable_configuration(client, clients) {
            Some(own) => {
                if let Some(output) = output.filter(|output| output.canonicalize().ok().as_ref() != Some(&own)) {
                    note!("{} keeps using {}, and not {}", client.name, own.display(), output.display());
                }
                Target::Existing(own)
            }
            None => target_of_new(&scope, clients, output.filter(|_| named_for.as_ref() == Some(&scope))),
        };
        match groups.iter_mut().find(|group| group.target == target && group.scope == scope) {
            Some(group) => group.clients.push(client),
            None => groups.push(Group { scope, target, clients: vec![client] }),
        }
    }
    groups
}

/// The configuration for a client that does not use Aquifer yet: the named one, or that of other clients of its scope.
fn target_of_new(scope: &Scope, all: &[Client], output: Option<&Path>) -> Target {
    let wanted = output.map_or_else(|| default_path(scope, all), Path::to_owned);
    let own = all.iter().filter(|client| client.scope() == *scope);
    let in_use: Vec<PathBuf> = own.filter_map(|client| usable_configuration(client, all)).collect();
    match wanted.canonicalize() {
        Ok(path) if in_use.contains(&path) => Target::Existing(path),
        Err(_) if output.is_none() => match in_use.into_iter().next() {
            Some(path) => Target::Existing(path),
            None => Target::New(wanted),
        },
        _ => Target::New(wanted),
    }
}

/// Where a new configuration is put. In the folder of a project, the name is for the project.
fn default_path(scope: &Scope, all: &[Client]) -> PathBuf {
    let is_project = all.iter().any(|client| matches!(client.scope(), Scope::Project(_)));
    match scope {
        Scope::Local(folder) => {
            let name = format!("{}.toml", file_stem(folder));
            user_directory().map_or_else(|| CONFIG.into(), |directory| directory.join("projects").join(name))
        }
        Scope::User if is_project => user_directory().map_or_else(|| CONFIG.into(), |folder| folder.join(CONFIG)),
        Scope::User | Scope::Project(_) => CONFIG.into(),
    }
}

/// The name of a file for a folder: its path, without what is special in names.
fn file_stem(folder: &Path) -> String {
    let path = folder.display().to_string();
    let is_kept = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let name: String = path.chars().map(|c| if is_kept(c) { c } else { '-' }).collect();
    let skipped = name.chars().count().saturating_sub(MAX_STEM);
    let name: String = name.chars().skip(skipped).collect();
    name.trim_matches('-').to_owned()
}

/// The directory of the user's configurations.
fn user_directory() -> Option<PathBuf> {
    Some(crate::system::client_config_directories().into_iter().next()?.join("aquifer"))
}

/// The existing configuration that a client starts Aquifer with.
fn configuration(client: &Client) -> Option<PathBuf> {
    let named = client.own_entries.iter().filter_map(|own| own_entry::configuration(client, own));
    named.filter_map(|path| path.canonicalize().ok()).find(|path| path.is_file())
}

/// The same, if servers of the client may be added to it. The settings of a project can name any configuration, and one
/// that others use would be started elsewhere.
fn usable_configuration(client: &Client, all: &[Client]) -> Option<PathBuf> {
    let path = configuration(client)?;
    let scope = client.scope();
    let is_shared = || all.iter().any(|other| other.scope() != scope && configuration(other).as_ref() == Some(&path));
    let is_usable = match &scope {
        Scope::User => true,
        Scope::Local(_) => !is_shared(),
        Scope::Project(folder) => is_inside(&path, folder) && !is_shared(),
    };
    is_usable.then_some(path)
}

/// Whether a file is, or would be created, in a folder. A link to another place is not.
pub(super) fn is_inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    match (path.canonicalize(), path.is_symlink()) {
        (Ok(path), _) => path.starts_with(folder),
        // The target of the link would be created.
        (Err(_), true) => false,
        (Err(_), false) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
            let above = path.ancestors().skip(1).find_map(|above| above.canonicalize().ok());
            above.is_some_and(|above| above.starts_with(folder))
        }
    }
}

fn names(clients: &[&Client]) -> String {
    let names: Vec<&str> = clients.iter().map(|client| client.name).collect();
    names.join(", ")
}
