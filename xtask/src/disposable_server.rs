//! Disposable servers for the tests, each with its own files, port and password. They are independent of any server
//! that is already running on the machine, and end with the task that started them.
//!
//! A small shell script controls each server. It stops the server and deletes its files when the pipe from this process
//! closes, which happens however this process ends, including Ctrl-C and SIGKILL. A signal handler would miss SIGKILL,
//! and asking the kernel to kill the server with its parent would leave the files behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::step::announce;

/// A free port may be taken before the server starts, so there are some to fall back on.
const PORTS: usize = 3;

/// A script that runs a server until its standard input closes.
pub(crate) struct DisposableServer {
    name: &'static str,
    script: Child,
    /// The words after `ready`, which the script prints once the server accepts connections.
    pub(crate) ready_words: Vec<String>,
}

impl DisposableServer {
    /// The command that runs a script, given as text. The caller adds arguments.
    pub(crate) fn command(script: &str) -> Command {
        let mut command = Command::new("sh");
        // The text instead of the file, because the server's user may not be able to read or enter the workspace.
        command.args(["-c", script, "keeper"]).current_dir("/");
        // A separate process group, so that the script survives a Ctrl-C or a kill of our group and can clean up.
        command.process_group(0);
        // Error messages are in English, and on macOS some servers do not start under every locale.
        command.env("LC_ALL", "C");
        command
    }

    /// Starts the server and waits until it is ready.
    pub(crate) fn start(name: &'static str, mut command: Command, password: &str) -> Result<Self> {
        let script = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot start 'sh'")?;
        // From here on, dropping this ends the script, whatever fails.
        let mut server = Self { name, script, ready_words: Vec::new() };
        let pipes = (server.script.stdin.as_mut(), server.script.stdout.as_mut());
        let (Some(input), Some(output)) = pipes else { bail!("the script that runs {name} has no pipes") };
        writeln!(input, "{password}")
            .with_context(|| format!("the script that runs {name} does not read its input"))?;
        let mut output = BufReader::new(output);
        let mut said = String::new();
        output.read_line(&mut said)?;
        if let Some(words) = said.strip_prefix("ready ") {
            let words = words.split_whitespace().map(str::to_owned).collect();
            server.ready_words = words;
            return Ok(server);
        }
        output.read_to_string(&mut said)?;
        bail!("{name} does not start. The end of its log:\n{}", said.trim_end());
    }

    /// Keeps the server running until it, or this process, is ended.
    pub(crate) fn wait(&mut self) -> Result<()> {
        // Waiting would close the input unless it is taken.
        let _held = self.script.stdin.take();
        let status = self.script.wait()?;
        bail!("{} was stopped: its script ended with {status}", self.name);
    }
}

impl Drop for DisposableServer {
    fn drop(&mut self) {
        // Closes the script's input first, which makes it end.
        if let Err(problem) = self.script.wait() {
            eprintln!("{} may still be running: {problem}", self.name);
        }
    }
}

/// A server for the tests: either a disposable one that stops when this is dropped, or the developer's own.
pub(crate) struct Service {
    /// The environment variable with the server's URL. If the developer has set it, the tests use that server.
    variable: &'static str,
    started: Option<(String, DisposableServer)>,
}

impl Service {
    pub(crate) fn provide(variable: &'static str, start: fn() -> Result<(String, DisposableServer)>) -> Result<Self> {
        let is_given = std::env::var_os(variable).is_some_and(|url| !url.is_empty());
        if is_given {
            announce(&format!("use the server in {variable}"));
        }
        Ok(Self { variable, started: if is_given { None } else { Some(start()?) } })
    }

    pub(crate) fn url(&self) -> Result<String> {
        match &self.started {
            Some((url, _)) => Ok(url.clone()),
            None => std::env::var(self.variable).with_context(|| format!("{} is not text", self.variable)),
        }
    }

    /// The environment variable to add for the tests, unless it is already set.
    pub(crate) fn environment(&self) -> Option<(&'static str, &str)> {
        self.started.as_ref().map(|(url, _)| (self.variable, url.as_str()))
    }
}

/// Runs a server for experiments, or for running one test repeatedly.
pub(crate) fn run(variable: &str, start: fn() -> Result<(String, DisposableServer)>) -> Result<()> {
    let (url, mut server) = start()?;
    println!("{variable}={url}");
    announce("Ctrl-C stops the server and deletes its files");
    server.wait()
}

/// Free ports, all different because all are held until the last one is found.
pub(crate) fn free_ports() -> Result<Vec<String>> {
    let bind = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let held = (0..PORTS).map(|_| bind()).collect::<Result<Vec<_>, _>>().context("127.0.0.1 has no free port")?;
    held.iter().map(|listener| Ok(listener.local_addr()?.port().to_string())).collect()
}

/// A random password.
pub(crate) fn password() -> Result<String> {
    let mut bytes = [0; 16];
    let random = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    random.context("cannot create a password from /dev/urandom")?;
    // Hexadecimal, so that it needs no escaping in a URL.
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
