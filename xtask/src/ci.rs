//! `cargo xtask ci`: everything a change must pass, the fastest checks first.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::dist;
use crate::install::cargo_tool;
use crate::mcp_conformance;
use crate::spec_conformance;
use crate::step::{self, announce, cargo, root};
use crate::test::{self, ALL_TESTS};

/// How long fetching the advisory database may take.
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
    clippy.args(ALL_TESTS).args(["--", "-D", "warnings"]);
    step::run(&mut clippy, "Fix the problems listed above (clippy: rustup component add clippy)")?;

    slim_build()?;
    dependencies()?;

    announce("documentation");
    let mut docs = cargo(&["doc", "--no-deps", "--workspace"]);
    step::run(docs.env("RUSTDOCFLAGS", "-D warnings"), "Fix the problems listed above.")?;

    test::run(&[])?;
    spec_conformance::run(&[])?;
    mcp_conformance::run(&[])?;
    if cfg!(target_os = "linux") {
        dist::run(&["--check", "--quick"].map(str::to_owned))?;
    } else {
        announce("NOT CHECKED: packages are made on Linux");
    }
    announce(&format!("ci passed in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// Builds without optional backends: with none of them, and with each alone.
fn slim_build() -> Result<()> {
    let slim = |command: &str, features: &str| {
        let mut cargo = cargo(&[command, "--package", "aquifer", "--no-default-features", "--features", features]);
        cargo.args(["--bins", "--test", "features"]);
        cargo
    };
    announce("slim build: lints");
    let remedy = "An optional backend is one module with a replacement: see ARCHITECTURE.md, \"Features\".";
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
    let remedy = "deny.toml lists what is allowed and why.";
    step::run(&mut deny(&["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]), remedy)?;

    announce("dependencies: known vulnerabilities");
    if !fetched(&mut deny(&["fetch", "db"]))? {
        announce("NOT CHECKED: the advisory database cannot be reached from here");
        return Ok(());
    }
    let remedy = "Update the crate, or list the advisory in deny.toml with the reason why it does not affect us.";
    step::run(&mut deny(&["check", "--disable-fetch", "advisories"]), remedy)
}

/// Whether the command succeeded in time. It is killed on timeout.
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
