//! Runs one scenario a given number of times, to be counted from outside.
//!
//! Usage: bench-count SCENARIO OPERATIONS ITERATIONS
//!
//! Run it under an instruction counter with K and with 2K iterations: the difference divided by K is what one
//! iteration costs, because building the catalog cancels out. It prints the nanoseconds of one iteration, for runs
//! without a counter.

mod catalog;
mod gated;
mod scenario;
mod shelf;

use std::time::Instant;

use anyhow::{Context, bail};

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, operations, iterations] = arguments.as_slice() else {
        bail!("usage: bench-count SCENARIO OPERATIONS ITERATIONS; scenarios: {}", scenario::NAMES.join(", "));
    };
    let operations = operations.parse().context("OPERATIONS is not a number")?;
    let iterations = iterations.parse().context("ITERATIONS is not a number")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let nanoseconds = runtime.block_on(async {
        let prepared = scenario::prepare(scenario, operations).await?;
        // What is made on first use is made before anything is measured.
        prepared.run(1).await?;
        let started = Instant::now();
        prepared.run(iterations).await?;
        anyhow::Ok(started.elapsed().as_secs_f64() * 1e9 / f64::from(iterations.max(1)))
    })?;
    print(nanoseconds);
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figure is the result of this program")]
fn print(nanoseconds: f64) {
    println!("{nanoseconds:.1}");
}
