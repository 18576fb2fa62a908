//! `cargo xtask bench [PART…] [--update-docs]`: measures what a release build costs, beside the thing it is compared
//! with and in the same run, and prints one table.
//!
//! Times and memory are noisy, so servers take turns in short blocks and the table shows ratios. Instruction counts
//! are not noisy: they tell what a change has done. Nothing here fails because something is slow.

mod count;
mod databases;
mod docs;
mod gateway;
mod peers;
mod programs;
mod sql;
mod table;
mod tokens;
mod trips;

use anyhow::{Result, bail};

use crate::step::announce;
use databases::Databases;
use gateway::Gateways;
use peers::Peers;
use programs::Programs;
use table::Table;

/// What can be measured, in the order of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Stdio,
    Http,
    Count,
    Memory,
    Sql,
    Peers,
    Gateway,
    Tokens,
}

const PARTS: [(&str, Part); 8] = [
    ("stdio", Part::Stdio),
    ("http", Part::Http),
    ("count", Part::Count),
    ("memory", Part::Memory),
    ("sql", Part::Sql),
    ("peers", Part::Peers),
    ("gateway", Part::Gateway),
    ("tokens", Part::Tokens),
];

const USAGE: &str = "\
Usage: cargo xtask bench [PART...] [--update-docs]

Parts, all of them unless some are named:
  stdio     round trips over stdio, beside a bare echo server on the same SDK
  http      the same over HTTP
  count     instruction counts: the engine, catalogs of 10 to 10,000 operations, a call in the server (needs valgrind)
  memory    idle memory and start-up time
  sql       databases through the engine, beside the same SQL by hand; memory with large pages (needs PostgreSQL and valgrind)
  peers     databases over HTTP, beside PostGraphile and Datasette (needs PostgreSQL, Node.js and Python)
  gateway   upstreams through the gateway, beside the bare upstream, mcp-compressor, FastMCP and mcp-proxy; tokens
            (needs Node.js and Python)
  tokens    what a model pays for captured servers and the sample shop (needs nothing, no network either)

  --update-docs   write the tables into docs/performance.md and docs/tokens.md (goes with all parts, or with the gateway or
                  the tokens alone)";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--help") {
        println!("{USAGE}");
        return Ok(());
    }
    let (mut parts, update_docs) = chosen(arguments)?;
    if parts.contains(&Part::Tokens) {
        let text = tokens::measure()?;
        println!("\n{text}");
        if update_docs {
            docs::update(&text, &docs::TOKENS)?;
        }
        parts.retain(|part| *part != Part::Tokens);
        if parts.is_empty() {
            return Ok(());
        }
    }
    if parts.contains(&Part::Count) || parts.contains(&Part::Sql) {
        count::valgrind_is_there()?;
    }
    let peers = parts.contains(&Part::Peers).then(Peers::install).transpose()?;
    let gateways = parts.contains(&Part::Gateway).then(Gateways::install).transpose()?;
    let programs = Programs::build()?;
    let databases = (parts.contains(&Part::Sql) || peers.is_some()).then(|| Databases::make(&programs)).transpose()?;
    let mut table = Table::default();
    let mut gateway = Table::default();
    for (name, part) in PARTS.iter().filter(|(_, part)| parts.contains(part)) {
        announce(&format!("measure {name}"));
        if let (Part::Gateway, Some(gateways)) = (part, &gateways) {
            gateways.measure(&programs, &mut gateway)?;
            continue;
        }
        match (part, &databases, &peers) {
            (Part::Stdio, ..) => trips::round_trips(&programs, &programs::STDIO, &mut table)?,
            (Part::Http, ..) => trips::round_trips(&programs, &programs::HTTP, &mut table)?,
            (Part::Count, ..) => count::all(&programs, &mut table)?,
            (Part::Memory, ..) => trips::memory_and_start(&programs, &mut table)?,
            (Part::Sql, Some(databases), _) => sql::all(&programs, databases, &mut table)?,
            (Part::Peers, Some(databases), Some(peers)) => peers.measure(&programs, databases, &mut table)?,
            (Part::Sql | Part::Peers | Part::Gateway | Part::Tokens, ..) => bail!("nothing to measure {name} with"),
        }
    }
    for (table, block) in [(&table, &docs::ALL), (&gateway, &docs::GATEWAY)] {
        if table.is_empty() {
            continue;
        }
        println!("\n{table}");
        if update_docs {
            docs::update(&table.to_string(), block)?;
        }
    }
    if update_docs {
        docs::update_headline()?;
    }
    Ok(())
}

fn chosen(arguments: &[String]) -> Result<(Vec<Part>, bool)> {
    let mut parts = Vec::new();
    let mut update_docs = false;
    for argument in arguments {
        match PARTS.iter().find(|(name, _)| name == argument) {
            Some((_, part)) => parts.push(*part),
            None if argument == "--update-docs" => update_docs = true,
            None => bail!("bench does not know '{argument}'.\n\n{USAGE}"),
        }
    }
    if update_docs && !parts.is_empty() && parts != [Part::Gateway] && parts != [Part::Tokens] {
        bail!(
            "--update-docs goes with all parts, or with the gateway or the tokens alone: the figures of a table come from one run"
        );
    }
    if parts.is_empty() {
        parts.extend(PARTS.map(|(_, part)| part));
    }
    Ok((parts, update_docs))
}
