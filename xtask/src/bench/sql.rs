//! SQL sources inside the engine, beside the same SQL by hand; memory of the server while large pages are answered.

use std::process::Command;

use anyhow::Result;

use super::count;
use super::databases::{Database, Databases};
use super::programs::{Figures, Programs, figures, printed};
use super::table::{Aim, Row, Table};

const HAND: &str = "SQL by hand";
/// A list by an indexed column of times, whatever their format, beside the same SQL.
const MAX_TIMES_RATIO: f64 = 2.0;

pub(super) fn all(programs: &Programs, databases: &Databases, table: &mut Table) -> Result<()> {
    for database in databases.all() {
        beside_sql(programs, database, table)?;
    }
    for database in databases.all() {
        instructions(programs, database, table)?;
    }
    for database in databases.all() {
        memory(programs, database, table)?;
    }
    Ok(())
}

fn beside_sql(programs: &Programs, database: &Database, table: &mut Table) -> Result<()> {
    let text = printed(Command::new(programs.program("bench-sql")).args(["compare", &database.target]))?;
    let figures = figures(&text)?;
    for (name, what, compared, most) in [
        ("list", "list 25 of 1,000,000", HAND, Some(1.25)),
        ("page_1000", "page 1,000", HAND, None),
        ("deep", "page 1,000", "page 1", Some(1.2)),
        ("group", "count by group", HAND, Some(1.1)),
        ("get", "get by key", HAND, Some(1.25)),
        ("get_bare", "get by key", "without an etag", None),
    ] {
        let what = format!("{}: {what}", database.title);
        let aim = most.map_or(Aim::None, Aim::Ratio);
        pair(table, &figures, name, "p50", &what, compared, aim)?;
        pair(table, &figures, name, "p99", &what, compared, Aim::None)?;
    }
    for (column, format) in database.time_columns {
        for (kind, what) in [("latest", "latest 25 of 1,000,000"), ("before", "25 before a time")] {
            let what = format!("{}: {what}, {format}", database.title);
            pair(table, &figures, &format!("{kind}_{column}"), "p50", &what, HAND, Aim::Ratio(MAX_TIMES_RATIO))?;
        }
    }
    Ok(())
}

fn pair(
    table: &mut Table,
    figures: &Figures,
    name: &str,
    share: &str,
    what: &str,
    compared: &str,
    aim: Aim,
) -> Result<()> {
    let ours = figures.get(&format!("{name}.0.{share}_us"))?;
    let other = figures.get(&format!("{name}.1.{share}_us"))?;
    // The medians have a ratio taken side by side.
    let ratio = if share == "p50" { figures.get(&format!("{name}.ratio"))? } else { ours / other };
    table.push(Row {
        what: format!("{what}, {share}"),
        ours: time(ours),
        compared: format!("{compared}: {}", time(other)),
        ratio: Some(ratio),
        aim,
    });
    Ok(())
}

/// What is not noisy: instructions of the process that asks, SQLite's among them, PostgreSQL's server's not.
fn instructions(programs: &Programs, database: &Database, table: &mut Table) -> Result<()> {
    for (name, what) in [("list", "list 25 of 1,000,000"), ("get", "get by key")] {
        let ours = count::question(programs, &database.target, "ours", name)?;
        let by_hand = count::question(programs, &database.target, "by-hand", name)?;
        table.push(count::row(format!("{}: {what}", database.title), ours, HAND, by_hand, Aim::None));
    }
    Ok(())
}

pub(super) fn time(microseconds: f64) -> String {
    match microseconds {
        short if short < 1_000.0 => format!("{short:.0} µs"),
        long => format!("{:.1} ms", long / 1_000.0),
    }
}

/// The largest page there is, of rows that hold 10 KB each.
const MAX_PAGE_SIZE: &str = r#"{"operation":"list_documents","params":{"first":100,"fields":"full"}}"#;

fn memory(programs: &Programs, database: &Database, table: &mut Table) -> Result<()> {
    const FLAT: f64 = 1.1;
    // Enough of them that every cache is full when the first storms are over.
    let figures = programs.load("memory", &["--requests", "400"], &[programs.mcp(MAX_PAGE_SIZE, &database.target)])?;
    let [before, one, many, again] =
        ["0.before_kb", "0.one_kb", "0.many_kb", "0.again_kb"].map(|name| figures.get(name));
    let (before, one, many, again) = (before?, one?, many?, again?);
    for (what, peak, compared, other, aim) in [
        ("one by one", one, "before", before, Aim::None),
        ("16 at once", many, "before", before, Aim::None),
        ("16 at once again", again, "the first time", many, Aim::Ratio(FLAT)),
    ] {
        table.push(Row {
            what: format!("{}: memory, 400 of the largest page, {what}", database.title),
            ours: size(peak),
            compared: format!("{compared}: {}", size(other)),
            ratio: Some(peak / other),
            aim,
        });
    }
    Ok(())
}

fn size(kilobytes: f64) -> String {
    format!("{:.1} MB", kilobytes / 1024.0)
}
