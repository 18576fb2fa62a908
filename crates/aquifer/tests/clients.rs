//! Clients nobody here wrote, against the built binary: the official TypeScript and Python SDKs, at every protocol
//! revision the server speaks, over stdio and HTTP. What each of them does and checks stands in `tests/clients`.
//!
//! `cargo xtask test` installs the SDKs, says in the environment where they are, and turns on the feature that lets
//! these tests exist. Plain `cargo test` does not list them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// How long any client may take. Far more than it needs: it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(120);

const AQUIFER: &str = env!("CARGO_BIN_EXE_aquifer");

/// A script of `tests/clients`, and the variable that names the program to run it with.
#[derive(Clone, Copy)]
struct Client {
    interpreter: &'static str,
    script: &'static str,
    revision: &'static str,
}

const fn client(interpreter: &'static str, script: &'static str, revision: &'static str) -> Client {
    Client { interpreter, script, revision }
}

const TYPESCRIPT_V1_2025_03_26: Client = client("AQUIFER_TEST_NODE", "sdk-v1.mjs", "2025-03-26");
const TYPESCRIPT_V1_2025_06_18: Client = client("AQUIFER_TEST_NODE", "sdk-v1.mjs", "2025-06-18");
const TYPESCRIPT_V1_2025_11_25: Client = client("AQUIFER_TEST_NODE", "sdk-v1.mjs", "2025-11-25");
const TYPESCRIPT_V2_2025_11_25: Client = client("AQUIFER_TEST_NODE", "sdk-v2.mjs", "2025-11-25");
const TYPESCRIPT_V2_2026_07_28: Client = client("AQUIFER_TEST_NODE", "sdk-v2.mjs", "2026-07-28");
const PYTHON_V1_2025_11_25: Client = client("AQUIFER_TEST_PYTHON_V1", "sdk_v1.py", "2025-11-25");
const PYTHON_V2_2025_11_25: Client = client("AQUIFER_TEST_PYTHON_V2", "sdk_v2.py", "2025-11-25");
const PYTHON_V2_2026_07_28: Client = client("AQUIFER_TEST_PYTHON_V2", "sdk_v2.py", "2026-07-28");

macro_rules! over_stdio_and_http {
    ($($name:ident: $client:expr;)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn stdio_semantic() {
                over_stdio($client, "semantic");
            }

            #[test]
            fn stdio_single() {
                over_stdio($client, "single");
            }

            #[test]
            fn http_semantic() {
                over_http($client, "semantic");
            }

            #[test]
            fn http_single() {
                over_http($client, "single");
            }
        }
    )*};
}

over_stdio_and_http! {
    typescript_v1_2025_03_26: TYPESCRIPT_V1_2025_03_26;
    typescript_v1_2025_06_18: TYPESCRIPT_V1_2025_06_18;
    typescript_v1_2025_11_25: TYPESCRIPT_V1_2025_11_25;
    typescript_v2_2025_11_25: TYPESCRIPT_V2_2025_11_25;
    typescript_v2_2026_07_28: TYPESCRIPT_V2_2026_07_28;
    python_v1_2025_11_25: PYTHON_V1_2025_11_25;
    python_v2_2025_11_25: PYTHON_V2_2025_11_25;
    python_v2_2026_07_28: PYTHON_V2_2026_07_28;
}

/// All are connected before the first goes on, so each works while every other connection stands.
#[test]
fn one_process_serves_every_revision_at_once() {
    let server = Server::start("semantic");
    let everybody = [
        TYPESCRIPT_V1_2025_03_26,
        TYPESCRIPT_V1_2025_11_25,
        TYPESCRIPT_V2_2026_07_28,
        PYTHON_V1_2025_11_25,
        PYTHON_V2_2026_07_28,
    ];
    let mut connected: Vec<Process> = everybody
        .iter()
        .map(|client| Process::start(client.command(true, "semantic", ["http", &server.url])))
        .collect();
    for client in &mut connected {
        client.line("it is connected", |line| (line == "holding").then_some(()));
    }
    for mut client in connected {
        client.release();
        client.passes();
    }
}

fn over_stdio(client: Client, mode: &str) {
    let server = ["stdio", AQUIFER, "serve", "tasks:", "--mode", mode];
    Process::start(client.command(false, mode, server)).passes();
}

fn over_http(client: Client, mode: &str) {
    let server = Server::start(mode);
    Process::start(client.command(false, mode, ["http", &server.url])).passes();
}

impl Client {
    fn command<const N: usize>(self, hold: bool, mode: &str, server: [&str; N]) -> Command {
        let interpreter = std::env::var_os(self.interpreter)
            .unwrap_or_else(|| panic!("{} is not set. Run these tests with: cargo xtask test", self.interpreter));
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
        let mut command = Command::new(interpreter);
        command.arg(scripts.join(self.script)).args(hold.then_some("--hold")).arg(self.revision).arg(mode).args(server);
        command.stdin(Stdio::piped());
        command
    }
}

/// The task board over HTTP, on a port of its own.
struct Server {
    url: String,
    _process: Process,
}

impl Server {
    fn start(mode: &str) -> Self {
        let mut command = Command::new(AQUIFER);
        command.args(["serve", "tasks:", "--http", "127.0.0.1:0", "--mode", mode]).stdin(Stdio::null());
        let mut process = Process::start(command);
        let url =
            process.line("it tells its address", |line| Some(line.split_once("speaks MCP-AQL at ")?.1.to_owned()));
        Self { url, _process: process }
    }
}

/// A process that ends with its owner, and what it has printed so far.
struct Process {
    child: Child,
    lines: Receiver<String>,
    printed: Vec<String>,
    deadline: Instant,
}

impl Process {
    fn start(mut command: Command) -> Self {
        let spawned = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = spawned.unwrap_or_else(|cause| panic!("{command:?} does not start: {cause}"));
        let (sender, lines) = channel();
        forward(child.stdout.take().expect("stdout is piped"), sender.clone());
        forward(child.stderr.take().expect("stderr is piped"), sender);
        Self { child, lines, printed: Vec::new(), deadline: Instant::now() + PATIENCE }
    }

    /// Waits for a line, on stdout or stderr, in which something is found.
    fn line<T>(&mut self, what: &str, find: impl Fn(&str) -> Option<T>) -> T {
        while let Some(line) = self.next_line(what) {
            if let Some(found) = find(&line) {
                return found;
            }
        }
        panic!("ended before {what}:\n{}", self.printed.join("\n"));
    }

    fn release(&mut self) {
        let stdin = self.child.stdin.as_mut().expect("stdin is piped");
        stdin.write_all(b"go on\n").expect("the client reads its stdin");
    }

    /// Waits for the end, which must be a success.
    fn passes(mut self) {
        while self.next_line("it ended").is_some() {}
        let status = self.child.wait().expect("a child can be waited for");
        assert!(status.success(), "{status}:\n{}", self.printed.join("\n"));
        let closed = self.printed.iter().any(|line| line == "ok - closed");
        assert!(closed, "it did not come to its last check:\n{}", self.printed.join("\n"));
    }

    fn next_line(&mut self, what: &str) -> Option<String> {
        match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                self.printed.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("timed out before {what}:\n{}", self.printed.join("\n")),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(from: impl Read + Send + 'static, to: Sender<String>) {
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                return;
            }
        }
    });
}
