//! `cargo xtask ci`: everything a change must pass, the quickest first.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::install::cargo_tool;
use crate::mcp_conformance;
use crate::step::{self, announce, cargo, root};
use crate::test::{self, EVERYTHING};

/// How long the advisory database may take to arrive.
const FETCH_TIMEOUT: Duration = Duration::from_secs(120);

pub(crate) fn run() -> Result<()> {
    let started = Instant::now();
    announce("format");
    step::run(
        &mut cargo(&["fmt", "--all", "--check"]),
        "Run: cargo fmt --all (rustfmt: rustup component add rustfmt)",
    )?;

    announce("lints");
    let mut clippy = cargo(&["clippy", "--all-targets"]);
    clippy.args(EVERYTHING).args(["--", "-D", "warnings"]);
    step::run(&mut clippy, "Mend what is listed above (clippy: rustup component add clippy)")?;

    slim_build()?;
    dependencies()?;

    announce("documentation");
    let mut docs = cargo(&["doc", "--no-deps", "--workspace"]);
    step::run(docs.env("RUSTDOCFLAGS", "-D warnings"), "Mend what is listed above.")?;

    test::run(&[])?;
    mcp_conformance::run(&[])?;
    announce(&format!("ci passed in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// Builds without optional backends: none of them, and each alone.
fn slim_build() -> Result<()> {
    let slim = |command: &str, features: &str| {
        let mut cargo = cargo(&[command, "--package", "aquifer", "--no-default-features", "--features", features]);
        cargo.args(["--bins", "--test", "features"]);
        cargo
    };
    announce("slim build: lints");
    let remedy = "A backend that can be left out is one module with a stand-in: see ARCHITECTURE.md, \"Features\".";
    step::run(slim("clippy", "sqlite").args(["--", "-D", "warnings"]), remedy)?;
    for feature in ["postgres", "redis", "conformance", "gateway", "rest", "tokens"] {
        step::run(slim("clippy", &format!("sqlite,{feature}")).args(["--", "-D", "warnings"]), remedy)?;
    }
    announce("slim build: tests");
    step::run(&mut slim("test", "sqlite"), remedy)
}

fn dependencies() -> Result<()> {
    let program = cargo_tool("cargo-deny", "0.20.2")?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command.args(arguments).current_dir(root());
        command
    };
    announce("dependencies: bans, licences, sources");
    let remedy = "deny.toml says what is allowed and why.";
    step::run(&mut deny(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]), remedy)?;

    announce("dependencies: known vulnerabilities");
    if !fetched(&mut deny(&["fetch", "db"]))? {
        announce("NOT CHECKED: the advisory database cannot be reached from here");
        return Ok(());
    }
    let remedy = "Update the crate, or list the advisory in deny.toml with the reason why it does not touch us.";
    step::run(&mut deny(&["check", "--disable-fetch", "advisories"]), remedy)
}

/// Whether the command succeeded in time. It is ended when it did not.
fn fetched(fetch: &mut Command) -> Result<bool> {
    let mut child = fetch.stdout(Stdio::null()).stderr(Stdio::null()).spawn().context("cargo-deny does not start")?;
    let deadline = Instant::now() + FETCH_TIMEOUT;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    child.kill()?;
    child.wait()?;
    Ok(false)
}
