//! Allows, denies or confirms operations in bulk, by rules in the configuration. The running server reloads the file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use aquifer_discovery::text::presentable;
use aquifer_explorer::ApiError;
use aquifer_gate::audit::{Entry, Event};
use aquifer_gate::policy::{RuleEffect, RuleSettings};
use aquifer_protocol::hex::hex;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::operator::{OperatorContext, parse};
use super::redacted_config::RedactedConfig;
use super::rule_text::{NAME_PREFIX, WantedRule, with_rules};
use super::unified_diff::unified_diff;
use crate::config::Config;
use crate::files::write;
use crate::setup;

/// The maximum number of operations in one change.
const MAX_OPERATIONS: usize = 10_000;

/// The maximum length of a reason. Callers are shown it with every refusal.
const MAX_REASON_CHARS: usize = 500;

/// How many operations the audit log names.
const MAX_RECORDED: usize = 20;

const NO_FILE: &str =
    "There is no configuration file to write rules to. Start the server with --config FILE; aquifer init can write one";

/// What is to apply to operations, by the names that callers use.
#[derive(Debug, Deserialize)]
struct RuleChange {
    operations: Vec<String>,
    effect: RuleEffect,
    reason: Option<String>,
    /// Identifies the change that was shown.
    digest: Option<String>,
}

/// The file before and after a change.
struct PlannedChange {
    path: PathBuf,
    old: String,
    new: String,
}

impl PlannedChange {
    /// Identifies the change: the same file and the same rules.
    fn digest(&self) -> String {
        let mut hash = Sha256::new();
        hash.update((self.old.len() as u64).to_le_bytes());
        hash.update(self.old.as_bytes());
        hash.update(self.new.as_bytes());
        hex(&hash.finalize())
    }

    /// The difference, without secrets.
    fn diff(&self) -> String {
        let redacted = |text: &str| RedactedConfig::parse(text).map(|redacted| redacted.text).unwrap_or_default();
        unified_diff(&self.path.display().to_string(), &redacted(&self.old), &redacted(&self.new))
    }
}

/// Shows how the file would change.
pub(super) fn preview(context: &OperatorContext, change: Value) -> Result<Value, ApiError> {
    let planned = plan(context, &parse(change)?)?;
    Ok(json!({ "path": planned.path.display().to_string(), "diff": planned.diff(), "digest": planned.digest() }))
}

/// Changes the file, if the change is the one that was shown.
pub(super) async fn apply(context: &OperatorContext, change: Value, person: &str) -> Result<(), ApiError> {
    let change: RuleChange = parse(change)?;
    let planned = plan(context, &change)?;
    if change.digest.as_deref() != Some(planned.digest().as_str()) {
        let message = "The configuration or the operations have changed since the change was shown. Look at it again";
        return Err(ApiError::Conflict(message.to_owned()));
    }
    if planned.old == planned.new {
        return Ok(());
    }
    save(&planned)?;
    let named: Vec<&str> = change.operations.iter().take(MAX_RECORDED).map(String::as_str).collect();
    let more = change.operations.len().saturating_sub(named.len());
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let effect = change.effect.as_str();
    let reason = format!("{effect}: {}{more}, in the explorer, by {person}", named.join(", "));
    context.record(Entry::new(Event::RulesChanged).reason(&reason)).await;
    Ok(())
}

fn plan(context: &OperatorContext, change: &RuleChange) -> Result<PlannedChange, ApiError> {
    let path = context.path.clone().ok_or_else(|| ApiError::Unavailable(NO_FILE.to_owned()))?;
    if !path.is_file() {
        return Err(ApiError::Unavailable(format!(
            "{} is not a regular file, so it cannot be changed",
            path.display()
        )));
    }
    let wanted = wanted_rules(context, change)?;
    let old = crate::files::read(&path)
        .map_err(|error| ApiError::Unavailable(format!("{} cannot be read: {error}", path.display())))?;
    let new = with_rules(&old, &wanted).ok_or_else(|| ApiError::Unavailable(invalid_file(&path)))?;
    check(context, &path, &old, &new)?;
    Ok(PlannedChange { path, old, new })
}

fn invalid_file(path: &Path) -> String {
    format!(
        "{} is not valid now, so no rules can be added. Correct it first: the settings page shows its problems",
        path.display()
    )
}

