//! Round trips, memory and start-up time of our server beside the echo server.

use anyhow::Result;

use super::programs::{Figures, HTTP, Programs, STDIO, Transport};
use super::table::{Aim, Row, Table};

/// What every round trip of ours is compared with.
pub(super) const ECHO: &str = "bare echo server";

/// A task to ask for.
pub(super) const PREPARE: &str = r#"{"operation":"create_task","params":{"title":"Water the plants"}}"#;

/// A small question with a small answer. The echo server answers with the question, which is of like size.
pub(super) const CALL: &str = r#"{"operation":"get_task","params":{"id":1}}"#;

/// A larger one: text that comes back twice, as MCP wants it (as text, and as structured content).
fn large_call() -> String {
    let words = "All the plants want water on every dry day. ".repeat(190);
    format!(r#"{{"operation":"create_task","params":{{"title":"{words}","dry_run":true}}}}"#)
}

pub(super) fn round_trips(programs: &Programs, transport: &Transport, table: &mut Table) -> Result<()> {
    let title = transport.title;
    let small = programs.client("round-trip", transport, &["--runs", "12", "--prepare", PREPARE, "--call", CALL])?;
    pair(table, &small, "p50_us", "ratio.p50", &format!("{title}: round trip, p50"), Aim::Ratio(1.3))?;
    pair(table, &small, "p99_us", "", &format!("{title}: round trip, p99"), Aim::None)?;
    pair(table, &small, "cpu_us", "ratio.cpu", &format!("{title}: server CPU of a call"), Aim::None)?;
    let large =
        programs.client("round-trip", transport, &["--runs", "6", "--calls", "200", "--call", &large_call()])?;
    pair(table, &large, "p50_us", "ratio.p50", &format!("{title}: round trip with 8 KB, p50"), Aim::None)
}

/// A row of both servers' figures. Without a ratio taken side by side it is that of the figures.
fn pair(table: &mut Table, figures: &Figures, unit: &str, ratio: &str, what: &str, aim: Aim) -> Result<()> {
    let ours = figures.get(&format!("0.{unit}"))?;
    let theirs = figures.get(&format!("1.{unit}"))?;
    let ratio = if ratio.is_empty() { ours / theirs } else { figures.get(ratio)? };
    let show = |value: f64| match unit {
        "resident_kb" => format!("{:.1} MB", value / 1024.0),
        "start_ms" => format!("{value:.1} ms"),
        _ => format!("{value:.1} µs"),
    };
    table.push(Row {
        what: what.to_owned(),
        ours: show(ours),
        compared: format!("{ECHO}: {}", show(theirs)),
        ratio: Some(ratio),
        aim,
    });
    Ok(())
}

pub(super) fn memory_and_start(programs: &Programs, table: &mut Table) -> Result<()> {
    const MAX_MB: f64 = 15.0;
    const MAX_MS: f64 = 50.0;
    for transport in [&STDIO, &HTTP] {
        let title = transport.title;
        let call = r#"{"operation":"list_tasks"}"#;
        let memory = programs.client("memory", transport, &["--runs", "9", "--call", call])?;
        let aim = Aim::at_most("15 MB", memory.get("0.resident_kb")? / 1024.0 <= MAX_MB);
        pair(table, &memory, "resident_kb", "ratio.resident", &format!("{title}: idle memory, one call done"), aim)?;
        let start = programs.client("start", transport, &["--runs", "25"])?;
        let aim = Aim::at_most("50 ms", start.get("0.start_ms")? <= MAX_MS);
        pair(table, &start, "start_ms", "ratio.start", &format!("{title}: start to first answer"), aim)?;
    }
    Ok(())
}
