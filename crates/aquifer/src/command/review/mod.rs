//! `aquifer review`: shows what needs a person's judgment and records the decisions.
//!
//! There are two kinds of decisions. A definition that has changed since it was accepted is quarantined until a person
//! accepts the change; that decision goes to the state store, where a running gateway sees it. A tool without
//! sufficient evidence for a category needs a decision, which goes to an overrides file. A decision is bound to the
//! digest of the reviewed definition and becomes invalid when the definition changes.

mod ask;
mod decide;
mod diff;
mod drift;
mod quarantined;
mod select;

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::bail;
use aquifer_discovery::bundle::NormalizedOperation;
use aquifer_discovery::name::kebab;
use aquifer_discovery::text::presentable;
use aquifer_discovery::{Bundle, Overrides, escape_name};
use aquifer_engine::clock::SystemClock;
use aquifer_upstream::{Examination, Finding, Settings, examine};

use super::capture;
use super::table::columns;
use crate::CommandOutcome;
use crate::cli::ReviewArgs;
use crate::config::Config;
use crate::config::target::is_source;
use crate::files::write;
use crate::setup::SourceSelection;
use crate::sources::gateway::pins;
use crate::sources::gather::{gather, late_message};
use crate::sources::{Plan, UnreachableError};
use crate::terminal;

/// A server under review.
struct ReviewedServer {
    settings: Settings,
    /// The adapter's file, if it is served from one.
    adapter: Option<PathBuf>,
    /// The overrides that the configuration names.
    overrides: Option<PathBuf>,
    examination: Examination,
}

pub(crate) async fn run(mut arguments: ReviewArgs) -> anyhow::Result<CommandOutcome> {
    if let Some(path) = arguments.source.as_deref().map(Path::new).filter(|path| is_bundle(path)) {
        let bundle = capture::read(path)?;
        let file = overrides_path(&arguments, None, &bundle);
        let mut accepted = Vec::new();
        for word in &arguments.accepted {
            let selected = select::select_tool(&bundle, &[], word)?;
            accepted.push(selected.map_or_else(|| word.clone(), |selected| selected.tool));
        }
        let left = review_bundle(&arguments, &bundle, &file, &accepted, &HashSet::new())?;
        return Ok(if left { CommandOutcome::Failure } else { CommandOutcome::Done });
    }
    choose_config(&mut arguments)?;
    let config = Config::read(arguments.config.as_deref())?;
    let (reviewed, is_complete) = examine_all(&arguments, &config).await?;
    check(&arguments, &reviewed)?;
    require_shown(&arguments, &reviewed).await?;
    let mut left = !is_complete;
    for server in &reviewed {
        left |= review(&arguments, &config, server).await?;
    }
    Ok(if left { CommandOutcome::Failure } else { CommandOutcome::Done })
}

/// Examines all selected servers and returns whether all of them answered. Reports those that did not, and fails if
/// none did.
async fn examine_all(arguments: &ReviewArgs, config: &Config) -> anyhow::Result<(Vec<ReviewedServer>, bool)> {
    let plans = plans(arguments, config)?;
    let mut servers: Vec<(&Plan, Settings)> = Vec::new();
    for plan in &plans {
        let Some(settings) = plan.upstream() else { continue };
        let mut settings = settings.clone();
        if let Some(name) = &arguments.name {
            settings.name.clone_from(name);
        }
        servers.push((plan, settings));
    }
    let asked = servers.iter().map(|(_, settings)| {
        let pinning = pins::for_review(&config.state);
        (settings.name.clone(), examine(settings.clone(), pinning, Arc::new(SystemClock)))
    });
    let answers = gather(asked.collect(), false, Result::is_ok).await;
    let (mut reviewed, mut missing) = (Vec::new(), Vec::new());
    for ((plan, settings), answer) in servers.into_iter().zip(answers) {
        match answer {
            Some(Ok(examination)) => {
                let (adapter, overrides) = plan.files();
                reviewed.push(ReviewedServer { settings, adapter, overrides, examination });
            }
            Some(Err(error)) => missing.push(quarantined::into_error(error)),
            None => missing.push(UnreachableError::new(late_message(&settings.name)).into()),
        }
    }
    if reviewed.is_empty()
        && let Some(first) = missing.pop()
    {
        missing.iter().for_each(|error| note!("aquifer: {error}"));
        return Err(first);
    }
    missing.iter().for_each(|error| note!("aquifer: {error}. It was not reviewed"));
    Ok((reviewed, missing.is_empty()))
}

