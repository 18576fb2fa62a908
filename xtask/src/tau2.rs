//! `cargo xtask tau2`: replays the gold calls of τ²-bench through the gateway and compares results, selected fields and
//! states with those of plain Python. No model is involved.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use crate::install;
use crate::step::{self, announce, aquifer, root, target};

pub(crate) const USAGE: &str = "\
Usage: cargo xtask tau2 [DOMAIN...] [--seed N] [--selections N] [--reads N] [--all-tasks] [--show N]

Installs the benchmark from PyPI under target/tau2 and serves the tools of each domain through the gateway: in semantic and
single mode on stdio, one domain also over HTTP. The gold calls of every task are called directly and through the gateway.
Results and states have to be equal, and so does every random selection of fields of what a tool returned that reads.

Domains: airline, retail, telecom, banking; all of them by default.
  --seed N        Other random calls and selections; 1 by default
  --selections N  Selections for each result, 4 by default
  --reads N       Random reading calls for each task in addition to its gold calls, 5 by default
  --all-tasks     All tasks of telecom (2,285) instead of those of its base split (114)
  --show N        Differences to print for each domain, 5 by default; all are in target/tau2/work

Prints how many tools are asked for or hidden as well. It takes about ten minutes and is part of the long run of the tests.";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    install::check_interpreters()?;
    let scripts = root().join("tests/tau2");
    let home = target().join("tau2");
    let python = install::python_without_dependencies(&scripts.join("requirements.txt"), &home.join("python"))?;
    step::build_aquifer()?;
    let work = home.join("work");
    fs::create_dir_all(&work).with_context(|| format!("cannot create {}", work.display()))?;
    announce("replay the gold calls");
    let mut replay = Command::new(python);
    replay.arg(scripts.join("replay.py")).arg(aquifer()).arg(&work).args(arguments);
    step::run(&mut replay, "Every difference is a defect: of the gateway, or of the replay.")
}
