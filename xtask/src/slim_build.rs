//! Builds without optional backends: with none of them, and with each alone.

use std::process::Command;

use anyhow::Result;

use crate::step::{self, announce, cargo};

const OPTIONAL: [&str; 6] = ["postgres", "redis", "conformance", "gateway", "rest", "tokens"];

const REMEDY: &str = "An optional backend is one module with a replacement: see ARCHITECTURE.md, \"Features\".";

/// Checks the build with none of them.
pub(crate) fn check_smallest() -> Result<()> {
    announce("slim build: lints without optional backends");
    lint("sqlite")
}

/// Checks and tests the build with none of them, and checks the builds with each.
pub(crate) fn check_all() -> Result<()> {
    announce("slim build: lints with each optional backend");
    for feature in OPTIONAL {
        lint(&format!("sqlite,{feature}"))?;
    }
    announce("slim build: tests");
    step::run(&mut slim("test", "sqlite"), REMEDY)
}

fn lint(features: &str) -> Result<()> {
    step::run(slim("clippy", features).args(["--profile", "test", "--", "-D", "warnings"]), REMEDY)
}

fn slim(command: &str, features: &str) -> Command {
    let mut cargo = cargo(&[command, "--package", "aquifer", "--no-default-features", "--features", features]);
    cargo.args(["--bins", "--test", "features"]);
    cargo
}
