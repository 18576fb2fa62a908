//! Gated calls while the gate's store fails. The tests of `aquifer-gate` do it with a thousand calls for each fault and
//! judge what was done; here they do it with more, and their figures become a table.

use std::collections::HashMap;
use std::fmt;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::page;
use crate::redis;
use crate::step::{announce, cargo};

/// The tests that do it.
const TESTS: &str = "faults::r_saf_6_gated_calls_while";

/// Name, and what happens.
const FAULTS: [(&str, &str); 4] = [
    ("redis", "Redis killed and restarted"),
    ("full", "SQLite, the disk full"),
    ("read-only", "SQLite, the file out of reach, then read-only"),
    ("slow", "answers too late, then never"),
];

const COLUMNS: [(&str, &str); 10] = [
    ("calls", "gated calls"),
    ("faults", "faults"),
    ("executed", "executed"),
    ("refused", "refused meanwhile"),
    ("lost", "confirmed anew"),
    ("replays", "replays refused"),
    ("crossed", "crossed or forged, refused"),
    ("entries", "audit entries, whole"),
    ("max_ms", "longest call, ms"),
    ("seconds", "seconds"),
];

/// Makes so many gated calls for each fault. The tests fail if anything was executed that should not have been.
pub(super) fn run(calls: u32, update_docs: bool) -> Result<()> {
    redis::require()?;
    announce(&format!("{calls} gated calls for each fault of the store"));
    let mut tests = cargo(&["test", "--package", "aquifer-gate", "--features", "test-redis", "--test", "gate", TESTS]);
    tests.args(["--", "--nocapture"]).env("AQUIFER_TEST_GATED_CALLS", calls.to_string());
    let done = tests.stderr(Stdio::inherit()).output().context("cannot start cargo")?;
    let text = String::from_utf8_lossy(&done.stdout);
    let figures = Figures::read(&text);
    println!("\n{figures}");
    if !done.status.success() {
        bail!("something was not as it should be, or the tests did not run: {}\n{text}", done.status);
    }
    figures.are_complete(calls)?;
    if update_docs {
        let report = format!("Made by `cargo xtask soak gate --calls {calls} --update-docs`.\n\n{figures}\n");
        page::put("soak gate", &report)?;
    }
    Ok(())
}

/// By fault and figure.
struct Figures(HashMap<(String, String), u64>);

impl Figures {
    /// What the tests print among other things: `gate.FAULT.FIGURE`, a tab and a number.
    fn read(text: &str) -> Self {
        let figure = |line: &str| {
            let (name, value) = line.strip_prefix("gate.")?.split_once('\t')?;
            let (fault, figure) = name.split_once('.')?;
            Some(((fault.to_owned(), figure.to_owned()), value.parse().ok()?))
        };
        Self(text.lines().filter_map(figure).collect())
    }

    fn of(&self, fault: &str, figure: &str) -> Option<u64> {
        self.0.get(&(fault.to_owned(), figure.to_owned())).copied()
    }

    /// A fault that nobody tried must not pass for one that was endured.
    fn are_complete(&self, calls: u32) -> Result<()> {
        for (fault, what) in FAULTS {
            if self.of(fault, "calls").is_none_or(|made| made < calls.into()) {
                bail!("no figures for '{what}'");
            }
        }
        Ok(())
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| the store | {} |", COLUMNS.map(|(_, title)| title).join(" | "))?;
        writeln!(f, "|{}", "---|".repeat(COLUMNS.len() + 1))?;
        for (fault, what) in FAULTS {
            write!(f, "| {what} |")?;
            for (figure, _) in COLUMNS {
                match self.of(fault, figure) {
                    Some(value) => write!(f, " {value} |")?,
                    None => write!(f, " |")?,
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_without_figures_is_missed() {
        let whole: String = FAULTS.iter().map(|(name, _)| format!("gate.{name}.calls\t7\n")).collect();
        let figures = Figures::read(&format!("running 4 tests\n{whole}test faults ... ok\n"));
        assert!(figures.are_complete(7).is_ok());
        assert!(figures.are_complete(8).is_err());
        assert!(Figures::read(&whole.replace("gate.slow", "gate.other")).are_complete(7).is_err());
    }
}
