//! Developer tasks, as `cargo xtask TASK`.
//!
//! Each task announces its steps in lines that begin with `==>`. If a step fails, it says what to do. A task never
//! skips anything silently: it reports what it cannot do here.

#![allow(clippy::print_stdout, reason = "a command-line tool prints its output")]

mod agentdojo;
mod applications;
mod bench;
mod check_dependencies;
mod check_targets;
mod ci;
mod conformance;
mod disposable_server;
mod dist;
mod docs_site;
mod fuzz;
mod install;
mod mcp_conformance;
mod postgres;
mod redis;
mod slim_build;
mod soak;
mod spec_conformance;
mod step;
mod tau2;
mod test;
mod zig;

use std::process::ExitCode;

use anyhow::Result;

const HELP: &str = "\
Developer tasks

Usage: cargo xtask TASK [ARGUMENT...]

Tasks:
  test [ARG...]     Install and start the requirements of the tests and run them; arguments go to the test runner.
                    --long adds what takes too long for every push
  ci                What every push must pass: format, lints, dependencies, docs, test, both conformance suites, archive
  fuzz [SECONDS]    Run every fuzz target, for 60 seconds by default (needs a nightly toolchain)
  bench [ARG...]    Run the benchmarks and print ratios
  figures           Update the tables in docs from the data files in bench/figures, without measuring
  commands          Update docs/commands.md from the definitions of the command line
  docs-site [DIR]   Write the documentation as a folder of HTML files
  dist [ARG...]     Build packages (npm, Python, Debian, container and others), and check them with --check
  check-dependencies  Check licences, sources and known vulnerabilities of all dependencies with cargo-deny
  check-targets     Check that the program compiles for Windows and macOS, without linking or running it
  conformance [ARG] Run the conformance runner on our own servers and check its reports
  spec-conformance  Run the specification's own runner on evidence of our servers (MCPAQL_SPEC_DIR names a checkout)
  mcp-conformance   Run the MCP project's own conformance suite on Aquifer as a server and as a client
  applications [NAME]  Serve databases of real applications from PyPI and npm, and compare them with SQL
  agentdojo [ARG...]  Replay AgentDojo through the gateway: which attacks reach their effect, what people are asked
  tau2 [ARG...]     Replay τ²-bench through the gateway, and compare it with plain Python
  soak [ARG...]     Make upstreams of the gateway misbehave 1,000 times each, and look for leaks
  postgres          Start a disposable PostgreSQL like that of the tests, print its URL and run it until Ctrl-C
  redis             The same for Redis
  help              Print this

Examples:
  cargo xtask test                       all tests
  cargo xtask test --test clients        the tests of one file
  cargo xtask fuzz 300                   five minutes for each target

Tasks install their requirements in target/clients, target/servers, target/applications, target/mcp-conformance,
target/tau2, target/agentdojo, target/dist and target/tools. These folders can be deleted; they are created again when needed.

The tests need Node.js, Python, openssl, and the PostgreSQL and Redis servers. If run as root on a system with apt, xtask
installs them. It starts a PostgreSQL and a Redis for the tests and always stops them afterwards. To use your own servers
instead, set AQUIFER_TEST_POSTGRES to a URL such as postgres://USER:PASSWORD@HOST:PORT/DATABASE, and AQUIFER_TEST_REDIS to
one such as redis://:PASSWORD@HOST:PORT.";

/// A task: its name, its own help text if any, and its function.
type Task = (&'static str, Option<&'static str>, fn(&[String]) -> Result<()>);

const TASKS: [Task; 19] = [
    ("test", Some(test::USAGE), test::run),
    ("ci", Some(HELP), |_| ci::run()),
    ("fuzz", Some(HELP), fuzz::run),
    ("bench", Some(bench::USAGE), bench::run),
    ("figures", Some(HELP), |_| aquifer_report::update_pages()),
    ("commands", Some(HELP), |_| docs_site::update_commands()),
    ("docs-site", Some(docs_site::USAGE), docs_site::run),
    ("dist", Some(dist::USAGE), dist::run),
    ("check-dependencies", Some(HELP), check_dependencies::run),
    ("check-targets", Some(check_targets::USAGE), check_targets::run),
    ("conformance", Some(conformance::USAGE), conformance::run),
    ("spec-conformance", Some(spec_conformance::USAGE), spec_conformance::run),
    ("mcp-conformance", Some(mcp_conformance::USAGE), mcp_conformance::run),
    ("applications", Some(applications::USAGE), applications::run),
    ("agentdojo", Some(agentdojo::USAGE), agentdojo::run),
    ("tau2", Some(tau2::USAGE), tau2::run),
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
