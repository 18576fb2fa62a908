//! The file that holds the values which the configuration refers to: for its owner alone, and never written over
//! without being asked.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::servers::{env_file, env_line};

use super::backup;
use super::values::{Variable, VariableValue};
use crate::state;

/// An env file that is about to be written.
pub(super) struct EnvFile {
    path: PathBuf,
    text: String,
    is_there: bool,
}

/// Where the values of a configuration go: beside it, under its name.
pub(super) fn path_of(configuration: &Path) -> PathBuf {
    configuration.with_extension("env")
}

impl EnvFile {
    /// What the file will hold: the stored values, a place for each that nobody has filled in yet, and whatever else is
    /// in it already. Fails where a value is there already and is another one, unless it may be written over.
    pub(super) fn plan(path: &Path, variables: &[Variable], may_overwrite: bool) -> anyhow::Result<Self> {
        let shown = path.display();
        let there = match crate::files::read(path) {
            Ok(text) => Some(text),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
            Err(error) => return Err(error).with_context(|| format!("cannot read {shown}")),
        };
        let known = env_file(there.as_deref().unwrap_or_default());
        let value_of = |name: &str| known.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value);
        let mut text =
            "# Credentials of the servers in the configuration beside this file. Keep it private.\n".to_owned();
        for Variable { name, server, place, value: known_value, .. } in variables {
            let remark = match known_value {
                VariableValue::Stored(_) => String::new(),
                VariableValue::Unfilled => "; the client's file has a placeholder here: replace it".to_owned(),
                VariableValue::Input { description, .. } => match description {
                    Some(words) => format!("; VS Code asks for it ({}), other clients need it here", one_line(words)),
                    None => "; VS Code asks for it, other clients need it here".to_owned(),
                },
            };
            text.push_str(&format!("\n# {place} of '{}'{remark}\n", one_line(server)));
            let value = match (known_value, value_of(name)) {
                (VariableValue::Stored(own), Some(there)) if own != there && !may_overwrite => {
                    bail!("{shown} already has another value for {name}. Overwrite it with --force")
                }
                (VariableValue::Stored(own), _) => Some(own),
                (VariableValue::Unfilled | VariableValue::Input { .. }, there) => there,
            };
            match value {
                Some(value) => {
                    let line = env_line(name, value);
                    let line =
                        line.with_context(|| format!("{place} of '{server}' cannot be written into an env file"))?;
                    text.push_str(&format!("{line}\n"));
                }
                None => text.push_str(&format!("# {name}=\n")),
            }
        }
        let others = known.iter().filter(|(name, _)| !variables.iter().any(|variable| variable.name == *name));
        let others: Vec<String> = others.filter_map(|(name, value)| env_line(name, value)).collect();
        if !others.is_empty() {
            text.push_str(&format!("\n# Kept from the earlier file.\n{}\n", others.join("\n")));
        }
        let is_there = there.is_some_and(|there| there != text);
        Ok(Self { path: path.to_owned(), text, is_there })
    }

    /// Writes it for its owner alone. What stood there before is kept beside it.
    pub(super) fn write(&self) -> anyhow::Result<()> {
        let shown = self.path.display();
        if self.is_there {
            backup::create(&self.path)?;
        }
        state::write_private(&self.path, self.text.as_bytes()).with_context(|| format!("cannot write {shown}"))
    }
}

/// Words of a client's file on one line of a remark.
fn one_line(words: &str) -> String {
    let plain = words.chars().map(|c| if c.is_control() { ' ' } else { c });
    plain.take(200).collect::<String>().trim().to_owned()
}
