//! `cargo xtask test`: installs and starts the requirements of the tests, runs all tests, and searches their output for
//! secrets. `--long` adds what takes too long for every push.

mod long;
mod report;
mod secrets;

use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::install;
use crate::postgres;
use crate::redis;
use crate::spec_conformance;
use crate::step::{self, announce, cargo, output};
use secrets::CapturedOutput;

pub(crate) const USAGE: &str = "\
Usage: cargo xtask test [--long] [ARG...]

Installs and starts the requirements of the tests, runs all tests and the examples in the documentation, and searches what
they print for secrets. Arguments go to the test runner: cargo xtask test NAME.

  --long   more cases of every property and all settings of every attack, and then: every optional backend alone,
           dependencies, all packages, faults of upstreams and stores, a replayed benchmark, every fuzz target for a
           minute; an hour or more";

/// The tests that read the specification's schemas, which cannot be kept here because of their licence.
const PUBLISHED: &str = "spec_checkout::";

const REMEDY: &str = "The failures are listed above. One test alone: cargo xtask test NAME";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    match arguments.split_first() {
        Some((first, [])) if first == "--long" => {
            run_with(&[], &long::SETTINGS, || Ok(()), || Ok(()))?;
            long::run()
        }
        _ => run_with(arguments, &[], || Ok(()), || Ok(())),
    }
}

/// Runs all tests. Installs what later steps need while the tests are built, and if that fails, the step that needs it
/// tries again. Does `beside` while the tests run.
pub(crate) fn run_with_others(
    install: impl FnOnce() -> Result<()>,
    beside: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    run_with(&[], &[], install, beside)
}

fn run_with(
    chosen: &[String],
    settings: &[(&str, &str)],
    install_more: impl FnOnce() -> Result<()>,
    beside: impl FnOnce() -> Result<()> + Send,
) -> Result<()> {
    let printed = CapturedOutput::new()?;
    let nextest = output("cargo-nextest", &["nextest", "--version"]).is_some();
    install::check_programs()?;
    let (postgres, redis) = (postgres::provide()?, redis::provide()?);
    let environment = std::thread::scope(|scope| {
        // Installing packages waits for the network, so the tests are built meanwhile.
        let build = nextest.then(|| {
            announce("tests: install packages, and build");
            scope.spawn(|| {
                let mut build = cargo(&["nextest", "run", "--no-run", "--workspace"]);
                step::run(build.envs(settings.iter().copied()), "Fix the problems listed above.")
            })
        });
        let environment = install::test_environment();
        if let Err(problem) = install_more() {
            println!("{problem:#}");
        }
        if build.is_some() {
            announce("tests: build");
        }
        match build.map(|build| build.join()) {
            Some(Err(_)) => bail!("the build of the tests did not end"),
            Some(Ok(built)) => built.and(environment),
            None => environment,
        }
    })?;
    let mut tests = if nextest {
        announce("tests: run");
        let mut nextest = cargo(&["nextest", "run", "--no-fail-fast", "--profile", "default"]);
        nextest.args(["--test-threads", &test_threads().to_string()]);
        nextest
    } else {
        announce("tests and examples in the documentation (cargo-nextest is not installed: cargo test does it)");
        cargo(&["test", "--no-fail-fast"])
    };
    tests.arg("--workspace").envs(environment).envs(postgres.environment()).envs(redis.environment());
    tests.envs([printed.environment()]).envs(settings.iter().copied());
    let checkout = checkout()?;
    tests.envs(checkout.iter().map(|path| (spec_conformance::VARIABLE, path)));
    if nextest {
        if !chosen.is_empty() || !settings.is_empty() {
            tests.args(["--retries", "0"]);
        }
        if checkout.is_none() {
            tests.args(["--filterset", &format!("not test(/^{PUBLISHED}/)")]);
        }
        // nextest itself keeps the output of every test.
        std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let passed = step::run(tests.args(chosen), REMEDY);
            let beside = beside.join().unwrap_or_else(|_| bail!("what runs beside the tests did not end"));
            passed.and(beside)
        })?;
    } else {
        beside()?;
        tests.args(chosen);
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
    if nextest {
        report::print()?;
    }
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

/// How many tests run at once: three on each core, because most of them wait for processes, databases and timeouts.
fn test_threads() -> usize {
    3 * std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;

    /// Building a harness takes time even if there is nothing in it.
    #[test]
    fn crates_have_the_test_harnesses_that_they_need() {
        let crates = std::fs::read_dir(step::root().join("crates")).expect("the folder of crates");
        let mut checked = 0;
        for entry in crates.flatten().filter(|entry| entry.path().join("src/lib.rs").is_file()) {
            let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).expect("a manifest");
            let source = entry.path().join("src").display().to_string();
            let contains = |pattern: &str| output("grep", &["-rqE", pattern, &source]).is_some();
            let needed = [
                ("doctest = false", contains("^[[:space:]]*//[/!] ```")),
                ("\ntest = false", contains(r"#\[(tokio::)?test|proptest!")),
            ];
            for (setting, is_needed) in needed {
                assert_eq!(!manifest.contains(setting), is_needed, "{}: {}", entry.path().display(), setting.trim());
            }
            checked += 1;
        }
        assert!(checked >= 15, "{checked} crates");
    }
}
