//! Builds without optional backends: with none of them, and with each alone.

use std::process::Command;

use anyhow::Result;

use crate::step::{self, announce, cargo};

const OPTIONAL: [&str; 6] = ["postgres", "redis", "conformance", "gateway", "rest", "tokens"];

const REMEDY: &str = "An optional backend is one module with a replacement: see ARCHITECTURE.md, \"Features\".";

/// Checks the build with none of them, beside another step.
pub(crate) fn check_smallest_beside() -> Result<()> {
    step::run_beside(&mut lint("sqlite"), &step::target().join("slim-build.log"), REMEDY)
}

/// Checks and tests the build with none of them, and checks the builds with each.
pub(crate) fn check_all() -> Result<()> {
    announce("slim build: lints with each optional backend");
    for feature in OPTIONAL {
        step::run(&mut lint(&format!("sqlite,{feature}")), REMEDY)?;
    }
    announce("slim build: tests");
    step::run(&mut slim("test", "sqlite"), REMEDY)
}

fn lint(features: &str) -> Command {
    let mut clippy = slim("clippy", features);
    clippy.args(["--profile", "test", "--", "-D", "warnings"]);
    clippy
}

fn slim(command: &str, features: &str) -> Command {
    let mut cargo = cargo(&[command, "--package", "aquifer", "--no-default-features", "--features", features]);
    cargo.args(["--bins", "--test", "features"]);
    cargo
}
