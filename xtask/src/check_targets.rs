//! `cargo xtask check-targets`: checks that the program compiles for systems on which it is not tested. Nothing is linked
//! or run.

use std::time::Instant;

use anyhow::{Result, bail, ensure};

use crate::step::{announce, cargo, output, run as run_step};
use crate::zig;

pub(crate) const USAGE: &str = "\
Usage: cargo xtask check-targets [TARGET...]

Checks with clippy that the program compiles for Windows and macOS. Zig, which is installed from PyPI, compiles the C code of
dependencies. Nothing is linked, run or tested. Without arguments, all targets that the toolchain has are checked; add one
with: rustup target add TARGET

Targets: x86_64-pc-windows-gnu, aarch64-apple-darwin, x86_64-apple-darwin";

/// The targets, and their names in Zig.
const TARGETS: [(&str, &str); 3] = [
    ("x86_64-pc-windows-gnu", "x86_64-windows-gnu"),
    ("aarch64-apple-darwin", "aarch64-macos"),
    ("x86_64-apple-darwin", "x86_64-macos"),
];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(unknown) = arguments.iter().find(|name| !TARGETS.iter().any(|(triple, _)| triple == name)) {
        bail!("there is no target '{unknown}' here.\n\n{USAGE}");
    }
    let started = Instant::now();
    let installed = output("rustup", &["target", "list", "--installed"]).unwrap_or_default();
    let is_installed = |triple: &str| installed.lines().any(|line| line == triple);
    let is_wanted = |triple: &str| arguments.is_empty() || arguments.iter().any(|name| name == triple);
    let mut checked = 0;
    for (triple, zig_target) in TARGETS.into_iter().filter(|(triple, _)| is_wanted(triple)) {
        if is_installed(triple) {
            check(triple, zig_target)?;
            checked += 1;
        } else {
            announce(&format!(
                "LEFT OUT: {triple}, because the toolchain does not have it. Run: rustup target add {triple}"
            ));
        }
    }
    announce("LEFT OUT: x86_64-pc-windows-msvc, whose C code needs Microsoft's headers. The Rust code is the same");
    ensure!(checked > 0, "nothing was checked");
    let seconds = started.elapsed().as_secs();
    announce(&format!("{checked} targets compile, checked in {seconds} s. Nothing was linked, run or tested there"));
    Ok(())
}

fn check(triple: &str, zig_target: &str) -> Result<()> {
    announce(&format!("check {triple}"));
    let mut clippy = cargo(&["clippy", "--locked", "--package", "aquifer", "--target", triple]);
    clippy.envs(zig::environment(triple, zig_target)?).args(["--", "-D", "warnings"]);
    run_step(&mut clippy, "What differs between systems belongs in `aquifer-system`: see ARCHITECTURE.md.")
}
