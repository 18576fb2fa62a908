//! `cargo xtask test`: installs and starts the requirements of the tests, runs all tests, and searches their output for
//! secrets.

mod secrets;

use std::path::PathBuf;

use anyhow::Result;

use crate::install;
use crate::postgres;
use crate::redis;
use crate::spec_conformance;
use crate::step::{self, announce, cargo, output};
use secrets::CapturedOutput;

/// Includes the tests that need more than Rust, which plain `cargo test` omits and does not list. Tests not covered
/// here need something that cannot be installed; see CONTRIBUTING.md.
pub(crate) const ALL_TESTS: [&str; 3] = [
    "--workspace",
    "--features",
    "aquifer-conformance/test-published,aquifer-discovery/test-published,aquifer/test-browser,aquifer/test-clients,aquifer/test-postgres,aquifer/test-redis,aquifer-gate/test-redis,aquifer-rest/test-descriptions,aquifer-rest/test-mock,aquifer-rest/test-tls,aquifer-sql/test-postgres,aquifer-upstream/test-servers",
];

/// The tests that read the specification's schemas, which cannot be kept here because of their licence.
const PUBLISHED: &str = "spec_checkout::";

const REMEDY: &str = "The failures are listed above. One test alone: cargo xtask test NAME";

pub(crate) fn run(chosen: &[String]) -> Result<()> {
    let environment = install::test_environment()?;
    let (postgres, redis) = (postgres::provide()?, redis::provide()?);
    let printed = CapturedOutput::new()?;
    let nextest = output("cargo-nextest", &["nextest", "--version"]).is_some();
    let mut tests = if nextest {
        announce("tests");
        let mut nextest = cargo(&["nextest", "run", "--no-fail-fast", "--profile", "default"]);
        nextest.args(["--test-threads", &test_threads().to_string()]);
        nextest
    } else {
        announce("tests and examples in the documentation (cargo-nextest is not installed: cargo test does it)");
        cargo(&["test", "--no-fail-fast"])
    };
    tests.args(ALL_TESTS).args(chosen).envs(environment).envs(postgres.environment()).envs(redis.environment());
    tests.envs([printed.environment()]);
    let checkout = checkout()?;
    tests.envs(checkout.iter().map(|path| (spec_conformance::VARIABLE, path)));
    if nextest {
        if checkout.is_none() {
            tests.args(["--filterset", &format!("not test(/^{PUBLISHED}/)")]);
        }
        // nextest itself keeps the output of every test.
        step::run(&mut tests, REMEDY)?;
    } else {
        if !chosen.iter().any(|word| word == "--") {
            tests.arg("--");
        }
        if checkout.is_none() {
            tests.args(["--skip", PUBLISHED]);
        }
        step::run_copied(tests.arg("--show-output"), &printed.file("tests.log"), REMEDY)?;
    }
    if !chosen.is_empty() {
        printed.search(nextest)?;
        announce("the chosen tests passed");
        return Ok(());
    }
    if nextest {
        announce("examples in the documentation");
        let mut examples = cargo(&["test", "--doc", "--workspace", "--", "--show-output"]);
        step::run_copied(&mut examples, &printed.file("examples.log"), "The failing examples are listed above.")?;
    }
    // Failing tests may print secrets, so search only after all have passed.
    printed.search(nextest)?;
    announce("all tests passed");
    Ok(())
}

/// The checkout of the specification that some tests need. Says so if there is none.
fn checkout() -> Result<Option<PathBuf>> {
    let found = spec_conformance::checkout()?;
    if found.is_none() {
        let variable = spec_conformance::VARIABLE;
        announce(&format!(
            "NOT CHECKED: {variable} names no checkout of the specification, so its schemas are not compared"
        ));
    }
    Ok(found)
}

/// How many tests run at once: two on each core, because most of them wait for processes, databases and timeouts.
fn test_threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_feature_of_the_tests_is_turned_on() {
        let mut seen = 0;
        let crates = std::fs::read_dir(step::root().join("crates"));
        for entry in crates.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
            let features = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
            for line in features.take_while(|line| !line.starts_with('[')) {
                let Some(feature) = line.split(" = ").next().filter(|feature| feature.starts_with("test-")) else {
                    continue;
                };
                let wanted = format!("{name}/{feature}");
                let is_on = ALL_TESTS.iter().flat_map(|words| words.split(',')).any(|on| on == wanted);
                assert!(is_on, "{wanted} is in no run of the tests");
                seen += 1;
            }
        }
        assert!(seen >= 6, "{seen} features");
    }
}
