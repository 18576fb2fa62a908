//! Cargo subcommands that tasks need, from the machine or built once under the target directory.

use std::path::PathBuf;

use anyhow::Result;

use crate::step::{announce, cargo, output, run, target};

/// A cargo subcommand, at the version that is built where there is none.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

/// Checks licences, sources and known vulnerabilities of the dependencies.
pub(crate) const DENY: Tool = Tool { name: "cargo-deny", version: "0.20.2" };
/// Runs fuzz targets.
pub(crate) const FUZZ: Tool = Tool { name: "cargo-fuzz", version: "0.13.1" };

impl Tool {
    /// The program, built first where there is none. That takes a few minutes, once.
    pub(crate) fn program(&self) -> Result<PathBuf> {
        if output(self.name, &["--version"]).is_some() {
            return Ok(self.name.into());
        }
        let tools = target().join("tools");
        let built = tools.join("bin").join(self.name);
        if output(&built, &["--version"]).is_some_and(|told| told.ends_with(self.version)) {
            return Ok(built);
        }
        announce(&format!("build {} {} (a few minutes, once)", self.name, self.version));
        // Unoptimised: it runs for a second and would take twice as long to build.
        let mut install = cargo(&["install", self.name, "--version", self.version, "--locked", "--debug", "--force"]);
        install.arg("--root").arg(&tools);
        run(&mut install, &format!("Check that crates.io can be reached, or install {} yourself.", self.name))?;
        Ok(built)
    }
}
