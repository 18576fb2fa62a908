//! Makes upstreams of a real `aquifer serve` misbehave, round after round, while a healthy one is called.
//!
//! Usage: bench-soak AQUIFER SERVER.PY ROUNDS MINUTES [FAULT…]
//!
//! Every fault has its own gateway with several faulty upstreams, and all run at once, because most of the time is
//! spent waiting. A fault ends after the given number of rounds or minutes. Progress goes to stderr; the tables are
//! printed as JSON. Fails if any result is not as expected.

mod client;
mod faults;
mod faulty_upstream;
mod gateway;
mod healthy;
mod process_scan;
mod results;
mod runner;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use faults::{FAULTS, Fault};
use results::FaultResults;

/// The settings that all faults share.
pub(crate) struct Plan {
    aquifer: PathBuf,
    script: PathBuf,
    rounds: usize,
    deadline: Instant,
}

const USAGE: &str = "usage: bench-soak AQUIFER SERVER.PY ROUNDS MINUTES [FAULT…]";

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [aquifer, script, rounds, minutes, names @ ..] = arguments.as_slice() else { bail!(USAGE) };
    let minutes: u64 = minutes.parse().context(USAGE)?;
    let plan = Plan {
        aquifer: aquifer.into(),
        script: script.into(),
        rounds: rounds.parse().context(USAGE)?,
        deadline: Instant::now() + Duration::from_secs(minutes * 60),
    };
    let chosen: Vec<&Fault> =
        FAULTS.iter().filter(|fault| names.is_empty() || names.iter().any(|name| name == fault.name)).collect();
    if chosen.is_empty() {
        bail!("no such fault: {}", names.join(" "));
    }
    let outcomes = std::thread::scope(|scope| {
        let running: Vec<_> =
            chosen.iter().map(|fault| (fault.name, scope.spawn(|| runner::run_fault(fault, &plan)))).collect();
        let ended = running.into_iter().map(|(name, thread)| match thread.join() {
            Ok(results) => results.with_context(|| format!("fault '{name}'")),
            Err(_) => bail!("fault '{name}' panicked"),
        });
        ended.collect::<Vec<anyhow::Result<FaultResults>>>()
    });
    // A problem with one fault must not hide the results of the others.
    let all_results: Vec<&FaultResults> = outcomes.iter().flatten().collect();
    print(&results::tables(&all_results));
    let problems: Vec<String> = all_results.iter().flat_map(|results| results.problems()).collect();
    outcomes.into_iter().collect::<anyhow::Result<Vec<_>>>()?;
    ensure!(problems.is_empty(), "problems were found:\n{}", problems.join("\n"));
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the tables are the result of this program")]
fn print(tables: &serde_json::Value) {
    println!("{tables}");
}
