//! Developer tasks, as `cargo xtask TASK`.
//!
//! Each task says what it does in lines that begin with `==>`, and when a step fails, what to do about it. A task
//! never leaves anything out in silence: what it cannot do here, it names.

#![allow(clippy::print_stdout, reason = "talking is what a command-line tool does")]

mod applications;
mod bench;
mod ci;
mod conformance;
mod fuzz;
mod install;
mod keeper;
mod mcp_conformance;
mod postgres;
mod redis;
mod soak;
mod step;
mod test;

use std::process::ExitCode;

use anyhow::Result;

const HELP: &str = "\
Developer tasks

Usage: cargo xtask TASK [ARGUMENT...]

Tasks:
  test [ARG...]     Install and start what the tests need, run all of them; arguments go to the test runner
  ci                Everything a change must pass: format, lints, dependencies, docs, test, mcp-conformance
  fuzz [SECONDS]    Run every fuzz target for so long, 60 seconds unless told (needs a nightly toolchain)
  bench [ARG...]    Measure, and print ratios
  figures           Rewrite the tables of docs from the data files in bench/figures, without measuring
  conformance [ARG] Run the conformance runner on our own servers, and write its reports
  mcp-conformance   Run the MCP project's own conformance suite on Aquifer as a server and as a client
  applications [NAME]  Serve databases of real applications from PyPI and npm, and compare with SQL
  soak [ARG...]     Have upstreams of the gateway misbehave 1,000 times each, and look for leaks
  postgres          Start a throw-away PostgreSQL as the tests have it, print its URL, keep it until Ctrl-C
  redis             The same with a Redis
  help              Print this

Examples:
  cargo xtask test                       all tests
  cargo xtask test --test clients        those of one file
  cargo xtask fuzz 300                   five minutes for each target

What tasks install stands in target/clients, target/servers, target/applications, target/mcp-conformance and target/tools; it is made again when it is deleted.

The tests need Node.js, Python, openssl, and the PostgreSQL and Redis servers: as root with apt they are installed. A
PostgreSQL and a Redis are started for the tests and end with them, or with xtask however that ends. With
AQUIFER_TEST_POSTGRES set, to a URL such as postgres://USER:PASSWORD@HOST:PORT/DATABASE, or AQUIFER_TEST_REDIS, to one
such as redis://:PASSWORD@HOST:PORT, the tests use that server and none is started.";

/// A task: its name, its own help if it has any, and what it does with its arguments.
type Task = (&'static str, Option<&'static str>, fn(&[String]) -> Result<()>);

const TASKS: [Task; 11] = [
    ("test", None, test::run),
    ("ci", Some(HELP), |_| ci::run()),
    ("fuzz", Some(HELP), fuzz::run),
    ("bench", Some(bench::USAGE), bench::run),
    ("figures", Some(HELP), |_| aquifer_report::update_pages()),
    ("conformance", Some(conformance::USAGE), conformance::run),
    ("mcp-conformance", Some(mcp_conformance::USAGE), mcp_conformance::run),
    ("applications", Some(applications::USAGE), applications::run),
    ("soak", Some(soak::USAGE), soak::run),
    ("postgres", Some(HELP), |_| postgres::run()),
    ("redis", Some(HELP), |_| redis::run()),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_help = |word: &str| ["help", "--help", "-h"].contains(&word);
    let Some((name, rest)) = arguments.split_first().filter(|(name, _)| !is_help(name)) else {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    };
    let Some((_, help, run)) = TASKS.iter().find(|(task, ..)| task == name) else {
        eprintln!("There is no task '{name}'.\n\n{HELP}");
        return ExitCode::from(2);
    };
    if let (Some(help), true) = (help, rest.iter().any(|word| is_help(word))) {
        println!("{help}");
        return ExitCode::SUCCESS;
    }
    match run(rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("\nFailed: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
