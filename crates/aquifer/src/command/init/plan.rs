//! What is written: a configuration and its env file. Everything that can fail is checked before anything is written.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use super::configuration::GeneratedConfig;
use super::env_file::{self, EnvFile};
use super::existing::ExistingConfig;
use super::{backup, prompt_for_missing};
use crate::cli::InitArgs;
use crate::files::write;

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
pub(super) fn create(path: &Path, generated: &mut GeneratedConfig, arguments: &InitArgs) -> anyhow::Result<Plan> {
    let env_path = env_file::path_of(path);
    let named = env_path.file_name().map(|name| name.to_string_lossy().into_owned());
    let text = generated.text(named.as_deref().filter(|_| !generated.variables.is_empty()));
    let mut plan = Plan { path: path.to_owned(), text, env_path, env_file: None, may_replace: arguments.force };
    if arguments.dry_run {
        return Ok(plan);
    }
    prompt_for_missing(&mut generated.variables)?;
    if !generated.variables.is_empty() {
        plan.env_file = Some(EnvFile::plan(&plan.env_path, &generated.variables, arguments.force)?);
    }
    if !arguments.force && write::is_other(path, &plan.text) {
        bail!("{} already exists. Overwrite it with --force, or choose another file with -o", path.display());
    }
    if let Some(dropped) = ExistingConfig::read(path).ok().map(|existing| existing.names_not_in(&plan.text))
        && !dropped.is_empty()
    {
        note!("No longer in {}: {}", path.display(), dropped.join(", "));
    }
    Ok(plan)
}

/// Plans to add sources to a configuration.
pub(super) fn extend(
    existing: &ExistingConfig,
    generated: &mut GeneratedConfig,
    arguments: &InitArgs,
) -> anyhow::Result<Plan> {
    let text = existing.extended(&generated.source_text(), !generated.variables.is_empty())?;
    let (path, env_path) = (existing.path.clone(), existing.env_path.clone());
    let mut plan = Plan { path, text, env_path, env_file: None, may_replace: true };
    if !arguments.dry_run && !generated.variables.is_empty() {
        prompt_for_missing(&mut generated.variables)?;
        plan.env_file = Some(EnvFile::extend(&plan.env_path, &generated.variables)?);
    }
    Ok(plan)
}

impl Plan {
    /// Writes the files and returns the path of the configuration. Keeps a backup of what it replaces, which must be as it
    /// was when the plan was made.
    pub(super) fn write(&self, existing: Option<&ExistingConfig>) -> anyhow::Result<PathBuf> {
        let path = &self.path;
        let is_changed = existing.is_some_and(|existing| !existing.is_unchanged())
            || self.env_file.as_ref().is_some_and(|env_file| !env_file.is_unchanged());
        if is_changed {
            bail!("{} or its env file was changed by another program. Run init again", path.display());
        }
        if self.may_replace && write::is_other(path, &self.text) {
            let copy = backup::create(path, backup::BEFORE)?;
            note!("\nBackup of {}: {}", path.display(), copy.display());
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        // A running Aquifer reads both files as soon as the configuration changes.
        if let Some(env_file) = &self.env_file {
            env_file.write()?;
        }
        write::file(path, &self.text, self.may_replace)?;
        path.canonicalize().with_context(|| format!("cannot find {}", path.display()))
    }
}
