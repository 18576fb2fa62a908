//! Processes of the checks: all have a timeout, an environment of their own, and their costs are measured.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::step::output;

/// How long any command may take, in seconds. Only creating a Debian system takes long.
const TIMEOUT: &str = "240";
/// How long a server may take to start or to stop.
const SERVER_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Clock ticks per second in /proc, the same on all Linux systems.
const TICKS_PER_SECOND: f64 = 100.0;

/// The time that something took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Cost {
    /// Seconds on the clock.
    pub(crate) elapsed: f64,
    /// Seconds of processors, in all processes together.
    pub(crate) processor: f64,
}

impl std::ops::Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { elapsed: self.elapsed + other.elapsed, processor: self.processor + other.processor }
    }
}

/// Measures what a function and the processes it waits for take.
pub(crate) fn measured<T>(run: impl FnOnce() -> Result<T>) -> Result<(T, Cost)> {
    let (started, before) = (Instant::now(), processor_seconds()?);
    let result = run()?;
    Ok((result, Cost { elapsed: started.elapsed().as_secs_f64(), processor: processor_seconds()? - before }))
}

/// The processor time of all ended children, and theirs.
fn processor_seconds() -> Result<f64> {
    let text = fs::read_to_string("/proc/self/stat").context("/proc is not mounted")?;
    // The name of the process, in parentheses, can contain spaces.
    let (_, fields) = text.rsplit_once(')').context("/proc/self/stat is not readable")?;
    let ticks: u32 = fields.split_whitespace().skip(13).take(2).filter_map(|field| field.parse::<u32>().ok()).sum();
    Ok(f64::from(ticks) / TICKS_PER_SECOND)
}

/// A command with a timeout. It gets none of our environment but the path.
pub(crate) fn bounded(program: impl AsRef<OsStr>, environment: &Environment) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", TIMEOUT]).arg(program);
    environment.apply(&mut command);
    command
}

/// Runs a command and returns what it prints. Its output is shown only if it fails.
pub(crate) fn run(command: &mut Command) -> Result<String> {
    let (code, text) = run_for_code(command)?;
    ensure!(code == Some(0), "{} ended with {code:?}:\n{}", shown(command), tail(&text));
    Ok(text)
}

/// Runs a command and returns its exit code and what it prints.
pub(crate) fn run_for_code(command: &mut Command) -> Result<(Option<i32>, String)> {
    let done = command.stdin(Stdio::null()).output().with_context(|| format!("{} does not start", shown(command)))?;
    let text = [done.stdout, done.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    Ok((done.status.code(), text))
}

pub(crate) fn shown(command: &Command) -> String {
    command.get_args().skip(2).map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// The end of a text, for messages.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines.get(lines.len().saturating_sub(20)..).unwrap_or_default().join("\n")
}

/// Where a check installs: an empty folder with a home, a state directory and a folder for temporary files.
#[derive(Debug, Clone)]
pub(crate) struct Environment {
    pub(crate) folder: PathBuf,
}

impl Environment {
    pub(crate) fn new(folder: PathBuf) -> Result<Self> {
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        for name in ["home", "tmp"] {
            fs::create_dir_all(folder.join(name)).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        Ok(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn apply(&self, command: &mut Command) {
        let path = std::env::var_os("PATH").unwrap_or_default();
        command.env_clear().env("PATH", path).env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
        command
            .env("HOME", self.path("home"))
            .env("TMPDIR", self.path("tmp"))
            .env("XDG_STATE_HOME", self.path("state"));
        command.current_dir(self.path("home"));
    }
}

/// A running `aquifer demo`, or another server that says where it listens.
pub(crate) struct RunningServer {
    child: Child,
    log: PathBuf,
}

impl RunningServer {
    /// Starts a server without a timeout of its own: it is killed when this is dropped.
    pub(crate) fn start(words: &[String], environment: &Environment) -> Result<Self> {
        let (program, arguments) = words.split_first().context("no program")?;
        let log = environment.path("tmp").join("server.log");
        let file = File::create(&log)?;
        let mut command = Command::new(program);
        environment.apply(&mut command);
        command.args(arguments).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("{program} does not start"))?;
        Ok(Self { child, log })
    }

    /// Waits until the server says where it listens.
    pub(crate) fn url(&mut self) -> Result<String> {
        let deadline = Instant::now() + SERVER_TIMEOUT;
        loop {
            let text = fs::read_to_string(&self.log)?;
            let url = text.lines().find_map(|line| {
                let (_, rest) = line.split_once("http://")?;
                let (authority, _) = rest.split_once("/mcp")?;
                Some(format!("http://{authority}/mcp"))
            });
            if let Some(url) = url {
                return Ok(url);
            }
            if self.child.try_wait()?.is_some() || Instant::now() > deadline {
                bail!("the server does not say where it listens:\n{}", tail(&text));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks the server to end, as supervisors do, and waits until it has.
    pub(crate) fn stop(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        output("kill", &["-TERM", &id]).context("the server cannot be asked to end")?;
        let deadline = Instant::now() + SERVER_TIMEOUT;
        loop {
            if let Some(status) = self.child.try_wait()? {
                let text = fs::read_to_string(&self.log)?;
                ensure!(status.success(), "the server ended with {status}:\n{}", tail(&text));
                fs::remove_file(&self.log)?;
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the server does not end when it is asked to");
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        // Fails if it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Words of a command line.
pub(crate) fn words<'a>(prefix: &[String], rest: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    prefix.iter().cloned().chain(rest.into_iter().map(str::to_owned)).collect()
}

/// A path as a word of a command line.
pub(crate) fn word(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
