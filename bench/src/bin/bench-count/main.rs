//! Runs one scenario a given number of times, to be counted from outside, and prints the nanoseconds per run.
//!
//! Usage: bench-count SCENARIO OPERATIONS ITERATIONS
//!
//! Run it under an instruction counter with K and with 2K iterations: the difference divided by K is the cost of one
//! iteration, because building the catalog cancels out.

mod bookshelf;
mod catalog;
mod gated;
mod scenario;

use anyhow::{Context, bail};

#[expect(clippy::print_stdout, reason = "the figure is the result of this program")]
fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, operations, iterations] = arguments.as_slice() else {
        bail!("usage: bench-count SCENARIO OPERATIONS ITERATIONS");
    };
    let operations = operations.parse().context("OPERATIONS is not a number")?;
    let iterations = iterations.parse().context("ITERATIONS is not a number")?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    println!("{:.1}", runtime.block_on(scenario::run(scenario, operations, iterations))?);
    Ok(())
}
