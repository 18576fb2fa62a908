//! Throw-away servers for the tests, each with files, a port and a password of its own. They have nothing to do with any
//! server the machine runs already, and do not outlive the task that started them.
//!
//! A server is in the hands of a small shell script, which stops it and deletes its files when the pipe from here closes.
//! That happens on every way out, Ctrl-C and SIGKILL included. A handler for signals would not see the latter, and asking
//! the kernel to kill the server along with us would leave the files.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step::announce;

/// Nobody holds a port between asking for a free one and the server's start, so there are some to fall back on.
const PORTS: usize = 3;

/// A script that keeps a server. Its standard input is what keeps the server running.
pub(crate) struct Keeper {
    name: &'static str,
    script: Child,
    /// What the script said of the server once that accepted connections.
    pub(crate) answer: Vec<String>,
}

impl Keeper {
    /// The command that starts a script by its text. The caller adds arguments.
    pub(crate) fn command(script: &str) -> Command {
        let mut command = Command::new("sh");
        // The text rather than the file: the user we become may not be able to read the workspace, nor to stand in it.
        command.args(["-c", script, "keeper"]).current_dir("/");
        // A Ctrl-C, or a kill of the whole group, is for us; the script must live on to clean up.
        command.process_group(0);
        // Programs that fail do so in English, and on macOS some servers do not start under every locale.
        command.env("LC_ALL", "C");
        command
    }

    /// Starts the server and waits until it is ready.
    pub(crate) fn start(name: &'static str, mut command: Command, password: &str) -> Result<Self> {
        let script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start 'sh'")?;
        // From here on the script is ended whatever fails.
        let mut keeper = Self { name, script, answer: Vec::new() };
        let pipes = (keeper.script.stdin.as_mut(), keeper.script.stdout.as_mut());
        let (Some(input), Some(output)) = pipes else { bail!("the script that keeps {name} has no pipes") };
        writeln!(input, "{password}").with_context(|| format!("the script that keeps {name} does not listen"))?;
        let mut output = BufReader::new(output);
        let mut said = String::new();
        output.read_line(&mut said)?;
        if let Some(answer) = said.strip_prefix("ready ") {
            let answer = answer.split_whitespace().map(str::to_owned).collect();
            keeper.answer = answer;
            return Ok(keeper);
        }
        output.read_to_string(&mut said)?;
        bail!("{name} does not start. The end of its log:\n{}", said.trim_end());
    }

    /// Keeps the server until something else ends it, or us.
    pub(crate) fn wait(&mut self) -> Result<()> {
        // Waiting closes the input, unless it is held elsewhere.
        let _held = self.script.stdin.take();
        let status = self.script.wait()?;
        bail!("something has stopped {}: its script ended with {status}", self.name);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Closes the script's input first, which tells it to end.
        if let Err(problem) = self.script.wait() {
            eprintln!("{} may still be running: {problem}", self.name);
        }
    }
}

/// A server for the tests: one that was started for them and stops when this is dropped, or the developer's own.
pub(crate) struct Service {
    /// Where the tests find the server. A developer who sets it has the tests use that server instead.
    variable: &'static str,
    started: Option<(String, Keeper)>,
}

impl Service {
    pub(crate) fn provide(variable: &'static str, start: fn() -> Result<(String, Keeper)>) -> Result<Self> {
        let is_given = std::env::var_os(variable).is_some_and(|url| !url.is_empty());
        if is_given {
            announce(&format!("use the server of {variable}"));
        }
        Ok(Self { variable, started: if is_given { None } else { Some(start()?) } })
    }

    pub(crate) fn url(&self) -> Result<String> {
        match &self.started {
            Some((url, _)) => Ok(url.clone()),
            None => std::env::var(self.variable).with_context(|| format!("{} is no text", self.variable)),
        }
    }

    /// What the environment of the tests must have in addition to ours.
    pub(crate) fn environment(&self) -> Option<(&'static str, &str)> {
        self.started.as_ref().map(|(url, _)| (self.variable, url.as_str()))
    }
}

/// A server to try things with, or to run one test again and again against.
pub(crate) fn run(variable: &str, start: fn() -> Result<(String, Keeper)>) -> Result<()> {
    let (url, mut keeper) = start()?;
    println!("{variable}={url}");
    announce("Ctrl-C stops the server and deletes its files");
    keeper.wait()
}

/// Ports that nobody uses, all different because all are held until the last is found.
pub(crate) fn free_ports() -> Result<Vec<String>> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = (0..PORTS).map(|_| bind()).collect::<Result<Vec<_>, _>>().context("127.0.0.1 has no free port")?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port().to_string())).collect()
}

/// A password that nobody knows.
pub(crate) fn password() -> Result<String> {
    let mut bytes = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.context("cannot make a password from /dev/urandom")?;
    // Hexadecimal, so that it stands in a URL as it is.
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
