//! Entries of clients that start Aquifer.

use std::path::{Path, PathBuf};

use aquifer_discovery::servers::{Server, ServerTransport};

use super::clients::Client;
use super::snippet::NAME;
use crate::config::target::is_config;

/// The configuration that an entry starts Aquifer with, if it can be told.
pub(super) fn configuration(client: &Client, own: &Server) -> Option<PathBuf> {
    let ServerTransport::Stdio { command, args, cwd, .. } = &own.transport else { return None };
    let folder = cwd.as_deref().map(Path::new).or(client.workspace.as_deref());
    // A shell has the whole command in one word.
    let is_line = |word: &str| word.contains("--config") && word.contains(char::is_whitespace);
    let words = std::iter::once(command).chain(args).flat_map(|word| match is_line(word) {
        true => word.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect(),
        false => vec![word.as_str()],
    });
    let words: Vec<&str> = words.collect();
    let words = words.split(|word| *word == "--").find(|words| words.contains(&"serve")).unwrap_or_default();
    let after = |word: &str| words.iter().skip_while(|other| **other != word).nth(1).copied();
    let joined = || words.iter().find_map(|word| word.strip_prefix("--config="));
    let target = || after("serve").filter(|word| is_config(word));
    let default = || folder.filter(|_| words.last() == Some(&"serve")).map(|_| "aquifer.toml");
    let named = after("--config").or_else(joined).or_else(target).or_else(default)?;
    let path = folder.unwrap_or(Path::new("")).join(expanded(client, named)?);
    path.is_absolute().then_some(path)
}

/// A path of a client with the values of its variables. `None` if it has others than the usual ones.
fn expanded(client: &Client, path: &str) -> Option<PathBuf> {
    let home = crate::system::home();
    if let Some(rest) = path.strip_prefix("~/") {
        return Some(home?.join(rest));
    }
    let known = [
        (["${workspaceFolder}", "${PWD}"], client.workspace.as_deref()),
        (["${userHome}", "${env:HOME}"], home.as_deref()),
        (["${HOME}", "$HOME"], home.as_deref()),
    ];
    let mut path = path.to_owned();
    for (variables, folder) in known {
        let Some(folder) = folder.and_then(Path::to_str) else { continue };
        path = variables.iter().fold(path, |path, variable| path.replace(variable, folder));
    }
    (!path.contains('$')).then(|| PathBuf::from(path))
}

/// Whether an entry looks like one that `init` wrote. More options may have been added since.
pub(super) fn is_written_by_init(own: &Server) -> bool {
    let ServerTransport::Stdio { command, args, .. } = &own.transport else { return false };
    let is_numbered =
        |rest: &str| rest.is_empty() || rest.strip_prefix('-').is_some_and(|rest| rest.parse::<u32>().is_ok());
    let is_named_so = own.name.strip_prefix(NAME).is_some_and(is_numbered);
    let args: Vec<&str> = args.iter().take(3).map(String::as_str).collect();
    let has_form = matches!(args.as_slice(), ["serve", "--config", path] if Path::new(path).is_absolute());
    is_named_so && Path::new(command).is_absolute() && has_form
}
