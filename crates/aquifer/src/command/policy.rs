//! `aquifer policy show`: shows what an agent may do.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_gate::policy::{PolicyLine, RequiredStrength, UnusedRule};
use aquifer_gate::quota::QuotaSettings;
use aquifer_protocol::catalog::Catalog;
use serde_json::json;

use super::table::columns;
use crate::CommandOutcome;
use crate::cli::{PolicyShowArgs, choose_config};
use crate::config::Config;
use crate::safety::Safety;
use crate::setup::{self, SourceSelection};
use crate::sources::OnUnreachable;
use crate::terminal;

pub(crate) async fn show(mut arguments: PolicyShowArgs) -> anyhow::Result<CommandOutcome> {
    let starts_command = !arguments.upstream.command.is_empty();
    choose_config(&mut arguments.sources, &mut arguments.config, starts_command)?;
    let config = arguments.confirmation.apply_to(Config::read(arguments.config.as_deref())?);
    let wanted = SourceSelection { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let facts = wanted.source_facts()?;
    let safety = Safety::for_inspection(&config, &facts)?;
    let opened = wanted.open(OnUnreachable::ShowCached).await?;
    let engine = setup::engine(&opened, &arguments.surface, &config, &safety)?;
    let snapshot = engine.snapshot();
    let show = |catalog: &Catalog| safety.gate.policy().describe_operations(catalog, &Caller::anonymous(), &[]);
    let mut lines = show(snapshot.catalog());
    // Includes what callers do not see: operations that are always denied, and those behind generic operations.
    lines.extend(show(snapshot.unlisted()));
    lines.sort_by(|a, b| (&a.source, &a.operation).cmp(&(&b.source, &b.operation)));
    // The protocol's own operations are always available and not of interest here.
    lines.retain(|line| !line.source.is_empty());
    let totals = Totals::new(&lines);
    lines.retain(|line| arguments.only.is_empty() || arguments.only.iter().any(|only| only == line.decision));
    let limits = limits(&facts.gate_settings(&config.gate).quota);
    let dry_runs = rehearsed(engine.snapshot().catalog(), &lines);
    let unused = crate::safety::find_unused(&engine, &safety.gate, &crate::safety::unknown_sources(&opened));
    let model_confirms = safety.gate.policy().lets_model_confirm();
    if arguments.json {
        let (dry_runs, unused, sources) = (&dry_runs, &unused, super::sources::to_json(&opened));
        let shown = json!({
            "model_confirms": model_confirms, "operations": lines, "limits": limits, "dry_run_asks_nobody": dry_runs, "unused_rules": unused,
            "sources": sources,
        });
        super::json::print(&shown.to_string())?;
    } else {
        let text = table(&lines, &totals, &limits, &dry_runs, &unused) + &super::sources::to_text(&opened);
        terminal::print_line(text.trim_end())?;
    }
    Ok(CommandOutcome::Done)
}

/// Renders a table for each source and the number of operations for each decision.
fn table(
    lines: &[PolicyLine],
    totals: &Totals,
    limits: &[String],
    rehearsed: &[Arc<str>],
    unused: &[UnusedRule],
) -> String {
    let mut sources: Vec<&str> = lines.iter().map(|line| &*line.source).collect();
    sources.dedup();
    let mut out = String::new();
    for source in sources {
        let own: Vec<&PolicyLine> = lines.iter().filter(|line| &*line.source == source).collect();
        let trust = own.iter().map(|line| line.trust).min().map(|trust| trust.as_str()).unwrap_or_default();
        let _ = writeln!(out, "{source} (trusted as '{trust}'): {}\n", totals.of_source(source));
        let rows: Vec<[String; 4]> = own.iter().map(|line| row(line)).collect();
        out.push_str(&columns(&["OPERATION", "DANGER", "DECISION", "WHY"], &rows));
        out.push('\n');
    }
    out.push_str(&rehearsals(rehearsed));
    if lets_model_confirm(lines) {
        out.push_str("Where a token is enough, the model confirms its own calls.\n\n");
    }
    let operations = if totals.all.count == 1 { "operation" } else { "operations" };
    let _ = writeln!(out, "{} {operations}: {}", totals.all.count, totals.all);
    if lines.len() < totals.all.count {
        let _ = writeln!(out, "{} shown", lines.len());
    }
    if !limits.is_empty() {
        let _ = writeln!(out, "\nLimits:");
        for limit in limits {
            let _ = writeln!(out, "  {limit}");
        }
    }
    if !unused.is_empty() {
        let _ = writeln!(out, "\nThese have no effect and are probably mistakes:");
        for unused in unused {
            let _ = writeln!(out, "  {unused}");
        }
    }
    out
}

fn lets_model_confirm(lines: &[PolicyLine]) -> bool {
    lines.iter().filter_map(|line| line.strength).any(RequiredStrength::lets_model_confirm)
}

/// The operations that need confirmation unless they are called as a dry run.
fn rehearsed(catalog: &Catalog, lines: &[PolicyLine]) -> Vec<Arc<str>> {
    let asking = lines.iter().filter(|line| line.decision == "confirm");
    let rehearsed = asking.filter(|line| {
        catalog
            .operation(&line.operation)
            .is_some_and(|operation| operation.safety.has_safe_dry_run && operation.origin.native)
    });
    rehearsed.map(|line| line.operation.clone()).collect()
}

fn rehearsals(rehearsed: &[Arc<str>]) -> String {
    let shown = match rehearsed {
        [] => return String::new(),
        [only] => format!("'{only}' needs"),
        several => format!("{} of the operations that ask first need", several.len()),
    };
    format!("{shown} no confirmation when called with dry_run: true, because a dry run changes nothing.\n\n")
}

/// Describes rate limits and quotas.
fn limits(settings: &QuotaSettings) -> Vec<String> {
    let rates = settings.rate_limit.iter().chain(&settings.declared.rate_limit).map(ToString::to_string);
    let quotas = settings.quota.iter().chain(&settings.declared.quota).map(ToString::to_string);
    rates.chain(quotas).collect()
}

fn row(line: &PolicyLine) -> [String; 4] {
    let decision = match &line.strength {
        Some(strength) => format!("{} ({strength})", line.decision),
        None => line.decision.to_owned(),
    };
    let why = match line.cell.as_deref().and_then(|cell| line.why.strip_prefix(cell).map(|rest| (cell, rest))) {
        // Danger, trust and decision have their own columns, so only the evidence is shown here.
        Some((_, rest)) if line.decision != "deny" => format!("{}{rest}", line.evidence),
        Some((cell, rest)) => format!("{}; {cell}{rest}", line.evidence),
        None => line.why.clone(),
    };
    [line.operation.to_string(), line.danger.to_string(), decision, why]
}

/// The number of operations for each decision, including those that are not shown.
struct Totals {
    all: Counts,
    by_source: BTreeMap<Arc<str>, Counts>,
}

#[derive(Default)]
struct Counts {
    count: usize,
    allowed: usize,
    confirmed: usize,
    denied: usize,
}

impl Totals {
    fn new(lines: &[PolicyLine]) -> Self {
        let mut totals = Self { all: Counts::default(), by_source: BTreeMap::new() };
        for line in lines {
            totals.all.add(line);
            totals.by_source.entry(line.source.clone()).or_default().add(line);
        }
        totals
    }

    fn of_source(&self, source: &str) -> String {
        self.by_source.get(source).map(ToString::to_string).unwrap_or_default()
    }
}

impl Counts {
    fn add(&mut self, line: &PolicyLine) {
        self.count += 1;
        match line.decision {
            "allow" => self.allowed += 1,
            "confirm" => self.confirmed += 1,
            _ => self.denied += 1,
        }
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [allowed, confirmed, denied] = [self.allowed, self.confirmed, self.denied].map(|count| match count {
            0 => "none".to_owned(),
            count => count.to_string(),
        });
        write!(f, "{allowed} run, {confirmed} ask first, {denied} denied")
    }
}
