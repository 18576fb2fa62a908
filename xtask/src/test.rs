//! `cargo xtask test`: installs and starts what the tests need, then runs every test there is.

use anyhow::Result;

use crate::clients;
use crate::postgres::Postgres;
use crate::servers;
use crate::step::{self, announce, cargo, output};

/// The tests that need more than Rust, too. Plain `cargo test` leaves those out and does not list them.
pub(crate) const EVERYTHING: [&str; 3] =
    ["--workspace", "--features", "aquifer/clients,aquifer/postgres,aquifer-sql/postgres,aquifer-upstream/servers"];

const REMEDY: &str = "The failures are listed above. One test alone: cargo xtask test NAME";

pub(crate) fn run(chosen: &[String]) -> Result<()> {
    let mut environment = clients::install()?;
    environment.extend(servers::install()?);
    let postgres = Postgres::provide()?;
    let nextest = output("cargo-nextest", &["nextest", "--version"]).is_some();
    let mut tests = if nextest {
        announce("tests");
        cargo(&["nextest", "run", "--no-fail-fast"])
    } else {
        announce("tests and examples in the documentation (cargo-nextest is not installed: cargo test does it)");
        cargo(&["test", "--no-fail-fast"])
    };
    step::run(tests.args(EVERYTHING).args(chosen).envs(environment).envs(postgres.environment()), REMEDY)?;
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
