//! Classifies the positional arguments: sources, a configuration, an operation, its parameters. All commands share
//! these rules, so that sources are named in the same way everywhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{CallArgs, IntrospectArgs};
use crate::config::target::{is_config, is_source};

/// The configuration file that is used if none is named.
const DEFAULT_CONFIG: &str = "aquifer.toml";

/// Moves a configuration out of the list of sources. Without sources, the configuration is `./aquifer.toml`. If the
/// command line names sources, that file is ignored, so that a file in the current directory cannot change their rules.
pub(crate) fn choose_config(
    sources: &mut Vec<String>,
    config: &mut Option<PathBuf>,
    starts_command: bool,
) -> anyhow::Result<()> {
    if let Some(index) = sources.iter().position(|source| is_config(source)) {
        let file = sources.remove(index);
        if let Some(config) = config {
            bail!("two configurations are named, {file} and {}. Name one", config.display());
        }
        if !sources.is_empty() || starts_command {
            bail!(
                "{file} has its own sources. Name no other source with it, or use --config {file} to serve other sources \
                 under its rules"
            );
        }
        *config = Some(file.into());
    }
    if config.is_none() && sources.is_empty() && !starts_command {
        *config = default_config();
    }
    Ok(())
}

/// `./aquifer.toml`, as commands find it that name no configuration.
#[derive(Debug)]
pub(crate) enum DefaultConfig {
    Missing,
    Usable(PathBuf),
    /// Others may have written it. The reason continues the sentence "it …".
    Suspicious(&'static str),
    /// It is a directory, or something else that is not a file.
    NotAFile,
    /// It is a link whose target does not exist, or it cannot be examined.
    Unreadable(std::io::Error),
}

impl DefaultConfig {
    /// The file has to belong to the current user or to root. It determines which programs are started, so a file that
    /// other users can write has to be named explicitly.
    pub(crate) fn find() -> Self {
        let path = Path::new(DEFAULT_CONFIG);
        match path.metadata() {
            Err(_) if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) => Self::Missing,
            Err(error) => Self::Unreadable(error),
            Ok(metadata) if !metadata.is_file() => Self::NotAFile,
            Ok(metadata) => match crate::system::suspicion(path, &metadata) {
                Some(reason) => Self::Suspicious(reason),
                None => Self::Usable(path.to_owned()),
            },
        }
    }
}

/// `./aquifer.toml`, if it can be used.
pub(crate) fn default_config() -> Option<PathBuf> {
    match DefaultConfig::find() {
        DefaultConfig::Usable(path) => {
            tracing::info!("using ./{DEFAULT_CONFIG}");
            Some(path)
        }
        DefaultConfig::Suspicious(reason) => {
            note!(
                "aquifer: ignoring ./{DEFAULT_CONFIG}, because it {reason}. To use it anyway: --config {DEFAULT_CONFIG}"
            );
            None
        }
        DefaultConfig::Missing | DefaultConfig::NotAFile | DefaultConfig::Unreadable(_) => None,
    }
}

impl CallArgs {
    /// Assigns the positional arguments: sources, then the operation or a whole request, then its parameters.
    pub(crate) fn assign_positionals(&mut self) -> anyhow::Result<()> {
        let mut words = std::mem::take(&mut self.words).into_iter().peekable();
        while let Some(word) = words.next() {
            let is_bare = || matches!(word.as_str(), "demo" | "tasks");
            let before_operation = words.peek().is_some_and(|next| !next.trim_start().starts_with('{') && next != "-");
            if is_source(&word) || (is_bare() && before_operation) {
                self.sources.push(word);
                continue;
            }
            self.operation = word;
            self.params = words.next();
            if let Some(more) = words.next() {
                bail!(
                    "unexpected argument '{more}': name the sources first, then one operation, then its parameters as \
                     one JSON object"
                );
            }
        }
        if self.operation.is_empty() {
            bail!("no operation given. Name one after the sources, for example: aquifer call demo: list_products");
        }
        choose_config(&mut self.sources, &mut self.config, !self.upstream.command.is_empty())
    }
}

impl IntrospectArgs {
    /// Assigns the positional arguments: sources, and the name of an operation or type.
    pub(crate) fn assign_positionals(&mut self) -> anyhow::Result<()> {
        for word in std::mem::take(&mut self.words) {
            if is_source(&word) {
                self.sources.push(word);
            } else if let Some(name) = &self.name {
                bail!("two names are given, '{name}' and '{word}'. Name one operation or type, or use --search");
            } else {
                self.name = Some(word);
            }
        }
        if self.name.is_some() && self.search.is_some() {
            bail!("use either a name or --search, not both");
        }
        choose_config(&mut self.sources, &mut self.config, !self.upstream.command.is_empty())?;
        let is_nothing_named = self.sources.is_empty() && self.config.is_none() && self.upstream.command.is_empty();
        if let Some(name) = self.name.as_deref().filter(|name| is_nothing_named && matches!(*name, "demo" | "tasks")) {
            self.sources.push(format!("{name}:"));
            self.name = None;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser as _;

    use super::super::{Cli, Command};

    fn call(line: &[&str]) -> Result<String, String> {
        let cli = Cli::try_parse_from([&["aquifer", "call"], line].concat()).map_err(|error| error.to_string())?;
        let Some(Command::Call(mut arguments)) = cli.command else { return Err("no call".to_owned()) };
        arguments.assign_positionals().map_err(|error| error.to_string())?;
        let config = arguments.config.map(|config| config.display().to_string()).unwrap_or_default();
        let params = arguments.params.unwrap_or_default();
        Ok([arguments.sources.join(","), config, arguments.operation, params].join("|"))
    }

    #[test]
    fn positional_arguments_of_a_call_are_told_apart() {
        let whole = r#"{"operation": "list_tags"}"#;
        for (line, expected) in [
            (&["demo:", "list_tags"][..], "demo:||list_tags|"),
            (&["demo", "list_tags"], "demo||list_tags|"),
            (&["demo:", "get_tag", "{}"], "demo:||get_tag|{}"),
            (&["demo:", "get_tag", "-"], "demo:||get_tag|-"),
            (&["demo:", "./shop.db", "get_tag", "{}"], "demo:,./shop.db||get_tag|{}"),
            (&["list_tags", "--source", "demo:"], "demo:||list_tags|"),
            (&["get_tag", "{}", "--source", "demo:"], "demo:||get_tag|{}"),
            (&["demo", "{}", "--source", "x.db"], "x.db||demo|{}"),
            (&["https://a.example/mcp", "demo:", "tasks"], "https://a.example/mcp,demo:||tasks|"),
            (&["demo:", whole], &format!("demo:||{whole}|")),
            (&["agent.toml", "get_tag", "{}"], "|agent.toml|get_tag|{}"),
            (&["get_tag", "{}", "--config", "agent.toml"], "|agent.toml|get_tag|{}"),
            (&["get_tag", "--", "npx", "x"], "||get_tag|"),
        ] {
            assert_eq!(call(line), Ok(expected.to_owned()), "{line:?}");
        }
        for (line, words) in [
            (&["demo:"][..], "no operation"),
            (&["demo:", "get_tag", "{}", "{}"], "unexpected argument '{}'"),
            (&["agent.toml", "demo:", "get_tag"], "has its own sources"),
            (&["agent.toml", "get_tag", "--", "npx"], "has its own sources"),
            (&["agent.toml", "get_tag", "--config", "b.toml"], "two configurations"),
        ] {
            let message = call(line).unwrap_err();
            assert!(message.contains(words), "{line:?}: {message}");
        }
    }
}
