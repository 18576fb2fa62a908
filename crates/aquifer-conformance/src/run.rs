//! A whole run: connect, read what the server says of itself, check it, put everything back.

use std::fmt;

use serde_json::Value;

use crate::checks::{self, Check};
use crate::context::CheckContext;
use crate::options::Options;
use crate::record::{Record, Surface};
use crate::report::{Category, Header, Outcome, Report, Tally, Verdict};
use crate::transport::{Broken, Dial};

/// How far a run has come.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A surface was opened: `semantic over stdio`.
    Connected(String),
    /// So many operations and types are known.
    Described {
        /// Operations in the list.
        operations: usize,
        /// Types in the list.
        types: usize,
    },
    /// A check begins.
    Checking {
        /// Its place, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// The check's stable name.
        id: &'static str,
    },
    /// A check came out.
    Checked {
        /// The check's stable name.
        id: &'static str,
        /// How.
        result: Verdict,
    },
}

/// What a run brings home.
#[derive(Clone, Debug)]
pub struct Run {
    /// The verdicts.
    pub report: Report,
    /// What they rest on.
    pub record: Record,
}

/// The server could not be run against at all.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Unreachable {}

impl From<Broken> for Unreachable {
    fn from(Broken(reason): Broken) -> Self {
        Self(reason)
    }
}

/// Runs every check of the level that is asked for.
pub async fn run(target: &dyn Dial, options: &Options, mut progress: impl FnMut(Progress)) -> Result<Run, Unreachable> {
    let mut context = CheckContext::open(target, options).await?;
    progress(Progress::Connected(surface_words(&context.record).join(", ")));
    let (operations, types) = (context.described.operations_list.len(), context.described.types_list.len());
    progress(Progress::Described { operations, types });
    context.prepare(1).await;
    let mut outcomes = Vec::new();
    let mut place = 0;
    let of = checks::all().iter().filter(|check| asked(check, &context)).count();
    let later = checks::looking().into_iter().chain(checks::probing()).collect();
    for phase in [checks::first(), later] {
        if place > 0 {
            // Rows of ours come first: a collection that was empty has something to show then.
            if options.allow_writes {
                context.populate().await;
            }
            context.prepare(options.max_rows).await;
        }
        for check in phase {
            if !asked(check, &context) {
                continue;
            }
            place += 1;
            progress(Progress::Checking { number: place, of, id: check.id });
            let outcome = make(check, &mut context).await;
            progress(Progress::Checked { id: check.id, result: outcome.result });
            outcomes.push((check.category, outcome));
        }
    }
    let report = report(&context, outcomes);
    Ok(Run { report, record: context.record })
}

/// Whether a check belongs to this run: to its level, and to what the server offers.
fn asked(check: &Check, context: &CheckContext<'_>) -> bool {
    let level = if check.category.required() { 1 } else { 2 };
    level <= context.options.level && check.feature.is_none_or(|feature| feature.offered(context))
}

/// Makes one check.
async fn make(check: &Check, context: &mut CheckContext<'_>) -> Outcome {
    let mut tally = Tally::default();
    if check.writes && !context.options.allow_writes {
        return skipped(check, "the run was not allowed to write");
    }
    if let Some(reason) = context.client.lost.clone() {
        return skipped(check, &format!("the server is gone: {reason}"));
    }
    (check.body)(context, &mut tally).await;
    if let Some(reason) = context.client.lost.clone() {
        tally.lose(&reason);
        context.revive().await;
    }
    let detail = match tally.verdict() {
        Verdict::Skip if tally.notes.is_empty() => nothing_to_look_at(check, context),
        _ => tally.detail(check.unit),
    };
    Outcome {
        id: check.id.to_owned(),
        name: check.name.to_owned(),
        result: tally.verdict(),
        detail,
        looked_at: tally.looked_at,
        findings: tally.findings,
    }
}

/// Why a check had nothing to look at.
fn nothing_to_look_at(check: &Check, context: &CheckContext<'_>) -> String {
    let reason = if check.writes { context.why_nothing_made() } else { String::new() };
    if reason.is_empty() { check.nothing.to_owned() } else { format!("{}: {reason}", check.nothing) }
}

fn skipped(check: &Check, reason: &str) -> Outcome {
    Outcome {
        id: check.id.to_owned(),
        name: check.name.to_owned(),
        result: Verdict::Skip,
        detail: reason.to_owned(),
        looked_at: 0,
        findings: Vec::new(),
    }
}

fn surface_words(record: &Record) -> Vec<String> {
    let words = |surface: &Surface| {
        let takes = surface.tools.iter().any(|tool| tool.pointer("/inputSchema/properties/operation").is_some());
        let mode = if takes { surface.mode.word() } else { "no tool for operations" };
        format!("{mode} over {}", surface.transport)
    };
    record.surfaces.iter().map(words).collect()
}

fn report(context: &CheckContext<'_>, outcomes: Vec<(Category, Outcome)>) -> Report {
    let version = context.described.protocol().get("version").and_then(Value::as_str);
    let header = Header {
        implementation: context.record.implementation.clone(),
        version: context.record.version.clone(),
        spec_version: version.unwrap_or_default().to_owned(),
        requested_level: context.options.level,
        claimed: context.described.protocol().get("conformance").and_then(Value::as_str).map(str::to_owned),
        surfaces: surface_words(&context.record),
        calls: context.calls(),
    };
    Report::assemble(header, outcomes)
}
