//! Clients nobody here wrote, against the built binary: the official TypeScript and Python SDKs, at every protocol
//! revision the server speaks, over stdio and HTTP; and servers nobody here wrote behind it. What each client does and
//! checks stands in `tests/clients`, the servers in `tests/servers`.
//!
//! `cargo xtask test` installs both, says in the environment where they are, and turns on the feature that lets these
//! tests exist. Plain `cargo test` does not list them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod confirm;
mod everything;
mod process;
mod rest;
#[path = "../binary/support/shop/mod.rs"]
#[allow(dead_code, reason = "the tests of the binary use more of it")]
mod shop;
mod tasks;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use process::Process;

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

impl Client {
    fn command<const N: usize>(self, hold: bool, mode: &str, server: [&str; N]) -> Command {
        let interpreter = std::env::var_os(self.interpreter)
            .unwrap_or_else(|| panic!("{} is not set. Run these tests with: cargo xtask test", self.interpreter));
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/clients");
        let mut command = Command::new(interpreter);
        command.arg(scripts.join(self.script)).args(hold.then_some("--hold")).arg(self.revision).arg(mode).args(server);
        command.stdin(Stdio::piped()).env("XDG_STATE_HOME", state());
        command
    }
}

/// A place for what outlives a process, of each its own: what one caller is granted in a minute is not another's.
fn state() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("clients-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Something served over HTTP, on a port of its own.
struct Server {
    url: String,
    _process: Process,
}

impl Server {
    fn start<const N: usize>(served: [&str; N]) -> Self {
        let mut command = Command::new(AQUIFER);
        command.args(["serve", "--http", "127.0.0.1:0"]).args(served).stdin(Stdio::null());
        command.env("XDG_STATE_HOME", state());
        Self::from_command(command)
    }

    fn from_command(command: Command) -> Self {
        let mut process = Process::start(command);
        let url =
            process.line("it tells its address", |line| Some(line.split_once("serves MCP-AQL at ")?.1.to_owned()));
        Self { url, _process: process }
    }
}
