//! `cargo xtask test`: installs and starts what the tests need, then runs every test there is.

use anyhow::Result;

use crate::clients;
use crate::postgres::Postgres;
use crate::redis::Redis;
use crate::servers;
use crate::step::{self, announce, cargo, output};

/// The tests that need more than Rust, too. Plain `cargo test` leaves those out and does not list them. What is not here
/// needs something that cannot be installed: CONTRIBUTING.md says what.
pub(crate) const EVERYTHING: [&str; 3] = [
    "--workspace",
    "--features",
    "aquifer/clients,aquifer/postgres,aquifer/redis,aquifer-gate/redis,aquifer-sql/postgres,aquifer-upstream/servers",
];

const REMEDY: &str = "The failures are listed above. One test alone: cargo xtask test NAME";

pub(crate) fn run(chosen: &[String]) -> Result<()> {
    let mut environment = clients::install()?;
    environment.extend(servers::install()?);
    let (postgres, redis) = (Postgres::provide()?, Redis::provide()?);
    let nextest = output("cargo-nextest", &["nextest", "--version"]).is_some();
    let mut tests = if nextest {
        announce("tests");
        cargo(&["nextest", "run", "--no-fail-fast"])
    } else {
        announce("tests and examples in the documentation (cargo-nextest is not installed: cargo test does it)");
        cargo(&["test", "--no-fail-fast"])
    };
    tests.args(EVERYTHING).args(chosen).envs(environment).envs(postgres.environment()).envs(redis.environment());
    step::run(&mut tests, REMEDY)?;
    if !chosen.is_empty() {
        announce("the chosen tests passed");
        return Ok(());
    }
    if nextest {
        announce("examples in the documentation");
        step::run(&mut cargo(&["test", "--doc", "--workspace"]), "The failing examples are listed above.")?;
    }
    announce("all tests passed");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Needs the specification's schemas, whose licence keeps them out of here.
    const BY_HAND: &str = "aquifer-discovery/published";

    #[test]
    fn every_feature_of_the_tests_is_turned_on() {
        let mut seen = 0;
        let crates = std::fs::read_dir(step::root().join("crates"));
        for entry in crates.into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let manifest = std::fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
            let features = manifest.lines().skip_while(|line| *line != "[features]").skip(1);
            for line in features.take_while(|line| !line.starts_with('[')) {
                let Some((feature, "[]")) = line.split_once(" = ") else { continue };
                let wanted = format!("{name}/{feature}");
                let is_on = EVERYTHING.iter().flat_map(|words| words.split(',')).any(|on| on == wanted);
                assert!(is_on || wanted == BY_HAND, "{wanted} is in no run of the tests");
                seen += 1;
            }
        }
        assert!(seen >= 6, "{seen} features");
    }
}
