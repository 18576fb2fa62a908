//! Checks of files that are not installed here: container file, compose file, formula, Nix expressions, the service and the
//! bill of materials.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::agent::Agent;
use super::process::{Environment, bounded, run};
use super::{Subject, Tools, is_available};
use crate::install::Requirement;
use crate::step::{announce, output, root};

/// The exposure of the service that `systemd-analyze security` may find at most, on its scale from 0 to 10.
const MAX_EXPOSURE: f64 = 2.0;

const RUBY: Requirement = Requirement {
    name: "ruby, which reads the Homebrew formula",
    is_met: || output("ruby", &["--version"]).is_some(),
    packages: &["ruby"],
    hint: "ruby-lang.org",
};
const NIX: Requirement = Requirement {
    name: "nix-instantiate, which reads the Nix expressions",
    is_met: || output("nix-instantiate", &["--version"]).is_some(),
    packages: &["nix-bin"],
    hint: "nixos.org",
};
const SYSTEMD: Requirement = Requirement {
    name: "systemd-analyze, which rates the service",
    is_met: || output("systemd-analyze", &["--version"]).is_some(),
    packages: &["systemd"],
    hint: "part of systemd",
};

pub(super) fn check(subject: &Subject, agent: &Agent, tools: &Tools) -> Result<()> {
    let environment = Environment::new(subject.work("lint"))?;
    let programs = tools.python.parent().context("no folder of programs")?;
    let container = subject.folder.join("container");

    announce("container file, compose file");
    run(bounded(programs.join("hadolint"), &environment).arg(container.join("Containerfile")))?;
    let dclint = tools.npm.join("node_modules/dclint/bin/dclint.cjs");
    run(bounded(&agent.node, &environment).arg(dclint).arg("--max-warnings=0").arg(container.join("compose.yaml")))?;

    announce("formula, Nix expressions");
    if is_available(RUBY) {
        run(bounded("ruby", &environment).arg("-c").arg(subject.folder.join("aquifer.rb")))?;
    }
    if is_available(NIX) {
        for file in ["flake.nix", "package.nix"] {
            run(bounded("nix-instantiate", &environment).arg("--parse").arg(root().join("packaging/nix").join(file)))?;
        }
    }
    let expression = fs::read_to_string(root().join("packaging/nix/package.nix"))?;
    let version = &subject.parts.release.version;
    ensure!(expression.contains(&format!("version = \"{version}\"")), "packaging/nix/package.nix has another version");

    announce("bill of materials, checksums");
    let bills = fs::read_dir(subject.folder)?.flatten().map(|entry| entry.path());
    let bills: Vec<_> = bills.filter(|path| path.to_string_lossy().ends_with(".cdx.json")).collect();
    ensure!(!bills.is_empty(), "there is no bill of materials");
    run(bounded(&tools.python, &environment).arg(Agent::script("bill.py")).args(bills))?;
    run(bounded("sha256sum", &environment).args(["--check", "--quiet", "SHA256SUMS"]).current_dir(subject.folder))?;

    announce("service");
    if is_available(SYSTEMD) { exposure(&environment) } else { Ok(()) }
}

/// Lets systemd rate the unit without starting it.
fn exposure(environment: &Environment) -> Result<()> {
    let mut analyze = bounded("systemd-analyze", environment);
    analyze.args(["security", "--offline=true", "--no-pager"]).arg(root().join("packaging/debian/aquifer.service"));
    let text = run(&mut analyze)?;
    let level = text.lines().find_map(|line| line.split_once("exposure level for aquifer.service: "));
    let level = level.and_then(|(_, rest)| rest.split_whitespace().next()?.parse::<f64>().ok());
    let level = level.with_context(|| format!("systemd-analyze gives no level:\n{text}"))?;
    ensure!(level <= MAX_EXPOSURE, "the exposure of the service is {level}, more than {MAX_EXPOSURE}");
    announce(&format!("exposure of the service: {level} (0 is best, 10 is worst, at most {MAX_EXPOSURE} is accepted)"));
    Ok(())
}
