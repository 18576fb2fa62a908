//! What is packed: the version, the commit and its time.

use anyhow::{Context, Result};

use crate::step::{announce, output, root};

/// Where the project lives.
pub(crate) const REPOSITORY: &str = "https://github.com/aquifer-mcp/aquifer";
/// What packages say about the program.
pub(crate) const SUMMARY: &str = "MCP servers, HTTP APIs, SQLite and PostgreSQL databases behind MCP-AQL";
/// The name in npm and PyPI. `aquifer` is another project there.
pub(crate) const PACKAGE: &str = "aquifer-mcp";
/// Packages need a person to write to.
pub(crate) const MAINTAINER: &str = "Aquifer contributors <aquifer-mcp@users.noreply.github.com>";

/// The version to pack.
#[derive(Debug, Clone)]
pub(crate) struct Release {
    pub(crate) version: String,
    /// The commit, with `-modified` if there are changes that were not committed, or "unknown".
    pub(crate) commit: String,
    /// The time of the commit, in seconds since 1970. Every packed file carries it.
    pub(crate) time: u64,
}

impl Release {
    /// Reads the commit and its time from git. `SOURCE_DATE_EPOCH` and `AQUIFER_COMMIT` take precedence, for builds
    /// from an archive.
    pub(crate) fn read() -> Result<Self> {
        let folder = root().to_string_lossy().into_owned();
        let git = |arguments: &[&str]| output("git", &[&["-C", &folder], arguments].concat());
        let commit = std::env::var("AQUIFER_COMMIT").ok().or_else(|| {
            let commit = git(&["rev-parse", "HEAD"])?;
            let is_modified =
                git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|list| !list.is_empty());
            if is_modified {
                announce("NOT REPRODUCIBLE: some files differ from the commit; the version says so");
            }
            Some(if is_modified { commit + "-modified" } else { commit })
        });
        let time = std::env::var("SOURCE_DATE_EPOCH").ok().or_else(|| git(&["log", "-1", "--format=%ct"]));
        let time = time.context("this is no git checkout: set SOURCE_DATE_EPOCH to the time of the release")?;
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: commit.unwrap_or_else(|| "unknown".to_owned()),
            time: time.trim().parse().context("SOURCE_DATE_EPOCH is not a number of seconds")?,
        })
    }

    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Self { version: "0.0.0".to_owned(), commit: "0000000".to_owned(), time: 1_700_000_000 }
    }
}
