//! The configuration file and the file with its secret values.

use std::io::ErrorKind;
use std::path::Path;

use super::Finding;
use super::access::{self, Role};
use crate::cli::{DefaultConfig, StateArgs, SurfaceArgs};
use crate::command::table::count;
use crate::config::{Config, describe_invalid_lines};
use crate::setup::{self, configuration_problems};
use crate::state;
use crate::system::{distrusted_file_advice, is_open_to_others, private_file_advice};

/// Reads the configuration that other commands would use, and its text. `None` if it cannot be used.
pub(super) fn check(place: &StateArgs) -> (Option<Config>, String, Vec<Finding>) {
    let path = match (&place.config, DefaultConfig::find()) {
        (Some(path), _) => path.clone(),
        (None, DefaultConfig::Usable(path)) if place.state.is_none() => path,
        (None, default) => {
            let mut findings = vec![unused_default(&default)];
            let config = place.read().ok();
            findings.extend(config.as_ref().and_then(check_environment));
            return (config, String::new(), findings);
        }
    };
    let shown = path.display().to_string();
    let text = match crate::files::read(&path) {
        Ok(text) => text,
        Err(error) => {
            let advice = match error.kind() {
                ErrorKind::PermissionDenied => access::for_error(&error, &path, Role::Configuration),
                ErrorKind::InvalidData => "Save the file as UTF-8 text, or correct the path".to_owned(),
                _ => "Check the path and the permissions of the file".to_owned(),
            };
            return (None, String::new(), vec![Finding::problem(shown, format!("cannot be read: {error}"), advice)]);
        }
    };
    let problems = configuration_problems(&text);
    if !problems.is_empty() {
        let findings = problems.into_iter().map(|problem| {
            let advice = problem.suggestion.unwrap_or_else(|| "Correct the line: see docs/configuration.md".to_owned());
            Finding::problem(format!("{shown}:{}", problem.line), problem.message, advice)
        });
        return (None, text, findings.collect());
    }
    match place.read() {
        Ok(config) => {
            let mut findings = vec![Finding::ok(shown, format!("valid, {}", count(config.source.len(), "source")))];
            findings.extend(config.env_file.as_deref().into_iter().flat_map(check_values));
            findings.extend(check_environment(&config));
            (Some(config), text, findings)
        }
        // The file is valid, so something that it refers to is not.
        Err(error) => {
            let advice = "Correct what the configuration refers to, or remove the reference";
            (None, text, vec![Finding::problem(shown, format!("{error:#}"), advice)])
        }
    }
}

/// `./aquifer.toml`, if it is not used.
fn unused_default(default: &DefaultConfig) -> Finding {
    let subject = "aquifer.toml";
    match default {
        DefaultConfig::Missing => {
            let advice = "Write one with: aquifer init. Without one, name the sources in each command";
            Finding::note(subject, "there is no configuration in this directory", advice)
        }
        DefaultConfig::Usable(_) => {
            Finding::note(subject, "it is not used, because of --state", "To use it, too: --config aquifer.toml")
        }
        DefaultConfig::Suspicious(reason) => {
            let advice = distrusted_file_advice(Path::new(subject));
            Finding::problem(subject, format!("it is ignored, because it {reason}"), advice)
        }
        DefaultConfig::NotAFile => {
            let advice = "Move it away, or name the configuration with --config";
            Finding::problem(
                subject,
                "it is ignored, because it is a directory or something else that is not a file",
                advice,
            )
        }
        DefaultConfig::Unreadable(error) => {
            let advice = "If it is a link, correct it. Otherwise check the permissions of this directory";
            Finding::problem(subject, format!("it cannot be read: {error}"), advice)
        }
    }
}

/// The tool surface, which variables of the environment change, and the secret of cursors.
fn check_environment(config: &Config) -> Option<Finding> {
    if let Err(error) = setup::check_surface(&SurfaceArgs::default(), config) {
        let set: Vec<&str> =
            setup::SURFACE_VARIABLES.into_iter().filter(|name| std::env::var_os(name).is_some()).collect();
        let advice = match set.as_slice() {
            [] => "Correct [surface] in the configuration".to_owned(),
            names => format!("Correct or unset {} in the environment", names.join(", ")),
        };
        return Some(Finding::problem("tool surface", format!("{error:#}"), advice));
    }
    let error = state::check_secret(&config.state).err()?;
    Some(Finding::problem("state.cursor_secret", format!("{error:#}"), "Set it to a longer text, or remove it"))
}

/// The file with secret values, which exists, because the configuration was read with it. Its text is never shown.
fn check_values(path: &Path) -> Vec<Finding> {
    let shown = path.display().to_string();
    let mut findings = Vec::new();
    if is_open_to_others(path) {
        findings.push(Finding::problem(&shown, "other users can read the secrets in it", private_file_advice(path)));
    }
    let text = crate::files::read(path).unwrap_or_default();
    if let Some(message) = describe_invalid_lines(&text) {
        let advice = "Write each variable as NAME=VALUE on a line of its own, with both quotes or none";
        findings.push(Finding::problem(&shown, message, advice));
    }
    if findings.is_empty() {
        findings.push(Finding::ok(shown, "only its owner can read it"));
    }
    findings
}
