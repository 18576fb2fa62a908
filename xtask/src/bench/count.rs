//! Instruction counts. A program is run with K and with 2K iterations; the difference divided by K is what one
//! iteration costs, and what building the catalog and starting up cost cancels out.

use std::process::Command;

use anyhow::{Context, Result, bail};

use super::programs::{HTTP, Programs, STDIO, Server, Transport, printed};
use super::table::{Aim, Row, Table, thousands};
use super::trips::{CALL, ECHO, PREPARE};
use crate::step::output;

/// Sizes of catalogs. What costs the same for all of them is flat.
const SIZES: [u32; 3] = [10, 1_000, 10_000];

/// Hash maps are seeded at random, which moves counts by a percent.
const FLAT: f64 = 1.1;

pub(super) fn valgrind_is_there() -> Result<()> {
    if output("valgrind", &["--version"]).is_none() {
        bail!(
            "instruction counts need valgrind, and there is none. Install it (apt install valgrind, \
             dnf install valgrind, …), or measure the rest: cargo xtask bench stdio http memory peers"
        );
    }
    Ok(())
}

/// Counts of the engine, then of whole calls in the server.
pub(super) fn all(programs: &Programs, table: &mut Table) -> Result<()> {
    engine(programs, table)?;
    gate(programs, table)?;
    let requests = scenario(programs, "requests", 10, 20_000)?;
    let arguments = scenario(programs, "arguments", 10, 20_000)?;
    by_size(programs, table, "route + validate", "check", 40_000, requests, Aim::Ratio(FLAT))?;
    by_size(programs, table, "misspelt name, with suggestions", "unknown", 10, requests, Aim::None)?;
    by_size(programs, table, "call through the engine", "call", 30_000, arguments, Aim::Ratio(FLAT))?;
    by_size(programs, table, "cached introspection list", "list", 40_000, 0.0, Aim::Ratio(FLAT))?;
    by_size(programs, table, "the same list as text and value", "list-rendered", 100, 0.0, Aim::None)?;
    for transport in [&STDIO, &HTTP] {
        let ours = call(programs, Server::Ours, transport)?;
        let echo = call(programs, Server::Echo, transport)?;
        let what = format!("{}: a call in the server", transport.title);
        table.push(row(what, ours, ECHO, echo, Aim::None));
    }
    Ok(())
}

fn engine(programs: &Programs, table: &mut Table) -> Result<()> {
    let engine = scenario(programs, "engine", 1, 20_000)?;
    for (name, other) in [("direct", "its method alone"), ("by-hand", "method, with params and answer as JSON")] {
        let count = scenario(programs, name, 1, 20_000)?;
        table.push(row("handler called through the engine".to_owned(), engine, other, count, Aim::None));
    }
    let [engine, by_hand] = times(programs, ["engine", "by-hand"])?;
    table.push(Row {
        what: "the same as time".to_owned(),
        ours: format!("{engine:.0} ns"),
        compared: format!("method, with params and answer as JSON: {by_hand:.0} ns"),
        ratio: Some(engine / by_hand),
        aim: Aim::None,
    });
    Ok(())
}

/// What the gate adds to a call that it lets pass.
fn gate(programs: &Programs, table: &mut Table) -> Result<()> {
    const MAX_COUNT: f64 = 10_000.0;
    let bare = scenario(programs, "engine", 1, 20_000)?;
    for (name, what) in [("gated", "no limits"), ("gated-limited", "memory store, two limits")] {
        let gated = scenario(programs, name, 1, 20_000)?;
        let aim = Aim::at_most("10,000 more", gated - bare <= MAX_COUNT);
        table.push(row(format!("a gated call that is allowed, {what}"), gated, "the same call ungated", bare, aim));
    }
    Ok(())
}

/// One row for each size; `besides` is what the scenario does besides what is counted.
fn by_size(
    programs: &Programs,
    table: &mut Table,
    what: &str,
    name: &str,
    iterations: u32,
    besides: f64,
    aim: Aim,
) -> Result<()> {
    let mut smallest = None;
    for size in SIZES {
        let count = scenario(programs, name, size, iterations)? - besides;
        let what = format!("{what}, {} operations", thousands(f64::from(size)));
        table.push(match smallest {
            None => Row { what, ours: instructions(count), compared: String::new(), ratio: None, aim: Aim::None },
            Some(first) => row(what, count, "10 operations", first, aim),
        });
        smallest.get_or_insert(count);
    }
    Ok(())
}

pub(super) fn row(what: String, ours: f64, compared: &str, other: f64, aim: Aim) -> Row {
    Row {
        what,
        ours: instructions(ours),
        compared: format!("{compared}: {}", instructions(other)),
        ratio: Some(ours / other),
        aim,
    }
}

fn instructions(count: f64) -> String {
    format!("{} instructions", thousands(count))
}

/// Instructions of one iteration of a scenario.
fn scenario(programs: &Programs, name: &str, size: u32, iterations: u32) -> Result<f64> {
    difference(iterations, |iterations, wrapper| {
        let mut command = wrapped(wrapper)?;
        command.arg(programs.program("bench-count")).args([name, &size.to_string(), &iterations.to_string()]);
        printed(&mut command).map(drop)
    })
}

/// Instructions of one call in a server, from the bytes that arrive to those that leave.
fn call(programs: &Programs, server: Server, transport: &Transport) -> Result<f64> {
    difference(1_000, |calls, wrapper| {
        let calls = calls.to_string();
        let options = ["--calls", &calls, "--prepare", PREPARE, "--call", CALL];
        programs.calls(server, transport, &options, wrapper)
    })
}

/// Instructions of one question to a database, ours or by hand, without those of a database's own server.
pub(super) fn question(programs: &Programs, target: &str, side: &str, name: &str) -> Result<f64> {
    difference(200, |calls, wrapper| {
        let mut command = wrapped(wrapper)?;
        command.arg(programs.program("bench-sql")).args(["calls", target, side, name, &calls.to_string()]);
        printed(&mut command).map(drop)
    })
}

/// Nanoseconds of one iteration of two scenarios that take turns, the medians of several runs.
fn times(programs: &Programs, names: [&str; 2]) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..15 {
        for (name, times) in names.iter().zip(&mut times) {
            let text = printed(Command::new(programs.program("bench-count")).args([*name, "1", "100000"]))?;
            times.push(text.trim().parse::<f64>()?);
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    }))
}

fn wrapped(wrapper: &[String]) -> Result<Command> {
    let (program, arguments) = wrapper.split_first().context("nothing to count with")?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn difference(iterations: u32, run: impl Fn(u32, &[String]) -> Result<()>) -> Result<f64> {
    let log = std::env::temp_dir().join(format!("aquifer-bench-{}.log", std::process::id()));
    let wrapper = [
        "valgrind".to_owned(),
        "--tool=cachegrind".to_owned(),
        "--cache-sim=no".to_owned(),
        "--cachegrind-out-file=/dev/null".to_owned(),
        format!("--log-file={}", log.display()),
    ];
    let count = |iterations| {
        run(iterations, &wrapper)?;
        let text = std::fs::read_to_string(&log).context("valgrind left no log")?;
        counted(&text).with_context(|| format!("valgrind counted nothing:\n{text}"))
    };
    let difference = count(2 * iterations)? - count(iterations)?;
    std::fs::remove_file(&log)?;
    Ok(difference / f64::from(iterations))
}

/// The number in `==123== I   refs:      456,789`.
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
