//! One step of a task: a line that announces it, a command, and what to do when it fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Announces what happens next.
pub(crate) fn announce(what: &str) {
    println!("==> {what}");
}

/// Runs a command to its end, showing what it prints. `remedy` tells what to do when it fails.
pub(crate) fn run(command: &mut Command, remedy: &str) -> Result<()> {
    let line = line_of(command);
    let status = command.status().with_context(|| format!("cannot start '{line}'. {remedy}"))?;
    if !status.success() {
        bail!("'{line}' ended with {status}.\n{remedy}");
    }
    Ok(())
}

/// What a program prints, if it is there and succeeds.
pub(crate) fn output(program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program.as_ref()).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// `cargo`, started in the workspace.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    command
}

/// The workspace.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_owned()
}

/// Where everything that is made goes.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(elsewhere) => root().join(elsewhere),
        None => root().join("target"),
    }
}

fn line_of(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
