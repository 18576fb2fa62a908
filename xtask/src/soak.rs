//! `cargo xtask soak [--rounds N] [--minutes M] [--calls N] [--update-docs] [FAULT…] [gate]`: makes upstreams of a real
//! `aquifer serve` misbehave, round after round, while a healthy one is called all the time; and makes the store of a
//! gate fail while calls are gated.
//!
//! Fails if there was a leak, a wrong answer or no recovery. Durations are shown but never cause a failure.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use aquifer_report::{Table, update_pages};
use serde_json::{Value, json};

use crate::redis;
use crate::step::{announce, build, cargo, output, root};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask soak [--rounds N] [--minutes M] [--calls N] [--update-docs] [FAULT...] [gate]

Makes upstreams of a real gateway misbehave while healthy ones are called. Faults (all, and the gate, by default):
  killed    killed during a call        hanging   hangs forever          garbage  writes garbage to stdout
  huge      answers with 50 MB          exiting   exits at startup       changing changes its tools
  moving    restarts on another port

Also makes the gate's store fail while calls are confirmed (needs Redis):
  gate      Redis killed and restarted, disk full, file read-only, slow

  --rounds N      rounds of each fault; default 1,000
  --minutes M     maximum duration; default 60. The report shows how many rounds were run
  --debug         use debug builds, for a short run that proves behaviour and not figures
  --calls N       gated calls for each fault of the store; default 10,000
  --update-docs   write the figures to bench/figures and docs/soak.md (only for a full run, or for the gate alone)";

const FAULTS: [&str; 7] = ["killed", "hanging", "garbage", "huge", "exiting", "changing", "moving"];
/// Faults of the gate's store.
const STORES: [&str; 4] = ["redis", "full", "read-only", "slow"];
/// The tests of the gate. They verify the results; here they run with more calls, and their figures become a table.
const GATE_TESTS: &str = "faults::r_saf_6_gated_calls_while";

struct Plan {
    rounds: u32,
    /// All faults run at once. On an idle machine they take a third of this.
    minutes: u32,
    calls: u32,
    update_docs: bool,
    is_debug: bool,
    faults: Vec<String>,
    gate: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let plan = parse(arguments)?;
    if !plan.faults.is_empty() || !plan.gate {
        upstreams(&plan)?;
    }
    if plan.faults.is_empty() || plan.gate {
        gate(&plan)?;
    }
    if plan.update_docs { update_pages() } else { Ok(()) }
}

fn upstreams(plan: &Plan) -> Result<()> {
    if output("python3", &["--version"]).is_none() {
        bail!("the upstreams are written in Python, and there is no python3. Install it and start again.");
    }
    let programs = build(!plan.is_debug)?;
    announce(&format!("{} rounds of each fault, {} minutes at most", plan.rounds, plan.minutes));
    let mut soak = programs.bench("bench-soak");
    soak.arg(programs.path("aquifer")).arg(root().join("crates/aquifer-upstream/tests/upstream/server.py"));
    soak.args([plan.rounds.to_string(), plan.minutes.to_string()]).args(&plan.faults);
    // Inherited by the gateways, so that their memory is measured without what the allocator keeps for later.
    soak.env("MIMALLOC_PURGE_DELAY", "0").stderr(Stdio::inherit());
    let done = soak.output().context("cannot start bench-soak")?;
    let report: Value = serde_json::from_slice(&done.stdout).context("bench-soak left no report")?;
    for name in ["outcome", "healthy", "resources"] {
        let mut table = Table::rows(serde_json::from_value(report.get(name).cloned().unwrap_or_default())?);
        if name == "outcome" {
            table = table.with(&format!("with `--rounds {} --minutes {}`", plan.rounds, plan.minutes));
        }
        table.print()?;
        if plan.update_docs && done.status.success() {
            table.write(&format!("soak-{name}"))?;
        }
    }
    if !done.status.success() {
        bail!("bench-soak ended with {}; the problems are listed above", done.status);
    }
    Ok(())
}

/// Makes this many gated calls for each fault of the store. The tests fail if a call was executed that should not have
/// been.
fn gate(plan: &Plan) -> Result<()> {
    redis::require()?;
    announce(&format!("{} gated calls for each fault of the store", plan.calls));
    let mut tests = cargo(&["test", "--workspace", "--test", "gate"]);
    tests.args([GATE_TESTS, "--", "--nocapture"]);
    tests.env("AQUIFER_TEST_GATED_CALLS", plan.calls.to_string());
    let done = tests.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&done.stdout);
    if !done.status.success() {
        bail!("the tests failed or did not run: {}\n{text}", done.status);
    }
    let table = Table::rows(gate_rows(&text, plan.calls)?).with(&format!("with `--calls {}`", plan.calls));
    table.print()?;
    if plan.update_docs { table.write("soak-gate") } else { Ok(()) }
}

/// Parses the figures that the tests print: `gate.FAULT.FIGURE`, a tab and a number. Fails if a fault has no figures,
/// so that an untested fault is not taken for a passed one.
fn gate_rows(text: &str, calls: u32) -> Result<Vec<Vec<Value>>> {
    let mut titles = vec![json!("store")];
    let mut rows = Vec::new();
    for store in STORES {
        let prefix = format!("gate.{store}.");
        let figures = text.lines().filter_map(|line| line.strip_prefix(&prefix)?.split_once('\t'));
        let figures: Vec<(&str, u64)> = figures.filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect();
        if !figures.iter().any(|(name, value)| *name == "calls" && *value >= calls.into()) {
            bail!("no figures for '{store}'");
        }
        titles.truncate(1);
        titles.extend(figures.iter().map(|(name, _)| json!(name)));
        rows.push(std::iter::once(json!(store)).chain(figures.iter().map(|(_, value)| json!(value))).collect());
    }
    rows.insert(0, titles);
    Ok(rows)
}

fn parse(arguments: &[String]) -> Result<Plan> {
    let mut plan = Plan {
        rounds: 1_000,
        minutes: 60,
        calls: 10_000,
        update_docs: false,
        is_debug: false,
        faults: Vec::new(),
        gate: false,
    };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().with_context(|| format!("{word} needs a number.\n\n{USAGE}"))?;
            value.parse::<u32>().with_context(|| format!("{word}: not a number: {value}"))
        };
        match word.as_str() {
            "--rounds" => plan.rounds = number()?,
            "--debug" => plan.is_debug = true,
            "--minutes" => plan.minutes = number()?,
            "--calls" => plan.calls = number()?,
            "--update-docs" => plan.update_docs = true,
            "gate" => plan.gate = true,
            fault if FAULTS.contains(&fault) => plan.faults.push(fault.to_owned()),
            other => bail!("unknown argument '{other}'.\n\n{USAGE}"),
        }
    }
    if plan.update_docs && (plan.is_debug || !plan.faults.is_empty()) {
        bail!(
            "--update-docs needs a full run or the gate alone, because the figures of docs/soak.md come from one run"
        );
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_without_figures_is_an_error() -> Result<()> {
        let figures = |store: &str| format!("gate.{store}.calls\t7\ngate.{store}.faults\t2\n");
        let whole = format!("running 4 tests\n{}test faults ... ok\n", STORES.map(figures).concat());
        let rows = gate_rows(&whole, 7)?;
        assert_eq!(rows.first(), Some(&vec![json!("store"), json!("calls"), json!("faults")]));
        assert_eq!(rows.last(), Some(&vec![json!("slow"), json!(7), json!(2)]));
        assert!(gate_rows(&whole, 8).is_err());
        assert!(gate_rows(&whole.replace("gate.slow", "gate.other"), 7).is_err());
        Ok(())
    }
}
