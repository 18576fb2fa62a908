//! Instruction counts. A program runs with K and with 2K iterations; the difference divided by K is the cost of one
//! iteration, which cancels out startup and building the catalog.

use anyhow::Context;
use aquifer_bench::statistics::median;
use aquifer_bench::words;
use aquifer_report::{Figure, quantity};

use crate::connection::{Target, Transport};
use crate::round_trips::{ECHO, servers, title};
use crate::{Bench, client, output_of};

/// Catalog sizes. A cost is flat if it is the same for all of them.
const SIZES: [u32; 3] = [10, 1_000, 10_000];
/// Maximum ratio of a flat cost. Hash maps are seeded randomly, which changes counts by about one percent.
const MAX_FLAT_RATIO: f64 = 1.1;
/// Maximum number of instructions that the gate may add to an allowed call.
const MAX_GATE_INSTRUCTIONS: f64 = 10_000.0;

pub(crate) fn compare(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let engine = scenario(bench, "engine", 1, 20_000)?;
    for (name, other) in [("direct", "its method alone"), ("by-hand", "method, with params and answer as JSON")] {
        let count = scenario(bench, name, 1, 20_000)?;
        figures.push(instructions("handler called through the engine", engine).compared_with(other, count));
    }
    let [time, by_hand] = times(bench, ["engine", "by-hand"])?;
    let time = Figure::new("the same as time", time, "ns");
    figures.push(time.compared_with("method, with params and answer as JSON", by_hand));
    for (name, what) in [("gated", "no limits"), ("gated-limited", "memory store, two limits")] {
        let gated = scenario(bench, name, 1, 20_000)?;
        let figure = instructions(format!("a gated call that is allowed, {what}"), gated);
        let limit = format!("≤ {} more", quantity(MAX_GATE_INSTRUCTIONS, ""));
        figures.push(
            figure.compared_with("the same call ungated", engine).aim(limit, gated - engine <= MAX_GATE_INSTRUCTIONS),
        );
    }
    let requests = scenario(bench, "requests", 10, 20_000)?;
    let arguments = scenario(bench, "arguments", 10, 20_000)?;
    // The cost of copying the input is subtracted.
    for (what, name, iterations, besides, is_flat) in [
        ("route + validate", "check", 40_000, requests, true),
        ("misspelt name, with suggestions", "unknown", 10, requests, false),
        ("call through the engine", "call", 30_000, arguments, true),
        ("cached introspection list", "list", 40_000, 0.0, true),
        ("the same list as text and value", "list-rendered", 100, 0.0, false),
    ] {
        let mut smallest = None;
        for size in SIZES {
            let count = scenario(bench, name, size, iterations)? - besides;
            let figure = instructions(format!("{what}, {} operations", quantity(f64::from(size), "")), count);
            figures.push(match smallest {
                None => figure,
                Some(first) if is_flat => figure.compared_with("10 operations", first).max_ratio(MAX_FLAT_RATIO),
                Some(first) => figure.compared_with("10 operations", first),
            });
            smallest.get_or_insert(count);
        }
    }
    for transport in [Transport::Stdio, Transport::Http] {
        let [ours, echo] = servers(bench, transport).map(|target| call(bench, &target));
        figures.push(
            instructions(format!("{}: a call in the server", title(transport)), ours?).compared_with(ECHO, echo?),
        );
    }
    Ok(figures)
}

pub(crate) fn instructions(name: impl Into<String>, count: f64) -> Figure {
    Figure::new(name, count, "instructions")
}

/// Instructions per iteration of a scenario.
fn scenario(bench: &Bench, name: &str, size: u32, iterations: u32) -> anyhow::Result<f64> {
    let size = if bench.is_quick { size.min(20) } else { size };
    difference(bench, iterations, |iterations, wrapper| {
        let command = words(&[&bench.program("bench-count"), name, &size.to_string(), &iterations.to_string()]);
        output_of(&[wrapper, command].concat()).map(drop)
    })
}

/// Instructions per call in a server, from the incoming to the outgoing bytes.
pub(crate) fn call(bench: &Bench, target: &Target) -> anyhow::Result<f64> {
    difference(bench, 1_000, |calls, wrapper| {
        let command = [wrapper, target.command.clone()].concat();
        client::calls(&Target { command, ..target.clone() }, calls as usize)
    })
}

/// Instructions per database query, through the engine or by hand, excluding those of a separate database server.
pub(crate) fn database_query(bench: &Bench, target: &str, side: &str, name: &str, calls: u32) -> anyhow::Result<f64> {
    difference(bench, calls, |calls, wrapper| {
        let command = words(&[&bench.program("bench-sql"), "calls", target, side, name, &calls.to_string()]);
        output_of(&[wrapper, command].concat()).map(drop)
    })
}

/// Nanoseconds per iteration of two scenarios that take turns, as the medians of several runs.
fn times(bench: &Bench, names: [&str; 2]) -> anyhow::Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..bench.runs(15) {
        for (name, times) in names.iter().zip(&mut times) {
            let text = output_of(&words(&[&bench.program("bench-count"), name, "1", "100000"]))?;
            times.push(text.trim().parse::<f64>()?);
        }
    }
    Ok(times.map(|times| median(&times)))
}

fn difference(
    bench: &Bench,
    iterations: u32,
    run: impl Fn(u32, Vec<String>) -> anyhow::Result<()>,
) -> anyhow::Result<f64> {
    let iterations = if bench.is_quick { iterations.div_ceil(100) } else { iterations };
    let log = std::env::temp_dir().join(format!("aquifer-bench-{}.log", std::process::id()));
    let mut wrapper = words(&["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    wrapper.push(format!("--log-file={}", log.display()));
    let count = |iterations| {
        run(iterations, wrapper.clone())?;
        let text = std::fs::read_to_string(&log).context("valgrind left no log")?;
        counted(&text).with_context(|| format!("valgrind counted nothing:\n{text}"))
    };
    let difference = count(2 * iterations)? - count(iterations)?;
    std::fs::remove_file(&log)?;
    Ok(difference / f64::from(iterations))
}

/// Parses the number in `==123== I   refs:      456,789`.
fn counted(log: &str) -> Option<f64> {
    let line = log.lines().find(|line| line.contains("refs:") && line.contains(" I "))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_read_from_the_log() {
        let log = "==7== Cachegrind\n==7== \n==7== I   refs:      2,166,550,712\n";
        assert_eq!(counted(log), Some(2_166_550_712.0));
        assert_eq!(counted("==7== nothing"), None);
    }
}
