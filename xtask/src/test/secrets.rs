//! Searches the output of the tests and of their programs for secrets (R-SAF-3: tokens are never logged).

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use aquifer_protocol::secrets::holds_own_token;

use crate::step::{announce, root, target};

/// The output, kept until it has been searched.
pub(super) struct CapturedOutput {
    folder: PathBuf,
    report: PathBuf,
}

impl CapturedOutput {
    /// Deletes earlier output.
    pub(super) fn new() -> Result<Self> {
        // cargo-nextest writes below the workspace, regardless of the target directory.
        let report = root().join("target/nextest/default/junit.xml");
        let printed = Self { folder: target().join("test-output"), report };
        for stale in [&printed.folder, &printed.report] {
            let removed = if stale.is_dir() { std::fs::remove_dir_all(stale) } else { std::fs::remove_file(stale) };
            if stale.exists() {
                removed.with_context(|| format!("cannot remove {}", stale.display()))?;
            }
        }
        std::fs::create_dir_all(&printed.folder)
            .with_context(|| format!("cannot create {}", printed.folder.display()))?;
        Ok(printed)
    }

    /// The environment variable that makes tests copy the stderr of their servers to this folder.
    pub(super) fn environment(&self) -> (&'static str, OsString) {
        ("AQUIFER_TEST_OUTPUT", self.folder.clone().into())
    }

    /// The path of a file for copied output.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Fails if the output contains a token. With `report`, the report of cargo-nextest must exist.
    pub(super) fn search(&self, report: bool) -> Result<()> {
        let listed = std::fs::read_dir(&self.folder).context("the output of the servers is missing")?;
        let mut files = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        files.extend(report.then(|| self.report.clone()));
        let (mut bytes, mut tests) = (0, 0);
        for file in &files {
            let text = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
            let text = without_failed_tries(&String::from_utf8_lossy(&text));
            if let Some(line) = token_line(text.as_bytes()) {
                bail!("a confirmation or quota token was printed: {}, line {line}", file.display());
            }
            bytes += text.len();
            tests += text.matches("<testcase").count();
        }
        if report && tests == 0 {
            bail!("{} contains no tests", self.report.display());
        }
        announce(&format!("no token in {bytes} bytes of output: {} files", files.len()));
        Ok(())
    }
}

/// The report without what tests printed in a try that failed: it may be an answer with its token. Keeps the line numbers.
fn without_failed_tries(report: &str) -> String {
    const END: &str = "</flakyFailure>";
    let mut parts = report.split("<flakyFailure");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (failed, kept) = part.split_once(END).unwrap_or(("", part));
        rest.extend(failed.chars().filter(|character| *character == '\n'));
        rest.push_str(kept);
    }
    rest
}

/// The line of the first complete token of the gate. Other credentials do not count, because tests use fake ones.
fn token_line(text: &[u8]) -> Option<usize> {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.position(|line| holds_own_token(&String::from_utf8_lossy(line))).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The prefixes of tokens.
    const PREFIXES: [&str; 3] = ["conf_", "confirm_", "quota_continue_"];
    /// 256 bits in base64.
    const LENGTH: usize = 43;
    const BITS: &str = "q3-Zk9_wVb2Xh7LtYc0RfPdGm1AsJe5UoIi8NnTBvQM";

    #[test]
    fn r_saf_3_a_token_in_the_output_is_found() {
        assert_eq!(BITS.len(), LENGTH);
        for prefix in PREFIXES {
            for text in [
                format!("{prefix}{BITS}"),
                format!("one line\nanother: {{\"confirmation_token\":\"{prefix}{BITS}\"}}\n"),
                format!("\u{1b}[31m{prefix}{BITS}\u{1b}[0m &quot;"),
                format!("conf_{prefix}{BITS} and more"),
            ] {
                assert_eq!(token_line(text.as_bytes()), Some(text.lines().count().min(2)), "{text}");
            }
        }
        assert!(token_line(&[b"\xff\xfe conf_", BITS.as_bytes(), b"\xff"].concat()).is_some());
    }

    #[test]
    fn incomplete_tokens_are_ignored() {
        let cut: String = BITS.chars().take(LENGTH - 1).collect();
        for text in [
            String::new(),
            format!("conf_{cut}"),
            format!("conf_{cut}…"),
            format!("conf_ {BITS}"),
            BITS.to_owned(),
            "r_saf_3_conf_this_is_the_name_of_a_test_that_goes_on_for_a_very_long_time".to_owned(),
        ] {
            assert_eq!(token_line(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_a_failed_try_printed_does_not_count() {
        let token = format!("conf_{BITS}");
        let report = format!("<a><flakyFailure>\n{token}\n</flakyFailure>\n{token}</a>");
        assert_eq!(token_line(without_failed_tries(&report).as_bytes()), Some(4));
        let report = format!("<a><flakyFailure message=\"late\"/>{token}</a>");
        assert_eq!(token_line(without_failed_tries(&report).as_bytes()), Some(1));
    }
}
