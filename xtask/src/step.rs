//! One step of a task: a line that announces it, a command, and what to do when it fails.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

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

/// Like [`run`], and copies what the command prints to a file.
pub(crate) fn run_copied(command: &mut Command, file: &Path, remedy: &str) -> Result<()> {
    let line = line_of(command);
    let mut copy = File::create(file).with_context(|| format!("cannot make {}", file.display()))?;
    let mut other_copy = copy.try_clone()?;
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.with_context(|| format!("cannot start '{line}'. {remedy}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let other = scope.spawn(|| pass_on(err, &mut std::io::stderr(), &mut other_copy));
        pass_on(out, &mut std::io::stdout(), &mut copy)?;
        other.join().unwrap_or_else(|_| bail!("what '{line}' printed was not copied"))
    })?;
    let status = child.wait()?;
    if !status.success() {
        bail!("'{line}' ended with {status}.\n{remedy}");
    }
    Ok(())
}

/// Shows what comes as it comes, and copies it.
fn pass_on(from: Option<impl Read>, shown: &mut impl Write, copy: &mut File) -> Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let mut piece = [0; 8192];
    loop {
        let read = from.read(&mut piece)?;
        let Some(piece) = piece.get(..read).filter(|piece| !piece.is_empty()) else { return Ok(()) };
        shown.write_all(piece)?;
        shown.flush()?;
        copy.write_all(piece)?;
    }
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
