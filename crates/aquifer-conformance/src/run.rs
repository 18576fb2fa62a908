//! A run: connect, read the server's description, run the checks, delete the created rows.

use std::fmt;

use serde_json::Value;

use crate::checks::feature::Feature;
use crate::checks::{self, Check};
use crate::context::CheckContext;
use crate::options::Options;
use crate::record::{Record, Surface};
use crate::report::{Category, Header, Outcome, Report, Tally, Verdict};
use crate::transport::{Connector, TransportError};

/// The progress of a run.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A surface was opened: `semantic over stdio`.
    Connected(String),
    /// The operations and types were listed.
    Described {
        /// The number of operations.
        operations: usize,
        /// The number of types.
        types: usize,
    },
    /// A check starts.
    Checking {
        /// The number of the check, from 1.
        number: usize,
        /// The total number of checks.
        total: usize,
        /// The stable name of the check.
        id: &'static str,
    },
    /// A check is done.
    Checked {
        /// The stable name of the check.
        id: &'static str,
        /// Its verdict.
        result: Verdict,
    },
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The verdicts.
    pub report: Report,
    /// The exchanges behind them.
    pub record: Record,
}

/// The server could not be checked at all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunError(pub String);

impl fmt::Display for RunError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for RunError {}

impl From<TransportError> for RunError {
    fn from(TransportError(reason): TransportError) -> Self {
        Self(reason)
    }
}

/// Runs every check of the requested level.
pub async fn run(
    target: &dyn Connector,
    options: &Options,
    mut progress: impl FnMut(Progress),
) -> Result<Run, RunError> {
    let mut context = CheckContext::open(target, options).await?;
    progress(Progress::Connected(surface_names(&context.record).join(", ")));
    let (operations, types) = (context.description.operations_list.len(), context.description.types_list.len());
    progress(Progress::Described { operations, types });
    context.prepare(1).await;
    context.describe_again().await;
    let mut outcomes = Vec::new();
    let mut place = 0;
    let total = checks::all().iter().filter(|check| is_selected(check, &context)).count();
    let later = checks::read_checks().into_iter().chain(checks::write_checks()).collect();
    for phase in [checks::description_checks(), later] {
        if place > 0 {
            // Create rows first, so that empty collections have something to check.
            if options.allow_writes {
                context.create_rows().await;
            }
            context.prepare(options.max_rows).await;
            context.describe_again().await;
        }
        for check in phase {
            if !is_selected(check, &context) {
                continue;
            }
            place += 1;
            progress(Progress::Checking { number: place, total, id: check.id });
            let outcome = run_check(check, &mut context).await;
            progress(Progress::Checked { id: check.id, result: outcome.result });
            outcomes.push((check.category, outcome));
        }
    }
    context.record.not_applicable = not_applicable(&context);
    let report = report(&context, outcomes);
    Ok(Run { report, record: context.record })
}

/// Whether a check belongs to the requested level and to a feature that the server offers.
fn is_selected(check: &Check, context: &CheckContext<'_>) -> bool {
    let level = if check.category.is_required() { 1 } else { 2 };
    let only = &context.options.only;
    let is_wanted = only.is_empty() || only.iter().any(|name| check.id.starts_with(name.as_str()));
    is_wanted && level <= context.options.level && check.feature.is_none_or(|feature| feature.is_offered(context))
}

/// The sections of the evidence for which the server has no operations.
fn not_applicable(context: &CheckContext<'_>) -> Vec<String> {
    let sections = [(Feature::RoundTrips, "round_trip_tests"), (Feature::Updates, "update_preservation_tests")];
    let absent = sections.into_iter().filter(|(feature, _)| !feature.is_offered(context));
    absent.map(|(_, section)| section.to_owned()).collect()
}

/// Runs one check.
async fn run_check(check: &Check, context: &mut CheckContext<'_>) -> Outcome {
    let mut tally = Tally::default();
    if let Some(subject) = check.subject.filter(|subject| !subject.is_offered(context)) {
        let reason = format!("Not applicable: the server has no {}.", subject.name());
        return Outcome { not_applicable: true, ..skip(check, &reason) };
    }
    if check.writes && !context.options.allow_writes {
        return skip(check, "writes are not allowed");
    }
    if let Some(reason) = context.client.lost.clone() {
        return skip(check, &format!("the server was lost: {reason}"));
    }
    (check.run)(context, &mut tally).await;
    if let Some(reason) = context.client.lost.clone() {
        tally.mark_server_lost(&reason);
        context.reconnect().await;
    }
    let detail = match tally.verdict() {
        Verdict::Skip if tally.notes.is_empty() => skip_detail(check, context),
        _ => tally.detail(check.unit),
    };
    Outcome {
        id: check.id.to_owned(),
        name: check.name.to_owned(),
        result: tally.verdict(),
        detail,
        not_applicable: check.where_observable && tally.verdict() == Verdict::Skip,
        examined: tally.examined,
        findings: tally.findings,
    }
}

/// Why a check found nothing to examine.
fn skip_detail(check: &Check, context: &CheckContext<'_>) -> String {
    let reason = if check.writes { context.reason_nothing_created() } else { String::new() };
    if reason.is_empty() { check.skip_reason.to_owned() } else { format!("{}: {reason}", check.skip_reason) }
}

fn skip(check: &Check, reason: &str) -> Outcome {
    Outcome {
        id: check.id.to_owned(),
        name: check.name.to_owned(),
        result: Verdict::Skip,
        detail: reason.to_owned(),
        not_applicable: false,
        examined: 0,
        findings: Vec::new(),
    }
}

fn surface_names(record: &Record) -> Vec<String> {
    let words = |surface: &Surface| {
        let takes_operations =
            surface.tools.iter().any(|tool| tool.pointer("/inputSchema/properties/operation").is_some());
        let mode = if takes_operations { surface.mode.as_str() } else { "no tool for operations" };
        format!("{mode} over {}", surface.transport)
    };
    record.surfaces.iter().map(words).collect()
}

fn report(context: &CheckContext<'_>, outcomes: Vec<(Category, Outcome)>) -> Report {
    let version = context.description.protocol().get("version").and_then(Value::as_str);
    let header = Header {
        implementation: context.record.implementation.clone(),
        version: context.record.version.clone(),
        spec_version: version.unwrap_or_default().to_owned(),
        requested_level: context.options.level,
        claimed: context.description.protocol().get("conformance").and_then(Value::as_str).map(str::to_owned),
        surfaces: surface_names(&context.record),
        calls: context.calls(),
    };
    Report::assemble(header, outcomes)
}