/// The configuration named as a source or with `--config`, otherwise `./aquifer.toml`.
fn choose_config(arguments: &mut ReviewArgs) -> anyhow::Result<()> {
    let starts_command = !arguments.upstream.command.is_empty();
    let mut named: Vec<String> = arguments.source.iter().filter(|source| is_source(source)).cloned().collect();
    let is_named = !named.is_empty();
    crate::cli::choose_config(&mut named, &mut arguments.config, starts_command)?;
    if is_named && named.is_empty() {
        arguments.source = None;
    }
    Ok(())
}

/// The selected servers: one by its name in the configuration, those on the command line, or otherwise all in the
/// configuration.
fn plans(arguments: &ReviewArgs, config: &Config) -> anyhow::Result<Vec<Plan>> {
    let source = arguments.source.as_deref();
    if source.is_none() && arguments.upstream.command.is_empty() && config.source.is_empty() {
        bail!(
            "no server given. Name one: https://…, FILE.json with --server NAME, the name of a source in the configuration, or -- COMMAND"
        );
    }
    let plan = |targets: &[String]| SourceSelection { targets, upstream: &arguments.upstream, config }.plan();
    let mut plans = match source.filter(|_| !config.source.is_empty()) {
        Some(name) => plan(&[])?.plans.into_iter().filter(|plan| plan.name == name).collect(),
        None => Vec::new(),
    };
    if plans.is_empty() {
        let targets: Vec<String> = source.map(str::to_owned).into_iter().collect();
        plans = plan(&targets)?.plans;
        let servers = &arguments.upstream.servers;
        plans.retain(|plan| source.is_some() || servers.is_empty() || servers.contains(&plan.name));
    }
    plans.retain(|plan| plan.upstream().is_some());
    match plans.len() {
        0 => bail!("this is not an MCP server"),
        1 => Ok(plans),
        _ if arguments.needs_single_server() => bail!("there are several servers. Choose one with --server NAME"),
        _ => Ok(plans),
    }
}

/// Checks that every tool to accept belongs to exactly one server.
fn check(arguments: &ReviewArgs, reviewed: &[ReviewedServer]) -> anyhow::Result<()> {
    for word in &arguments.accepted {
        match reviewed.iter().filter(|server| quarantined::knows(&server.examination, word)).count() {
            1 => {}
            0 => {
                let near = quarantined::nearest(reviewed.iter().map(|server| &server.examination), word);
                let near = near.map(|name| format!(". Did you mean '{name}'?")).unwrap_or_default();
                bail!("there is no tool '{word}'{near}");
            }
            _ => bail!("several servers have a tool '{word}'. Choose one with --server NAME"),
        }
    }
    Ok(())
}

/// Requires that `--accept-all`, and `--accept` without a digest, only accept what an earlier run has shown. Otherwise
/// this run shows everything and accepts nothing.
async fn require_shown(arguments: &ReviewArgs, reviewed: &[ReviewedServer]) -> anyhow::Result<()> {
    let mut is_new = false;
    for ReviewedServer { examination, .. } in reviewed.iter().filter(|server| server.examination.is_remembered()) {
        is_new |= arguments.accept_all && examination.findings.iter().any(|finding| !finding.was_shown);
        for word in arguments.accepted.iter().filter(|word| quarantined::knows(examination, word)) {
            let selected =
                select::select_tool(&examination.bundle, &examination.findings, word)?.filter(|one| !one.has_digest);
            // Definitions that differ from the shown ones are refused individually.
            let is_unknown = |finding: &Finding| !finding.was_shown && !finding.differs_from_shown;
            is_new |= selected.is_some_and(|one| {
                examination.findings.iter().any(|finding| finding.tool == one.tool && is_unknown(finding))
            });
        }
    }
    if !is_new {
        return Ok(());
    }
    for server in reviewed.iter().filter(|server| !server.examination.findings.is_empty()) {
        terminal::print_line(quarantined::render(arguments, &server.settings.name, &server.examination).trim_end())?;
        server.examination.remember_shown().await.map_err(quarantined::into_error)?;
    }
    bail!("nothing was accepted, because not all of this had been shown before. Read it, then run the command again")
}

