//! `cargo xtask test`: installs what the tests need, then runs every test there is.

use std::process::Command;

use anyhow::Result;

use crate::clients;
use crate::step::{self, announce, cargo, output};

/// The tests that need more than Rust. Plain `cargo test` leaves them out and does not list them.
pub(crate) const EVERYTHING: [&str; 3] = ["--workspace", "--features", "aquifer/clients"];

const REMEDY: &str = "The failures are listed above. One test alone: cargo xtask test NAME";

pub(crate) fn run(filter: &[String]) -> Result<()> {
    let environment = clients::install()?;
    let mut tests = runner();
    tests.args(EVERYTHING).args(filter).envs(environment);
    step::run(&mut tests, REMEDY)?;
    if !filter.is_empty() {
        announce("examples in the documentation: left out, as tests were chosen by name");
        return Ok(());
    }
    announce("examples in the documentation");
    step::run(&mut cargo(&["test", "--doc", "--workspace"]), "The failing examples are listed above.")?;
    announce("all tests passed");
    Ok(())
}

fn runner() -> Command {
    if output("cargo-nextest", &["nextest", "--version"]).is_some() {
        announce("tests (cargo nextest)");
        return cargo(&["nextest", "run", "--no-fail-fast"]);
    }
    announce("tests (cargo test: cargo-nextest is not installed)");
    cargo(&["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"])
}
