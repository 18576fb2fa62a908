//! `cargo xtask fuzz [SECONDS]`: runs every fuzz target for a limited time.

use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::install::cargo_tool;
use crate::step::{self, announce, output, root};

const SECONDS: u32 = 60;
/// An input counts as a finding if it takes more than ten seconds or two gigabytes. Only totals are printed.
const LIMITS: [&str; 4] = ["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"];

/// Whether fuzzing is possible here.
pub(crate) fn is_available() -> bool {
    output("rustup", &["run", "nightly", "rustc", "--version"]).is_some()
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let seconds = match arguments {
        [] => SECONDS,
        [seconds] => seconds.parse().with_context(|| format!("'{seconds}' is not a number of seconds"))?,
        _ => bail!("usage: cargo xtask fuzz [SECONDS]"),
    };
    if !root().join("fuzz/Cargo.toml").is_file() {
        bail!("there is no fuzz/Cargo.toml, so there are no fuzz targets");
    }
    if !is_available() {
        bail!("fuzzing needs a nightly toolchain. Install one with: rustup toolchain install nightly");
    }
    let program = cargo_tool("cargo-fuzz", "0.13.1")?;
    let fuzz = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["run", "nightly"]).arg(&program).arg("fuzz").args(arguments).current_dir(root());
        // SQLite's amalgamation defines tables of the same name in several places, and the sample database
        // intentionally lives as long as the process.
        command.env("ASAN_OPTIONS", "detect_odr_violation=0:detect_leaks=0");
        command
    };
    let listed = fuzz(&["list"]).output().context("cargo-fuzz does not start")?;
    let listed = String::from_utf8(listed.stdout).context("cargo-fuzz lists targets that are not text")?;
    let targets: Vec<&str> = listed.split_whitespace().collect();
    if targets.is_empty() {
        bail!("cargo fuzz lists no targets; see fuzz/Cargo.toml");
    }
    for target in &targets {
        announce(&format!("fuzz {target} for {seconds} s"));
        let found = format!("fuzz/artifacts/{target}");
        let remedy = format!(
            "The input that did it is in {found}. Make it a test, mend the cause, then try it again with:\n  \
             cargo +nightly fuzz run {target} {found}/FILE"
        );
        let limit = format!("-max_total_time={seconds}");
        step::run(fuzz(&["run", target, "--", &limit]).args(LIMITS), &remedy)?;
    }
    announce(&format!("{} fuzz targets ran for {seconds} s each and found nothing", targets.len()));
    Ok(())
}
