//! `cargo xtask agentdojo`: replays the user tasks and the attacks of AgentDojo through the gateway, and compares what reached
//! its effect, and what a person was asked, with the recorded figures. No model is involved.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::install;
use crate::step::{self, announce, aquifer, root, target};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask agentdojo [SUITE...] [--update]

Installs the benchmark from PyPI under target/agentdojo and serves the tools of each suite through the gateway, without
annotations and with honest ones. The ground truth of every user task is replayed with a person who approves everything, and that
of every attack with a model that is hijacked completely and a person who refuses everything. Clients that cannot ask their user
are tried as well: with a person who decides about approvals, with a model that redeems its tokens on its own, and with an operator
who lets it do that.

Suites: workspace, travel, banking, slack; all of them by default.
  --update  Record the figures in bench/figures/agentdojo.json and update docs/hijacked-models.md

Fails if a row of the table is worse than recorded; needs all suites. What was asked, and every question, is in
target/agentdojo/work. It takes about eight minutes and is part of the long run of the tests.";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    install::check_interpreters()?;
    let scripts = root().join("tests/agentdojo");
    let home = target().join("agentdojo");
    let python = install::python_without_dependencies(&scripts.join("requirements.txt"), &home.join("python"))?;
    step::build_aquifer()?;
    fs::create_dir_all(&home).with_context(|| format!("cannot create {}", home.display()))?;
    announce("replay the user tasks and the attacks");
    let mut replay = Command::new(python);
    replay.arg(scripts.join("replay.py")).arg(aquifer()).arg(home.join("work"));
    replay.arg(root().join("bench/figures/agentdojo.json")).args(arguments);
    step::run(&mut replay, "Read the rows above. If it is better, or meant to be so, record it with --update.")?;
    if arguments.iter().any(|argument| argument == "--update") {
        aquifer_report::update_pages()?;
    }
    Ok(())
}