/// Reviews one server. Returns whether anything still needs review.
async fn review(arguments: &ReviewArgs, config: &Config, server: &ReviewedServer) -> anyhow::Result<bool> {
    let ReviewedServer { settings, adapter, overrides, examination } = server;
    let mut selected = Vec::new();
    for word in arguments.accepted.iter().filter(|word| quarantined::knows(examination, word)) {
        selected.extend(select::select_tool(&examination.bundle, &examination.findings, word)?);
    }
    let words: Vec<String> = selected.iter().map(|one| one.tool.clone()).collect();
    let accepted = match (arguments.accept_all, is_asked(arguments)) {
        (true, _) => examination.findings.iter().collect(),
        (false, true) => quarantined::ask(examination, &settings.name)?,
        (false, false) => quarantined::chosen(examination, &selected)?,
    };
    if !is_asked(arguments) && !examination.findings.is_empty() {
        terminal::print_line(quarantined::render(arguments, &settings.name, examination).trim_end())?;
    }
    examination.remember_shown().await.map_err(quarantined::into_error)?;
    quarantined::accept(examination, &settings.name, &accepted, config).await?;
    let is_waiting = |finding: &&Finding| !accepted.iter().any(|accepted| accepted.tool == finding.tool);
    let waiting: HashSet<&str> = examination.findings.iter().filter(is_waiting).map(|one| one.tool.as_str()).collect();
    let mut left = !waiting.is_empty();
    match adapter {
        Some(file) => {
            let (words, is_open) = drift::report(file, examination, &waiting)?;
            terminal::print_line(&words)?;
            left |= is_open;
        }
        None => {
            let quarantined: HashSet<&str> = examination.findings.iter().map(|finding| finding.tool.as_str()).collect();
            let file = overrides_path(arguments, overrides.as_deref(), &examination.bundle);
            left |= review_bundle(arguments, &examination.bundle, &file, &words, &quarantined)?;
        }
    }
    for note in &examination.notes {
        note!("{}: {note}", settings.name);
    }
    if !waiting.is_empty() {
        terminal::print_line(&format!("{} quarantined", waiting.len()))?;
    }
    Ok(left)
}

/// Applies decisions about tools that need review, and shows the remaining ones. Returns whether there are any.
/// `quarantined` contains the tools whose definitions `accepted` refers to.
fn review_bundle(
    arguments: &ReviewArgs,
    fresh: &Bundle,
    file: &Path,
    accepted: &[String],
    quarantined: &HashSet<&str>,
) -> anyhow::Result<bool> {
    let mut overrides = match arguments.overrides.as_deref().or(Some(file).filter(|file| file.is_file())) {
        Some(path) => capture::overrides(path)?,
        None => Overrides::default(),
    };
    let before = overrides.clone();
    decide::apply_arguments(arguments, accepted, quarantined, &applied(fresh, &overrides), &mut overrides)?;
    if is_asked(arguments) {
        ask::ask_about_each(&applied(fresh, &overrides), &mut overrides)?;
    }
    let reviewed = applied(fresh, &overrides);
    terminal::print_line(table(&reviewed, arguments.all).trim_end())?;
    // A requested file is always written, because the next command reads it.
    if overrides != before || arguments.output.is_some() {
        write::file(file, &overrides.write(), true)?;
        note!("Decisions written to {}", file.display());
    }
    Ok(reviewed.normalized_bundle.operations.iter().any(|made| made.needs_review))
}

/// Whether to ask a person: nothing was decided on the command line, and there is a terminal.
fn is_asked(arguments: &ReviewArgs) -> bool {
    let is_decided = !arguments.accepted.is_empty()
        || arguments.accept_all
        || !arguments.categories.is_empty()
        || !arguments.dangers.is_empty();
    !is_decided && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

fn is_bundle(path: &Path) -> bool {
    crate::files::read(path).is_ok_and(|text| text.contains("\"raw_capture\""))
}

fn applied(bundle: &Bundle, overrides: &Overrides) -> Bundle {
    let mut bundle = bundle.clone();
    overrides.apply(&mut bundle);
    bundle
}

fn overrides_path(arguments: &ReviewArgs, configured: Option<&Path>, bundle: &Bundle) -> PathBuf {
    let chosen = arguments.output.clone().or_else(|| arguments.overrides.clone());
    let chosen = chosen.or_else(|| configured.map(Path::to_owned));
    chosen.unwrap_or_else(|| format!("{}.overrides.yaml", kebab(&bundle.source.name)).into())
}

fn table(bundle: &Bundle, all: bool) -> String {
    let operations = &bundle.normalized_bundle.operations;
    let shown: Vec<&NormalizedOperation> = operations.iter().filter(|made| all || made.needs_review).collect();
    let rows: Vec<[String; 5]> = shown
        .iter()
        .map(|made| {
            let reasons =
                if made.needs_review { presentable(&made.review_reasons.join("; ")) } else { "settled".to_owned() };
            [
                escape_name(&made.source_tool_name),
                made.endpoint.as_str().to_owned(),
                made.endpoint_confidence.as_str().to_owned(),
                made.danger_level.as_str().to_owned(),
                reasons,
            ]
        })
        .collect();
    let left = operations.iter().filter(|made| made.needs_review).count();
    let mut out =
        if rows.is_empty() { String::new() } else { columns(&["TOOL", "CATEGORY", "SURE", "DANGER", "WHY"], &rows) };
    out.push_str(&format!("{left} of {} need review\n", operations.len()));
    out
}
