//! Definitions that have to be accepted.

use std::fmt::Write as _;
use std::io::BufRead as _;

use anyhow::bail;
use aquifer_discovery::{escape_name, redact};
use aquifer_gate::audit::{Entry, Event};
use aquifer_protocol::suggest;
use aquifer_upstream::{Examination, Finding, ReviewError};

use super::diff;
use super::select::{self, SelectedTool};
use crate::cli::ReviewArgs;
use crate::config::Config;
use crate::safety;
use crate::state::{self, StoreLocation};
use crate::system::quoted;
use crate::terminal;

/// Renders the quarantined definitions, with their differences and the command that accepts each.
pub(super) fn render(arguments: &ReviewArgs, source: &str, examination: &Examination) -> String {
    let mut out = String::new();
    for finding in &examination.findings {
        let _ = writeln!(out, "{}", heading(finding));
        out.push_str(&diff::render(finding.accepted.as_ref(), &finding.current, arguments.all || arguments.accept_all));
        let _ = writeln!(out, "  To accept it: {}\n", command(arguments, source, examination, finding));
    }
    out
}

/// The command that accepts a definition. The upstream chooses the name of the tool, so everything is quoted for the
/// shell.
fn command(arguments: &ReviewArgs, source: &str, examination: &Examination, finding: &Finding) -> String {
    let mut words = vec!["aquifer".to_owned(), "review".to_owned()];
    words.extend(arguments.source.clone());
    if let Some(config) = &arguments.config {
        words.extend(["--config".to_owned(), config.display().to_string()]);
    }
    let is_file = arguments.source.as_deref().is_some_and(|source| source.ends_with(".json"));
    if is_file || (arguments.source.is_none() && arguments.config.is_some()) {
        words.extend(["--server".to_owned(), source.to_owned()]);
    }
    let word = select::word_for(&examination.bundle, finding);
    match word.starts_with('-') {
        // Otherwise it would be parsed as an option.
        true => words.push(format!("--accept={word}")),
        false => words.extend(["--accept".to_owned(), word]),
    }
    if !arguments.upstream.command.is_empty() {
        words.push("--".to_owned());
        words.extend(redact::arguments(&arguments.upstream.command));
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

fn heading(finding: &Finding) -> String {
    let parts: Vec<&str> = finding.changed.iter().map(|part| part.as_str()).collect();
    let what = match (parts.as_slice(), &finding.accepted) {
        ([], _) => "is new and was not accepted".to_owned(),
        (parts, None) => {
            format!(
                "changed since it was accepted: {}. The earlier definition is no longer known, so the whole definition is shown",
                parts.join(", ")
            )
        }
        (parts, Some(_)) => format!("changed since it was accepted: {}", parts.join(", ")),
    };
    let seen = if finding.differs_from_shown { ". It differs from the definition that was shown before" } else { "" };
    format!("quarantined  {} {what}{seen}", escape_name(&finding.tool))
}

/// The definitions to accept.
pub(super) fn chosen<'a>(examination: &'a Examination, selected: &[SelectedTool]) -> anyhow::Result<Vec<&'a Finding>> {
    let mut chosen = Vec::new();
    for selected_tool in selected {
        let Some(finding) = examination.findings.iter().find(|finding| finding.tool == selected_tool.tool) else {
            continue;
        };
        // Without a digest, only the definition that was shown can be accepted.
        if !selected_tool.has_digest && finding.differs_from_shown {
            bail!(
                "the definition of '{}' differs from the one that was shown before. Review it again, then accept it",
                escape_name(&selected_tool.tool)
            )
        }
        chosen.push(finding);
    }
    Ok(chosen)
}

fn is_listed(examination: &Examination, name: &str) -> bool {
    let operations = &examination.bundle.normalized_bundle.operations;
    examination.findings.iter().any(|finding| finding.operation == name)
        || operations.iter().any(|made| {
            made.source_tool_name == name || made.operation_name == name || escape_name(&made.source_tool_name) == name
        })
}

/// Whether an argument refers to a tool of this server.
pub(super) fn knows(examination: &Examination, word: &str) -> bool {
    is_listed(examination, word) || word.rsplit_once('@').is_some_and(|(name, _)| is_listed(examination, name))
}

/// A suggestion for the name of an unknown tool.
pub(super) fn nearest<'a>(examinations: impl Iterator<Item = &'a Examination>, word: &str) -> Option<String> {
    let names: Vec<&str> = examinations
        .flat_map(|one| &one.bundle.normalized_bundle.operations)
        .map(|made| made.source_tool_name.as_str())
        .collect();
    suggest::nearest(word, names).map(escape_name)
}

/// Asks a person about each definition.
pub(super) fn ask<'a>(examination: &'a Examination, source: &str) -> anyhow::Result<Vec<&'a Finding>> {
    let mut accepted = Vec::new();
    let mut answers = std::io::stdin().lock().lines();
    for (index, finding) in examination.findings.iter().enumerate() {
        note!("\n[{}/{}] {source}: {}", index + 1, examination.findings.len(), heading(finding));
        terminal::print_note(&diff::render(finding.accepted.as_ref(), &finding.current, true));
        terminal::print_note("Accept this definition? [y/N/q] > ");
        match answers.next().transpose()?.unwrap_or_default().trim() {
            "y" | "yes" => accepted.push(finding),
            "q" => break,
            _ => {}
        }
    }
    Ok(accepted)
}

/// Accepts definitions and records that in the audit log.
pub(super) async fn accept(
    examination: &Examination,
    source: &str,
    accepted: &[&Finding],
    config: &Config,
) -> anyhow::Result<()> {
    if accepted.is_empty() {
        return Ok(());
    }
    let tools: Vec<&str> = accepted.iter().map(|finding| finding.tool.as_str()).collect();
    examination.accept(&tools).await.map_err(into_error)?;
    let clock = state::steady_clock();
    let store = StoreLocation::new(&config.state)?.open(&config.state, &clock)?;
    let audit = safety::audit(config, store, &clock)?;
    for finding in accepted {
        let reason =
            format!("tool '{}', definition {}, at the command line", escape_name(&finding.tool), finding.digest);
        let entry = Entry::new(Event::DefinitionAccepted).operation(source, &finding.operation).reason(&reason);
        if let Err(error) = audit.record(entry).await {
            tracing::error!(%error, "the definition is accepted, but that could not be written to the audit log");
        }
        note!("'{}' was accepted", escape_name(&finding.tool));
    }
    Ok(())
}

/// Converts the error to a message for the operator.
pub(super) fn into_error(error: ReviewError) -> anyhow::Error {
    match error {
        ReviewError::Unreachable(failure) => crate::sources::UnreachableError::from_failure(failure).into(),
        other => anyhow::anyhow!("{other}"),
    }
}
