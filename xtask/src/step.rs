//! One step of a task: an announcement, a command, and advice if it fails.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
pub(crate) use aquifer_report::root;

/// Every step of this run, with its start.
static STEPS: Mutex<Vec<(String, Instant)>> = Mutex::new(Vec::new());

/// Announces what happens next.
pub(crate) fn announce(what: &str) {
    println!("==> {what}");
    STEPS.lock().unwrap_or_else(PoisonError::into_inner).push((what.to_owned(), Instant::now()));
}

/// The steps that have ended or are running, longest first.
pub(crate) fn slowest(count: usize) -> Vec<(Duration, String)> {
    let steps = STEPS.lock().unwrap_or_else(PoisonError::into_inner);
    let ends = steps.iter().skip(1).map(|(_, start)| *start).chain([Instant::now()]);
    let mut durations: Vec<_> =
        steps.iter().zip(ends).map(|((name, start), end)| (end.duration_since(*start), name.clone())).collect();
    durations.sort_by_key(|(duration, _)| std::cmp::Reverse(*duration));
    durations.truncate(count);
    durations
}

/// A child process that is killed when this is dropped.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The binary that the tests use.
pub(crate) fn aquifer() -> PathBuf {
    target().join("debug/aquifer")
}

/// Builds [`aquifer`] exactly as the tests do, with the features of their dependencies, so that nothing is built again.
pub(crate) fn build_aquifer() -> Result<()> {
    run(
        &mut cargo(&["test", "--quiet", "--no-run", "--workspace", "--test", "features"]),
        "Fix the problems listed above.",
    )
}

/// Runs a command to its end and shows its output. `remedy` is the advice if it fails.
pub(crate) fn run(command: &mut Command, remedy: &str) -> Result<()> {
    let line = line_of(command);
    let status = command.status().with_context(|| format!("cannot start '{line}'. {remedy}"))?;
    check(status, &line, remedy)
}

/// Like [`run`], for a command that runs beside another one: its output goes to a file, and is shown if it fails.
pub(crate) fn run_beside(command: &mut Command, file: &Path, remedy: &str) -> Result<()> {
    let line = line_of(command);
    let log = File::create(file).with_context(|| format!("cannot create {}", file.display()))?;
    let started = Instant::now();
    let status = command.stdout(log.try_clone()?).stderr(log).status();
    let status = status.with_context(|| format!("cannot start '{line}'. {remedy}"))?;
    if !status.success() {
        print!("{}", std::fs::read_to_string(file)?);
    }
    println!("==> beside: '{line}' took {} s", started.elapsed().as_secs());
    check(status, &line, remedy)
}

fn check(status: ExitStatus, line: &str, remedy: &str) -> Result<()> {
    if !status.success() {
        bail!("'{line}' ended with {status}.\n{remedy}");
    }
    Ok(())
}

/// Like [`run`], but also copies the output of the command to a file.
pub(crate) fn run_copied(command: &mut Command, file: &Path, remedy: &str) -> Result<()> {
    let line = line_of(command);
    let mut copy = File::create(file).with_context(|| format!("cannot create {}", file.display()))?;
    let mut other_copy = copy.try_clone()?;
    let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.with_context(|| format!("cannot start '{line}'. {remedy}"))?;
    let (out, err) = (child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        let other = scope.spawn(|| copy_output(err, &mut std::io::stderr(), &mut other_copy));
        copy_output(out, &mut std::io::stdout(), &mut copy)?;
        other.join().unwrap_or_else(|_| bail!("the output of '{line}' was not copied"))
    })?;
    check(child.wait()?, &line, remedy)
}

/// Shows output as it arrives, and copies it.
fn copy_output(from: Option<impl Read>, shown: &mut impl Write, copy: &mut File) -> Result<()> {
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

/// The output of a program, if it exists and succeeds.
pub(crate) fn output(program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program.as_ref()).args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// `cargo`, run in the workspace, as it is run by hand: the variables that cargo sets for this program make build scripts
/// run again, and everything that depends on them is built again.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    for (name, _) in std::env::vars_os() {
        let is_of_package = |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(is_of_package) {
            command.env_remove(name);
        }
    }
    command
}

/// The built program and the benchmarks.
pub(crate) struct Programs(PathBuf);

/// Builds everything with one run of cargo, whatever is measured, with the same versions and features, so that building
/// again for another part, or for the soak test, does nothing.
pub(crate) fn build(is_release: bool) -> Result<Programs> {
    let (profile, folder) = if is_release { ("release", "release") } else { ("dev", "debug") };
    announce(&format!("build with the {profile} profile"));
    let mut build = cargo(&["build", "--profile", profile, "--package", "aquifer", "--package", "aquifer-bench"]);
    run(&mut build, "The build must succeed before anything can be measured.")?;
    Ok(Programs(target().join(folder)))
}

impl Programs {
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn bench(&self, name: &str) -> Command {
        Command::new(self.path(name))
    }
}

/// The folder for all build output.
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
