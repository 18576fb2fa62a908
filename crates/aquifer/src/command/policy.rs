//! `aquifer policy show`: what can my agent do?

use std::fmt::Write as _;

use aquifer_engine::Caller;
use aquifer_gate::policy::PolicyLine;
use aquifer_gate::quota::QuotaSettings;
use serde_json::json;

use super::table::columns;
use crate::Ending;
use crate::cli::PolicyShowArgs;
use crate::config::Config;
use crate::safety::Safety;
use crate::setup::{self, Wanted};
use crate::sources::Absence;

pub(crate) async fn show(arguments: PolicyShowArgs) -> anyhow::Result<Ending> {
    let config = Config::read(arguments.config.as_deref())?;
    let wanted = Wanted { targets: &arguments.sources, upstream: &arguments.upstream, config: &config };
    let safety = Safety::looking(&config)?;
    let opened = wanted.open(Absence::IsShown).await?;
    let engine = setup::engine(&opened, &arguments.surface, &config, &safety)?;
    let mut lines = safety.gate.policy().show(engine.snapshot().catalog(), &Caller::nobody(), &[]);
    // The protocol's own are always there, and nobody has to wonder about them.
    lines.retain(|line| !line.source.is_empty());
    lines.retain(|line| arguments.only.is_empty() || arguments.only.iter().any(|only| only == line.decision));
    let limits = limits(&config.gate.settings().quota);
    let text = match arguments.json {
        true => {
            let sources = super::sources::to_json(&opened);
            json!({ "operations": lines, "limits": limits, "sources": sources }).to_string()
        }
        false => table(&lines, &limits) + &super::sources::to_text(&opened),
    };
    super::call::print(text.trim_end())?;
    Ok(Ending::Done)
}

/// A table for each source, and how many operations there are of each decision.
fn table(lines: &[PolicyLine], limits: &[String]) -> String {
    let mut sources: Vec<&str> = lines.iter().map(|line| &*line.source).collect();
    sources.dedup();
    let mut out = String::new();
    for source in sources {
        let own: Vec<&PolicyLine> = lines.iter().filter(|line| &*line.source == source).collect();
        let trust = own.iter().map(|line| line.trust).min().map(|trust| trust.as_str()).unwrap_or_default();
        let _ = writeln!(out, "{source} (trusted as '{trust}'): {}\n", counts(&own));
        let rows: Vec<[String; 4]> = own.iter().map(|line| row(line)).collect();
        out.push_str(&columns(&["OPERATION", "DANGER", "DECISION", "WHY"], &rows));
        out.push('\n');
    }
    let all: Vec<&PolicyLine> = lines.iter().collect();
    let _ = writeln!(out, "{} operations: {}", all.len(), counts(&all));
    if !limits.is_empty() {
        let _ = writeln!(out, "\nWhat runs is counted, and refused beyond:");
        for limit in limits {
            let _ = writeln!(out, "  {limit}");
        }
    }
    out
}

/// How often, and how much, in words.
fn limits(settings: &QuotaSettings) -> Vec<String> {
    let rates = settings.rate_limit.iter().map(ToString::to_string);
    rates.chain(settings.quota.iter().map(ToString::to_string)).collect()
}

fn row(line: &PolicyLine) -> [String; 4] {
    let decision = match &line.strength {
        Some(strength) => format!("{} ({strength})", line.decision),
        None => line.decision.to_owned(),
    };
    // Danger and trust stand there already.
    let cell = format!(" for {} operations of {} sources", line.danger, line.trust);
    [line.operation.to_string(), line.danger.to_string(), decision, line.why.replace(&cell, "")]
}

fn counts(lines: &[&PolicyLine]) -> String {
    let count = |decision: &str| lines.iter().filter(|line| line.decision == decision).count();
    format!("{} run, {} ask first, {} are denied", count("allow"), count("confirm"), count("deny"))
}
