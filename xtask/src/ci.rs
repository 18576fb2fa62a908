//! `cargo xtask ci`: what every push must pass, the fastest checks first. `cargo xtask test --long` has the rest.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::check_dependencies;
use crate::dist;
use crate::mcp_conformance;
use crate::slim_build;
use crate::spec_conformance;
use crate::step::{self, announce, cargo};
use crate::test;

const SHOWN_STEPS: usize = 10;

pub(crate) fn run() -> Result<()> {
    let started = Instant::now();
    announce("format");
    step::run(
        &mut cargo(&["fmt", "--all", "--check"]),
        "Run: cargo fmt --all (rustfmt: rustup component add rustfmt)",
    )?;

    announce("lints");
    let mut clippy = cargo(&["clippy", "--all-targets", "--workspace", "--profile", "test", "--", "-D", "warnings"]);
    step::run(&mut clippy, "Fix the problems listed above (clippy: rustup component add clippy)")?;

    check_dependencies::check_declared()?;

    let install = || {
        spec_conformance::install()?;
        mcp_conformance::install()
    };
    // Most tests wait, so these builds cost little beside them.
    let beside = || {
        slim_build::check_smallest_beside()?;
        step::run_beside(
            &mut documentation(),
            &step::target().join("documentation.log"),
            "Fix the problems listed above.",
        )
    };
    test::run_with_others(install, beside)?;
    spec_conformance::run(&[])?;
    mcp_conformance::run(&[])?;
    if cfg!(target_os = "linux") {
        dist::check_archive()?;
    } else {
        announce("NOT CHECKED: packages are made on Linux");
    }
    announce(&format!("ci passed in {} s", started.elapsed().as_secs()));
    println!("The slowest steps, in seconds:");
    for (duration, name) in step::slowest(SHOWN_STEPS) {
        println!("  {:>5}  {name}", duration.as_secs());
    }
    Ok(())
}

/// The documentation of all crates, out of what the lints have checked already: without these options and variables, cargo
/// would choose other features of dependencies and check everything again.
fn documentation() -> Command {
    let options = ["--no-deps", "--workspace", "--lib", "--bins", "--examples", "--profile", "test"];
    let mut docs = cargo(&[&["doc"], &options[..]].concat());
    docs.env("RUSTDOCFLAGS", "-D warnings");
    let clippy =
        step::output("rustc", &["--print", "sysroot"]).map(|root| Path::new(root.trim()).join("bin/clippy-driver"));
    if let Some(clippy) = clippy.filter(|driver| driver.exists()) {
        docs.env("RUSTC_WORKSPACE_WRAPPER", clippy);
        docs.env("CLIPPY_ARGS", "-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    }
    docs
}
