//! Measures Aquifer and the programs it is compared with, and prints a table for each part.
//!
//! Usage: aquifer-bench [--update-docs|--quick] PART…
//!
//! `cargo xtask bench` runs it: the measured programs are in the same folder, AQUIFER_BENCH_HOME is a folder with the
//! installed peers, AQUIFER_BENCH_NODE is a Node.js for them, AQUIFER_TEST_POSTGRES is a server that may be filled,
//! AQUIFER_TEST_BROWSER and AQUIFER_TEST_CHROMIUM lead to the browser, and AQUIFER_BENCH_PACKAGED to
//! the binary of the packages.

mod captures;
mod client;
mod connection;
mod count;
mod descriptions;
mod explorer;
mod gateway;
mod load;
mod packaged;
mod rest;
mod round_trips;
mod sql;
mod tasks;
mod tokens;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};
use aquifer_report::{Table, update_pages};

use client::Plan;
use connection::Transport;
use sql::Databases;

fn main() -> anyhow::Result<()> {
    let (options, parts): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|word| word.starts_with('-'));
    let update_docs = options.iter().any(|option| option == "--update-docs");
    let is_quick = options.iter().any(|option| option == "--quick");
    let bench = Bench::new(is_quick)?;
    let needs_databases = parts.iter().any(|part| part == "sql" || part == "peers");
    let databases = needs_databases.then(|| Databases::fill(&bench)).transpose()?;
    for part in &parts {
        eprintln!("==> measure {part}");
        let figures = match (part.as_str(), &databases) {
            ("stdio", _) => round_trips::compare(&bench, Transport::Stdio)?,
            ("http", _) => round_trips::compare(&bench, Transport::Http)?,
            ("count", _) => count::compare(&bench)?,
            ("memory", _) => round_trips::memory_and_start(&bench)?,
            ("sql", Some(databases)) => databases.compare()?,
            ("peers", Some(databases)) => databases.peers()?,
            ("gateway", _) => gateway::compare(&bench)?,
            ("rest", _) => rest::compare(&bench)?,
            ("explorer", _) => explorer::compare(&bench)?,
            ("packaged", _) => packaged::compare(&bench)?,
            ("tokens" | "descriptions", _) => {
                let tables = if part == "tokens" { tokens::count(&bench)? } else { descriptions::survey(&bench)? };
                for (name, table) in tables {
                    report(name, &table, update_docs)?;
                }
                continue;
            }
            (unknown, _) => bail!("unknown part '{unknown}'"),
        };
        report(part, &Table::figures(figures), update_docs)?;
    }
    if update_docs { update_pages() } else { Ok(()) }
}

fn report(name: &str, table: &Table, update_docs: bool) -> anyhow::Result<()> {
    table.print()?;
    if update_docs { table.write(name) } else { Ok(()) }
}

/// The locations of programs and files.
struct Bench {
    /// The folder of the programs, all from the same build.
    programs: PathBuf,
    /// The folder for installed and generated files.
    home: PathBuf,
    node: String,
    /// The binary of the packages.
    packaged: String,
    /// Whether to repeat everything only a few times, to test the programs.
    is_quick: bool,
}

impl Bench {
    fn new(is_quick: bool) -> anyhow::Result<Self> {
        let own = std::env::current_exe()?;
        let home = std::env::var_os("AQUIFER_BENCH_HOME").context("use cargo xtask bench")?;
        let variable = |name: &str, otherwise: &str| std::env::var(name).unwrap_or_else(|_| otherwise.to_owned());
        Ok(Self {
            programs: own.parent().context("no folder of programs")?.to_owned(),
            home: home.into(),
            node: variable("AQUIFER_BENCH_NODE", "node"),
            packaged: variable("AQUIFER_BENCH_PACKAGED", "aquifer"),
            is_quick,
        })
    }

    fn program(&self, name: &str) -> String {
        self.programs.join(name).display().to_string()
    }

    /// The Python interpreter of a peer.
    fn python(&self, peer: &str) -> String {
        self.home.join(format!("bench-peers/python{peer}/venv/bin/python")).display().to_string()
    }

    fn echo(&self, transport: Transport) -> Vec<String> {
        match transport {
            Transport::Stdio => vec![self.program("bench-echo"), "--stdio".to_owned()],
            Transport::Http => vec![self.program("bench-echo"), "--http".to_owned(), "127.0.0.1:0".to_owned()],
        }
    }

    fn runs(&self, runs: usize) -> usize {
        if self.is_quick { 1 } else { runs }
    }

    fn plan(&self, runs: usize, blocks: usize, calls: usize) -> Plan {
        if self.is_quick { Plan { runs: 1, blocks: 2, calls: 20 } } else { Plan { runs, blocks, calls } }
    }
}

/// Runs a program and returns its output.
fn output_of(command: &[String]) -> anyhow::Result<String> {
    let (program, arguments) = command.split_first().context("no command")?;
    let output = Command::new(program).args(arguments).output().with_context(|| format!("cannot start {program}"))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("'{}' ended with {}:\n{}", command.join(" "), output.status, errors.trim());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Tokens of a text in `o200k_base`.
fn count_tokens(text: &str) -> anyhow::Result<usize> {
    Ok(tiktoken::get_encoding("o200k_base").context("no tokenizer")?.count(text))
}
