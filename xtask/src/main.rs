//! Developer tasks, as `cargo xtask TASK`.
//!
//! Each task says what it does in lines that begin with `==>`, and when a step fails, what to do about it. A task
//! never leaves anything out in silence: what it cannot do here, it names.

#![allow(clippy::print_stdout, reason = "talking is what a command-line tool does")]

mod applications;
mod bench;
mod ci;
mod clients;
mod conformance;
mod fuzz;
mod install;
mod keeper;
mod mcp_conformance;
mod postgres;
mod redis;
mod servers;
mod soak;
mod step;
mod system;
mod test;
mod tools;

use std::process::ExitCode;

const HELP: &str = "\
Developer tasks

Usage: cargo xtask TASK [ARGUMENT...]

Tasks:
  test [ARG...]     Install and start what the tests need, run all of them; arguments go to the test runner
  ci                Everything a change must pass: format, lints, dependencies, docs, test, mcp-conformance
  fuzz [SECONDS]    Run every fuzz target for so long, 60 seconds unless told (needs a nightly toolchain)
  bench [ARG...]    Measure, and print ratios
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

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (task, rest) = match arguments.split_first() {
        Some((task, rest)) => (task.as_str(), rest),
        None => ("help", [].as_slice()),
    };
    let outcome = match task {
        "test" => test::run(rest),
        "ci" => ci::run(),
        "fuzz" => fuzz::run(rest),
        "bench" => bench::run(rest),
        "conformance" => conformance::run(rest),
        "mcp-conformance" => mcp_conformance::run(rest),
        "applications" => applications::run(rest),
        "soak" => soak::run(rest),
        "postgres" => postgres::run(),
        "redis" => redis::run(),
        "help" | "--help" | "-h" => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        unknown => {
            eprintln!("There is no task '{unknown}'.\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("\nFailed: {problem:#}");
            ExitCode::FAILURE
        }
    }
}
