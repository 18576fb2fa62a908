//! The file with the values that the configuration refers to. Only its owner can read it, and it is overwritten only
//! with `--force`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::{env_file, env_line};

use super::backup;
use super::values::{Variable, VariableValue};
use crate::state;

const HEADING: &str = "# Credentials of the servers in the configuration beside this file. Keep it private.\n";

/// An env file that is about to be written.
pub(super) struct EnvFile {
    path: PathBuf,
    text: String,
    /// The text of the file that is replaced.
    before: Option<String>,
}

/// The path of the env file: beside the configuration, with the same stem.
pub(super) fn path_of(configuration: &Path) -> PathBuf {
    configuration.with_extension("env")
}

impl EnvFile {
    /// Plans the contents of the file: the stored values, an empty entry for each missing value, and all other existing
    /// entries. Fails if the file has a different value for a name, unless it may be overwritten.
    pub(super) fn plan(path: &Path, variables: &[Variable], may_overwrite: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        let before = read(path)?;
        let stored = env_file(before.as_deref().unwrap_or_default());
        let value_of =
            |name: &str| stored.iter().rev().find(|(stored_name, _)| stored_name == name).map(|(_, value)| value);
        let mut text = HEADING.to_owned();
        for variable in variables {
            let there = value_of(&variable.name);
            if let (VariableValue::Stored(own), Some(there), false) = (&variable.value, there, may_overwrite)
                && own != there
            {
                bail!("{shown} already has another value for {}. Overwrite it with --force", variable.name);
            }
            text.push_str(&lines(variable, there)?);
        }
        let others = stored.iter().filter(|(name, _)| !variables.iter().any(|variable| variable.name == *name));
        let others: Vec<String> = others.filter_map(|(name, value)| env_line(name, value)).collect();
        if !others.is_empty() {
            text.push_str(&format!("\n# Kept from the earlier file.\n{}\n", others.join("\n")));
        }
        Ok(Self { path: path.to_owned(), text, before })
    }

    /// Plans to append variables to a file, all of which have new names.
    pub(super) fn extend(path: &Path, variables: &[Variable]) -> anyhow::Result<Self> {
        // If the path is a link, its target is written.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let before = read(&path)?;
        let mut text = before.clone().unwrap_or_else(|| HEADING.to_owned());
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for variable in variables {
            text.push_str(&lines(variable, None)?);
        }
        Ok(Self { path, text, before })
    }

    /// Whether the file is still as it was when this was planned.
    pub(super) fn is_unchanged(&self) -> bool {
        read(&self.path).is_ok_and(|text| text == self.before)
    }

    /// Writes the file for its owner only and keeps a backup of the old one.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let shown = self.path.display();
        if self.before.as_ref().is_some_and(|before| *before != self.text) {
            backup::create(&self.path, backup::BEFORE)?;
        }
        state::write_private(&self.path, self.text.as_bytes()).with_context(|| format!("cannot write {shown}"))
    }
}

/// The text of a file, if it exists.
fn read(path: &Path) -> anyhow::Result<Option<String>> {
    match crate::files::read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The lines for a variable: where it comes from, and its value, if it is known or was filled in.
fn lines(variable: &Variable, there: Option<&String>) -> anyhow::Result<String> {
    let Variable { name, server, place, value, .. } = variable;
    let remark = match value {
        VariableValue::Stored(_) => String::new(),
        VariableValue::Unfilled => "; the client's file has a placeholder here: replace it".to_owned(),
        VariableValue::Input { description, .. } => match description {
            Some(words) => format!("; VS Code asks for it ({}), other clients need it here", one_line(words)),
            None => "; VS Code asks for it, other clients need it here".to_owned(),
        },
    };
    let value = match value {
        VariableValue::Stored(own) => Some(own),
        VariableValue::Unfilled | VariableValue::Input { .. } => there,
    };
    let line = match value {
        Some(value) => env_line(name, value)
            .with_context(|| format!("{place} of '{server}' cannot be written into an env file"))?,
        None => format!("# {name}="),
    };
    Ok(format!("\n# {place} of '{}'{remark}\n{line}\n", one_line(server)))
}

/// Converts text from a client's file to one line, for a comment.
fn one_line(words: &str) -> String {
    let plain = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(200).collect::<String>().trim().to_owned()
}
