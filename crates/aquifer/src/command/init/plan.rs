//! What is written: a configuration and its env file. Everything that can fail is checked before anything is written.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::configuration::GeneratedConfig;
use super::env_file::{self, EnvFile};
use super::existing::ExistingConfig;
use super::{backup, prompt_for_missing};
use crate::cli::InitArgs;
use crate::command::write;

/// The files that are about to be written.
pub(super) struct Plan {
    path: PathBuf,
    pub(super) text: String,
    pub(super) env_path: PathBuf,
    env_file: Option<EnvFile>,
    /// Whether an existing configuration may be replaced.
    may_replace: bool,
}

/// Plans a new configuration.
pub(super) fn create(path: &Path, made: &mut GeneratedConfig, arguments: &InitArgs) -> anyhow::Result<Plan> {
    let env_path = env_file::path_of(path);
    let named = env_path.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = made.text(named.as_deref().filter(|_| !made.variables.is_empty()));
    let mut plan = Plan { path: path.to_owned(), text, env_path, env_file: None, may_replace: arguments.force };
    if arguments.dry_run {
        return Ok(plan);
    }
    prompt_for_missing(&mut made.variables)?;
    if !made.variables.is_empty() {
        plan.env_file = Some(EnvFile::plan(&plan.env_path, &made.variables, arguments.force)?);
    }
    if !arguments.force && write::is_other(path, &plan.text) {
        bail!("{} already exists. Overwrite it with --force, or choose another file with -o", path.display());
    }
    if let Some(dropped) = ExistingConfig::read(path).ok().map(|existing| existing.names_not_in(&plan.text))
        && !dropped.is_empty()
    {
        eprintln!("{} loses these sources: {}", path.display(), dropped.join(", "));
    }
    Ok(plan)
}

/// Plans to add sources to a configuration.
pub(super) fn extend(
    existing: &ExistingConfig,
    made: &mut GeneratedConfig,
    arguments: &InitArgs,
) -> anyhow::Result<Plan> {
    let text = existing.extended(&made.source_text(), !made.variables.is_empty())?;
    let (path, env_path) = (existing.path.clone(), existing.env_path.clone());
    let mut plan = Plan { path, text, env_path, env_file: None, may_replace: true };
    if !arguments.dry_run && !made.variables.is_empty() {
        prompt_for_missing(&mut made.variables)?;
        plan.env_file = Some(EnvFile::extend(&plan.env_path, &made.variables)?);
    }
    Ok(plan)
}

impl Plan {
    /// Writes the files and returns the path of the configuration. Keeps a copy of what it replaces.
    pub(super) fn write(&self) -> anyhow::Result<PathBuf> {
        let path = &self.path;
        if self.may_replace && write::is_other(path, &self.text) {
            let copy = backup::create(path, backup::BEFORE)?;
            eprintln!("\nCopy of {} as it was until now: {}", path.display(), copy.display());
        }
        // A running Aquifer reads both files as soon as the configuration changes.
        if let Some(env_file) = &self.env_file {
            env_file.write()?;
        }
        write::file(path, &self.text, self.may_replace)?;
        path.canonicalize().with_context(|| format!("cannot find {}", path.display()))
    }
}
