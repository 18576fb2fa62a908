//! What the words of a command line mean: sources, a configuration, an operation, its parameters. The same in every
//! command, so that a source is named in one way everywhere.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{CallArgs, IntrospectArgs};
use crate::sources::is_source;

/// The configuration that is used where none is named.
const USUAL: &str = "aquifer.toml";

/// Takes the configuration out of the sources: one that is named like a source, else `./aquifer.toml` if no source is
/// named. With sources of its own a command line means nothing but these, so a file that happens to be in the folder does
/// not change which rules they are under.
pub(crate) fn choose_config(
    sources: &mut Vec<String>,
    config: &mut Option<PathBuf>,
    starts_command: bool,
) -> anyhow::Result<()> {
    if let Some(index) = sources.iter().position(|source| is_config(source)) {
        let file = sources.remove(index);
        if let Some(config) = config {
            bail!("{file} and {} are two configurations: name one", config.display());
        }
        if !sources.is_empty() || starts_command {
            bail!(
                "{file} names sources of its own. Name it alone, or use --config {file} to serve other sources under its \
                 rules"
            );
        }
        *config = Some(file.into());
    }
    if config.is_none() && sources.is_empty() && !starts_command {
        *config = usual_config();
    }
    Ok(())
}

/// Whether a word names a configuration.
pub(crate) fn is_config(word: &str) -> bool {
    word.ends_with(".toml")
}

/// `./aquifer.toml`, if it is there and belongs to whoever runs this. It says which programs are started, so one that
/// somebody else put there has to be named.
pub(crate) fn usual_config() -> Option<PathBuf> {
    const WORLD_WRITABLE: u32 = 0o002;
    let path = Path::new(USUAL);
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw() || found.uid() == 0;
    if !is_own || found.mode() & WORLD_WRITABLE != 0 {
        let why = if is_own { "can be changed by everybody" } else { "belongs to another user" };
        eprintln!("aquifer: ./{USUAL} {why} and is not used. To use it all the same: --config {USUAL}");
        return None;
    }
    tracing::info!("using ./{USUAL}");
    Some(path.to_owned())
}

impl CallArgs {
    /// Finds out what each word is: sources, then the operation or a whole request, then its parameters.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
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
                    "unexpected '{more}': sources come first, then one operation and its parameters as one JSON object"
                );
            }
        }
        if self.operation.is_empty() {
            bail!("no operation. Name one after the sources, for example: aquifer call demo: list_products");
        }
        choose_config(&mut self.sources, &mut self.config, !self.upstream.command.is_empty())
    }
}

impl IntrospectArgs {
    /// Finds out what each word is: sources, and the name of an operation or type.
    pub(crate) fn settle(&mut self) -> anyhow::Result<()> {
        for word in std::mem::take(&mut self.words) {
            if is_source(&word) {
                self.sources.push(word);
            } else if let Some(name) = &self.name {
                bail!("'{name}' and '{word}' are two names: look at one operation or type, or use --search");
            } else {
                self.name = Some(word);
            }
        }
        if self.name.is_some() && self.search.is_some() {
            bail!("name an operation, or --search for one, not both");
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
        let Command::Call(mut arguments) = cli.command else { return Err("no call".to_owned()) };
        arguments.settle().map_err(|error| error.to_string())?;
        let config = arguments.config.map(|config| config.display().to_string()).unwrap_or_default();
        let params = arguments.params.unwrap_or_default();
        Ok([arguments.sources.join(","), config, arguments.operation, params].join("|"))
    }

    #[test]
    fn words_of_a_call_are_told_apart() {
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
            (&["demo:", "get_tag", "{}", "{}"], "unexpected '{}'"),
            (&["agent.toml", "demo:", "get_tag"], "names sources of its own"),
            (&["agent.toml", "get_tag", "--", "npx"], "names sources of its own"),
            (&["agent.toml", "get_tag", "--config", "b.toml"], "two configurations"),
        ] {
            let said = call(line).unwrap_err();
            assert!(said.contains(words), "{line:?}: {said}");
        }
    }
}
