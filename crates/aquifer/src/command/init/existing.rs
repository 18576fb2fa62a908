//! A configuration that a client already uses. New servers are appended to it, and everything in it is kept.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::{Server, ServerTransport, env_file, is_placeholder};
use toml::{Table, Value};

use super::env_file::path_of;
use crate::config::Config;

/// A configuration that exists.
pub(super) struct ExistingConfig {
    pub(super) path: PathBuf,
    text: String,
    table: Table,
    /// The values of its env file.
    values: Vec<(String, String)>,
    /// Its env file, or where one is put, and whether the configuration names it.
    pub(super) env_path: PathBuf,
    names_env_file: bool,
}

impl ExistingConfig {
    pub(super) fn read(path: &Path) -> anyhow::Result<Self> {
        let path = path.canonicalize().with_context(|| format!("cannot find {}", path.display()))?;
        let shown = path.display();
        let text = crate::files::read(&path).with_context(|| format!("cannot read {shown}"))?;
        // Its own errors say where, and do not quote values.
        if let Err(problem) = Config::parse(&text) {
            bail!("{shown} is not a valid configuration: {problem}");
        }
        let table: Table = toml::from_str(&text).ok().with_context(|| format!("{shown} is not valid TOML"))?;
        let named = table.get("env_file").and_then(Value::as_str);
        let env_path = match named {
            Some(named) => path.parent().unwrap_or(Path::new("")).join(named),
            None => path_of(&path),
        };
        let values = match crate::files::read(&env_path) {
            Ok(text) => env_file(&text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", env_path.display())),
        };
        let names_env_file = named.is_some();
        Ok(Self { path, text, table, values, env_path, names_env_file })
    }

    /// The names of variables that it refers to or has values for.
    pub(super) fn variable_names(&self) -> BTreeSet<String> {
        let referenced = self.text.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
        referenced.map(str::to_owned).chain(self.values.iter().map(|(name, _)| name.clone())).collect()
    }

    /// The names of its sources.
    pub(super) fn source_names(&self) -> Vec<String> {
        self.sources().filter_map(|source| Some(source.get("name")?.as_str()?.to_owned())).collect()
    }

    /// The names of its sources that another configuration does not have.
    pub(super) fn names_not_in(&self, text: &str) -> Vec<String> {
        let others: Table = toml::from_str(text).unwrap_or_default();
        let others = others.get("source").and_then(Value::as_array).into_iter().flatten();
        let others: Vec<&str> = others.filter_map(|source| source.get("name")?.as_str()).collect();
        self.source_names().into_iter().filter(|name| !others.contains(&name.as_str())).collect()
    }

    /// The source in use that is this server. A placeholder has no value to compare, so a source with a value in its place
    /// must have the same name.
    pub(super) fn find(&self, server: &Server) -> Option<String> {
        let name_of = |source: &Table| Some(source.get("name")?.as_str()?.to_owned());
        let is_disabled = |source: &Table| source.get("disabled").and_then(Value::as_bool) == Some(true);
        let in_use = || self.sources().filter(|source| !is_disabled(source));
        let is_equal =
            |source: &&Table| self.is_source(source, &server.transport, |text, own| self.is_equal(text, own));
        let is_filled_in = |source: &&Table| {
            name_of(source).as_ref() == Some(&server.name)
                && self.is_source(source, &server.transport, |text, own| {
                    self.is_equal(text, own) || replaces_placeholder(text, own)
                })
        };
        in_use().find(is_equal).or_else(|| in_use().find(is_filled_in)).and_then(name_of)
    }

    /// Whether the file is still as it was read.
    pub(super) fn is_unchanged(&self) -> bool {
        crate::files::read(&self.path).is_ok_and(|text| text == self.text)
    }

    /// The text with more sources.
    pub(super) fn extended(&self, sources: &str, needs_env_file: bool) -> anyhow::Result<String> {
        let mut expected = self.table.clone();
        let mut text = self.text.clone();
        if needs_env_file && !self.names_env_file {
            let name = self.env_path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            expected.insert("env_file".to_owned(), Value::from(name.as_str()));
            // A key at the end would belong to the last table.
            text = format!("env_file = {}\n\n{text}", Value::from(name));
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(sources);
        let added: Table = toml::from_str(sources).context("cannot write the new sources")?;
        let mut all: Vec<Value> = self.sources().cloned().map(Value::Table).collect();
        all.extend(added.get("source").and_then(Value::as_array).into_iter().flatten().cloned());
        expected.insert("source".to_owned(), Value::Array(all));
        let is_expected = toml::from_str::<Table>(&text).is_ok_and(|table| table == expected);
        if !is_expected || Config::parse(&text).is_err() {
            bail!("{} cannot be extended safely. Add these sources yourself:\n{sources}", self.path.display());
        }
        Ok(text)
    }

    fn sources(&self) -> impl Iterator<Item = &Table> {
        self.table.get("source").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_table)
    }

    fn is_source(&self, source: &Table, transport: &ServerTransport, is_same: impl Fn(&str, &str) -> bool) -> bool {
        let text = |key: &str| source.get(key).and_then(Value::as_str);
        let same = |key: &str, own: Option<&str>| match (text(key), own) {
            (Some(text), Some(own)) => is_same(text, own),
            (text, own) => text.is_none() && own.is_none(),
        };
        let same_pairs = |key: &str, own: &[(String, String)]| {
            let table = source.get(key).and_then(Value::as_table);
            let of = |name: &str| table.and_then(|table| table.get(name)?.as_str());
            table.map_or(0, Table::len) == own.len()
                && own.iter().all(|(name, value)| of(name).is_some_and(|text| is_same(text, value)))
        };
        match transport {
            // The variables of an env file of the server were copied. They are not compared.
            ServerTransport::Stdio { env_file: Some(_), .. } => false,
            ServerTransport::Stdio { command, args, env, cwd, .. } => {
                let list = source.get("args").and_then(Value::as_array).into_iter().flatten();
                let list: Vec<&str> = list.filter_map(Value::as_str).collect();
                same("command", Some(command))
                    && list.len() == args.len()
                    && list.iter().zip(args).all(|(text, own)| is_same(text, own))
                    && same_pairs("env", env)
                    && same("cwd", cwd.as_deref())
            }
            ServerTransport::Http { url, headers } => same("url", Some(url)) && same_pairs("headers", headers),
        }
    }

    /// Whether a text of the configuration is what `init` makes of this text of a client. Inputs never are, because each
    /// client has to pass on its own.
    fn is_equal(&self, text: &str, own: &str) -> bool {
        let values = self.values.iter();
        let resolved = values.fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${{{name}}}"), value));
        resolved == normalized(own)
    }
}

/// Whether a text of the configuration has a reference where the text of a client has a placeholder.
fn replaces_placeholder(text: &str, own: &str) -> bool {
    let Some((before, rest)) = text.split_once("${") else { return false };
    let Some((_, after)) = rest.split_once('}') else { return false };
    own.strip_prefix(before).and_then(|own| own.strip_suffix(after)).is_some_and(is_placeholder)
}

/// A text of a client with references as the configuration writes them.
fn normalized(text: &str) -> String {
    match text.strip_prefix('$').filter(|name| !name.starts_with('{')) {
        Some(name) => format!("${{{name}}}"),
        None => text.replace("${env:", "${").replace("${userHome}", "${HOME}"),
    }
}
