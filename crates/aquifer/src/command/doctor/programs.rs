//! This program, and others of the same name that a client might start instead.

use std::path::Path;
use std::process::{Command, Stdio};

use super::Finding;
use crate::system::programs_on_path;

const OWN_VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) fn check() -> Vec<Finding> {
    let Ok(own) = std::env::current_exe().and_then(|path| path.canonicalize()) else { return Vec::new() };
    let mut findings = vec![Finding::ok(own.display().to_string(), format!("aquifer {OWN_VERSION}"))];
    for other in programs_on_path("aquifer") {
        let is_own = other.canonicalize().is_ok_and(|path| path == own);
        if is_own {
            continue;
        }
        let shown = other.display().to_string();
        match version(&other) {
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

/// The version that a program prints.
fn version(program: &Path) -> Option<String> {
    let output = Command::new(program).arg("-V").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    let printed = String::from_utf8(output.stdout).ok()?;
    printed.trim().strip_prefix("aquifer ").map(|version| version.chars().take(40).collect())
}
