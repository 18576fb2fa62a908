//! `cargo xtask conformance [--update-docs]`: runs the conformance runner on our own servers, as the tests do: the
//! demo, a SQLite file, a PostgreSQL database and an MCP server behind the gateway, over stdio and HTTP, in both modes.

use anyhow::{Result, bail};

use crate::postgres;
use crate::step::{self, announce, cargo, root};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask conformance [--update-docs]

Runs 'aquifer conformance' at level 2 on our own servers and fails if one does not get the expected level.

  --update-docs   write the reports to docs/conformance, and the table of checks into docs/conformance.md";

/// The folder to which the tests write their reports instead of comparing them.
const REPORTS: &str = "AQUIFER_CONFORMANCE_DOCS";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let update_docs = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--update-docs"] => true,
        [unknown, ..] => bail!("unknown argument '{unknown}'\n\n{USAGE}"),
    };
    let postgres = postgres::provide()?;
    let mut checks = cargo(&["test", "--workspace", "--test", "documents"]);
    let mut levels = cargo(&["test", "--workspace", "--test", "binary", "r_con_1_"]);
    levels.envs(postgres.environment());
    if update_docs {
        let reports = root().join("docs/conformance");
        checks.env(REPORTS, &reports);
        levels.env(REPORTS, &reports);
    }
    announce("the checks that docs/conformance.md lists");
    step::run(&mut checks, "Update it with: cargo xtask conformance --update-docs")?;
    announce("our own servers, at level 2");
    step::run(&mut levels, "The output above shows what prevents a level: either the server or a check is wrong.")?;
    announce("every server got the expected level");
    Ok(())
}
