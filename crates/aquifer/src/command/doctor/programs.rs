//! This program, and others of the same name that a client might start instead.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::Finding;
use crate::system::programs_on_path;

/// How long another program may take to print its version.
const VERSION_TIMEOUT: Duration = Duration::from_secs(3);
/// More is not a version.
const MAX_VERSION_BYTES: u64 = 1_000;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) async fn check() -> Vec<Finding> {
    let Ok(own) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return Vec::new() };
    let mut findings = vec![Finding::ok(own.display().to_string(), format!("aquifer {OWN_VERSION}"))];
    for other in programs_on_path("aquifer") {
        let is_own = other.canonicalize().is_ok_and(|path| path == own);
        if is_own {
            continue;
        }
        let shown = other.display().to_string();
        match version(&other).await {
            Some(version) if version == OWN_VERSION => findings.push(Finding::ok(shown, format!("aquifer {version}"))),
            Some(version) => {
                let message = format!("another version, {version}, is on the PATH; clients may start it instead");
                findings.push(Finding::problem(shown, message, "Remove it, or update it to the same version"));
            }
            None => {
                let message = "has the same name and is on the PATH, but is not Aquifer or does not run";
                findings.push(Finding::problem(shown, message, "Remove it, or put this program before it on the PATH"));
            }
        }
    }
    findings
}

/// The version that a program prints, unless it takes too long. The program is then killed.
async fn version(program: &Path) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("-V").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut started = command.spawn().ok()?;
    let mut printed = String::new();
    let reading = started.stdout.take()?.take(MAX_VERSION_BYTES);
    let read = tokio::time::timeout(VERSION_TIMEOUT, { reading }.read_to_string(&mut printed)).await;
    read.ok()?.ok()?;
    printed.trim().strip_prefix("aquifer ").map(|version| version.chars().take(40).collect())
}
