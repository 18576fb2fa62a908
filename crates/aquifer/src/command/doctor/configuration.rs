//! The configuration file and the file with its secret values.

use std::path::Path;

use super::Finding;
use crate::cli::StateArgs;
use crate::command::table::count;
use crate::command::validate::configuration_problems;
use crate::config::Config;
use crate::system::{is_open_to_others, private_file_advice};

/// Reads the configuration that other commands would use. `None` if it cannot be used.
pub(super) fn check(place: &StateArgs) -> (Option<Config>, Vec<Finding>) {
    let Some(path) = place.config_path() else {
        let advice = "Write one with: aquifer init. Without one, name the sources in each command";
        let found = Finding::note("aquifer.toml", "there is no configuration in this directory", advice);
        return (place.read().ok(), vec![found]);
    };
    let shown = path.display().to_string();
    let text = match crate::files::read(&path) {
        Ok(text) => text,
        Err(error) => {
            let advice = "Check the path and the permissions of the file";
            return (None, vec![Finding::problem(shown, format!("cannot be read: {error}"), advice)]);
        }
    };
    let problems = configuration_problems(&text);
    if !problems.is_empty() {
        let findings = problems.into_iter().map(|problem| {
            let advice = problem.suggestion.unwrap_or_else(|| "Correct the line: see docs/configuration.md".to_owned());
            Finding::problem(format!("{shown}:{}", problem.line), problem.message, advice)
        });
        return (None, findings.collect());
    }
    match place.read() {
        Ok(config) => {
            let mut findings = vec![Finding::ok(shown, format!("valid, {}", count(config.source.len(), "source")))];
            findings.extend(config.env_file.as_deref().map(check_values));
            (Some(config), findings)
        }
        // The file is valid, so something that it refers to is not.
        Err(error) => {
            let advice = "Correct what the configuration refers to, or remove the reference";
            (None, vec![Finding::problem(shown, format!("{error:#}"), advice)])
        }
    }
}

/// The file with secret values, which exists, because the configuration was read with it.
fn check_values(path: &Path) -> Finding {
    let shown = path.display().to_string();
    match is_open_to_others(path) {
        true => Finding::problem(shown, "other users can read the secrets in it", private_file_advice(path)),
        false => Finding::ok(shown, "only its owner can read it"),
    }
}