/// The rules for these operations, by source.
fn wanted_rules(context: &OperatorContext, change: &RuleChange) -> Result<Vec<WantedRule>, ApiError> {
    if change.operations.is_empty() || change.operations.len() > MAX_OPERATIONS {
        return Err(ApiError::Invalid(format!("Choose between 1 and {MAX_OPERATIONS} operations")));
    }
    let reason = change.reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty()).map(presentable);
    if reason.as_ref().is_some_and(|reason| reason.chars().count() > MAX_REASON_CHARS) {
        return Err(ApiError::Invalid(format!("The reason is longer than {MAX_REASON_CHARS} characters")));
    }
    let snapshot = context.engine.snapshot();
    let mut by_source: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for name in &change.operations {
        let mut catalogs = [snapshot.catalog(), snapshot.unlisted()].into_iter();
        let operation = catalogs.find_map(|catalog| catalog.operation(name));
        let Some(operation) = operation.filter(|operation| !operation.origin.source.is_empty()) else {
            return Err(ApiError::Invalid(format!(
                "There is no operation '{}' that rules can apply to",
                presentable(name)
            )));
        };
        by_source.entry(&operation.origin.source).or_default().insert(&operation.origin.own_name);
    }
    if let Some(source) = by_source.keys().find(|source| source.contains(['*', '?', '!', '|', '[', ']', '{', '}'])) {
        let message =
            format!("The name of the source '{source}' has characters with a meaning in rules. Give it another name");
        return Err(ApiError::Unavailable(message));
    }
    let rules = by_source.into_iter().map(|(source, operations)| WantedRule {
        effect: change.effect,
        source: source.to_owned(),
        operations: operations.into_iter().map(str::to_owned).collect(),
        reason: reason.clone(),
    });
    Ok(rules.collect())
}

/// Checks that the new text is a valid configuration in which only rules differ.
fn check(context: &OperatorContext, path: &Path, old: &str, new: &str) -> Result<(), ApiError> {
    let unavailable = |error: String| ApiError::Unavailable(format!("The rules cannot be added: {error}"));
    let before = Config::from_file_text(path, old).map_err(|_| ApiError::Unavailable(invalid_file(path)))?;
    let after = Config::from_file_text(path, new).map_err(|error| unavailable(format!("{error:#}")))?;
    let without_rules = |config: &Config| Config { gate: config.gate.without_rules(), ..config.clone() };
    if without_rules(&before) != without_rules(&after) || rules_of_people(&before) != rules_of_people(&after) {
        return Err(ApiError::Internal("a change of rules would change other settings".to_owned()));
    }
    let known = setup::configuration_problems(old);
    let is_new = |problem: &aquifer_discovery::FileProblem| !known.iter().any(|known| known.message == problem.message);
    if let Some(problem) = setup::configuration_problems(new).into_iter().find(is_new) {
        return Err(unavailable(problem.message));
    }
    // Rules that name sources need sources with names of their own.
    match (context.selection(&before).plan(), context.selection(&after).plan()) {
        (Ok(_), Err(error)) => Err(unavailable(format!("{error:#}"))),
        _ => Ok(()),
    }
}

/// The rules that the explorer has not written.
fn rules_of_people(config: &Config) -> Vec<&RuleSettings> {
    let is_own = |rule: &RuleSettings| rule.name.as_deref().is_some_and(|name| name.starts_with(NAME_PREFIX));
    config.gate.rules().iter().filter(|rule| !is_own(rule)).collect()
}

/// Writes the file, after a copy of it beside it.
fn save(planned: &PlannedChange) -> Result<(), ApiError> {
    let path = &planned.path;
    let unavailable = |what: &str, error: String| ApiError::Unavailable(format!("{what} {}: {error}", path.display()));
    back_up(path).map_err(|error| unavailable("Nothing was changed: there can be no copy of", error.to_string()))?;
    // The change was planned without a lock on the file.
    if crate::files::read(path).ok().as_deref() != Some(planned.old.as_str()) {
        return Err(ApiError::Conflict("The configuration has just changed. Look at the change again".to_owned()));
    }
    write::file(path, &planned.new, true)
        .map_err(|error| unavailable("Nothing was changed: cannot write", format!("{error:#}")))
}

/// Copies a file to `FILE.bak` with its permissions, completely or not at all.
fn back_up(path: &Path) -> std::io::Result<()> {
    let beside = |ending: &str| -> PathBuf {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        name.into()
    };
    let draft = beside(&format!(".bak.{}.draft", std::process::id()));
    // A link that was left there is not followed.
    let _ = std::fs::remove_file(&draft);
    let copied = std::fs::copy(path, &draft).and_then(|_| std::fs::rename(&draft, beside(".bak")));
    if copied.is_err() {
        let _ = std::fs::remove_file(&draft);
    }
    copied
}
