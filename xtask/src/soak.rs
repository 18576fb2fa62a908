//! `cargo xtask soak [--rounds N] [--minutes M] [--calls N] [--update-docs] [FAULT…|gate]`: upstreams that misbehave, round
//! after round, behind a real `aquifer serve`, with a healthy one beside each that is called all the while; and a gate
//! whose store fails while it is asked.
//!
//! Fails if anything leaked, was answered wrongly or did not recover. How long something took is shown, never judged.

mod gate;
mod page;
mod report;

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step::{announce, cargo, output, root, run as run_step, target};
use report::Report;

const ROUNDS: u32 = 1_000;
/// All faults run at once, on a quiet machine in a third of this.
const MINUTES: u32 = 60;
const CALLS: u32 = 10_000;

const USAGE: &str = "\
Usage: cargo xtask soak [--rounds N] [--minutes M] [--calls N] [--update-docs] [FAULT...] [gate]

Has upstreams of a real gateway misbehave while healthy ones beside them are called. Faults, all and
the gate unless some are named:
  killed    killed in mid-call          hanging   hangs for ever         garbage  writes garbage to stdout
  huge      answers with 50 MB          exiting   ends when it starts    changing changes its tools
  moving    restarts on another port

And has the store behind the gate fail while calls are confirmed (needs Redis):
  gate      Redis killed and restarted, disk full, file read-only, slow

  --rounds N      of each fault, 1,000 unless told
  --minutes M     the most it may take, 60 unless told; the report says how many rounds were done
  --calls N       gated calls for each fault of the store, 10,000 unless told
  --update-docs   write the report to docs/soak.md (goes with everything, or with the gate alone)";

struct Wish {
    rounds: u32,
    minutes: u32,
    calls: u32,
    update_docs: bool,
    faults: Vec<String>,
    gate: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let wish = read(arguments)?;
    if wish.faults.is_empty() && wish.gate {
        return gate::run(wish.calls, wish.update_docs);
    }
    upstreams(&wish)?;
    if wish.faults.is_empty() || wish.gate {
        gate::run(wish.calls, wish.update_docs)?;
    }
    Ok(())
}

fn upstreams(wish: &Wish) -> Result<()> {
    if output("python3", &["--version"]).is_none() {
        bail!("the upstreams are written in Python, and there is no python3. Install it and start again.");
    }
    announce("build with the dist profile");
    let mut build = cargo(&["build", "--profile", "dist", "--package", "aquifer", "--package", "aquifer-bench"]);
    build.args(["--bin", "aquifer", "--bin", "bench-soak"]);
    run_step(&mut build, "The build must succeed before anything can be tried.")?;

    announce(&format!("{} rounds of each fault, {} minutes at most", wish.rounds, wish.minutes));
    let programs = target().join("dist");
    let soak = Command::new(programs.join("bench-soak"))
        .arg(programs.join("aquifer"))
        .arg(root().join("crates/aquifer-upstream/tests/upstream/server.py"))
        .args([wish.rounds.to_string(), wish.minutes.to_string()])
        .args(&wish.faults)
        // The gateways inherit it: what is counted is what they hold, not what their allocator keeps for later.
        .env("MIMALLOC_PURGE_DELAY", "0")
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start bench-soak")?;
    let report = Report::read(&String::from_utf8_lossy(&soak.stdout))?;
    println!("\n{report}");
    if !soak.status.success() {
        bail!("bench-soak ended with {}; what it could tell stands above", soak.status);
    }
    if wish.update_docs {
        report.write(wish.rounds, wish.minutes)?;
    }
    report.judge()
}

fn read(arguments: &[String]) -> Result<Wish> {
    let mut wish =
        Wish { rounds: ROUNDS, minutes: MINUTES, calls: CALLS, update_docs: false, faults: Vec::new(), gate: false };
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        let mut number = || {
            let value = words.next().with_context(|| format!("{word} lacks its number.\n\n{USAGE}"))?;
            value.parse::<u32>().with_context(|| format!("{word}: not a number: {value}"))
        };
        match word.as_str() {
            "--rounds" => wish.rounds = number()?,
            "--minutes" => wish.minutes = number()?,
            "--calls" => wish.calls = number()?,
            "--update-docs" => wish.update_docs = true,
            "gate" => wish.gate = true,
            fault if report::FAULTS.iter().any(|(name, ..)| *name == fault) => wish.faults.push(fault.to_owned()),
            other => bail!("soak does not know '{other}'.\n\n{USAGE}"),
        }
    }
    if wish.update_docs && !wish.faults.is_empty() {
        bail!(
            "--update-docs goes with everything, or with the gate alone: the figures of docs/soak.md come from one run"
        );
    }
    Ok(wish)
}
