//! The Python wheel: its records, pip in an empty environment without an index, and uvx.

use anyhow::{Context, Result, ensure};

use super::agent::Agent;
use super::listing::Listing;
use super::process::{Environment, bounded, measured, run, word};
use super::{Measurement, Subject, Tools};
use crate::dist::package::Kind;
use crate::dist::release::PACKAGE;

/// Compiled modules of pip itself.
const IGNORED: [&str; 1] = ["__pycache__"];

pub(super) fn check(subject: &Subject, agent: &Agent, tools: &Tools) -> Result<Measurement> {
    let environment = Environment::new(subject.work("python"))?;
    let wheel = subject.host_package(Kind::Wheel)?;
    run(bounded(&agent.python, &environment).arg(Agent::script("wheel.py")).arg(&wheel))?;

    let venv = environment.path("venv");
    run(bounded(&agent.python, &environment).args(["-m", "venv"]).arg(&venv))?;
    let pip = |arguments: &[&str]| {
        let mut pip = bounded(venv.join("bin/python"), &environment);
        pip.args(["-m", "pip", "--disable-pip-version-check", "--no-cache-dir"]).args(arguments);
        pip
    };
    let before = Listing::read(&environment.folder, &IGNORED)?;
    let mut installation = pip(&["install", "--quiet", "--no-index", PACKAGE, "--find-links"]);
    let (_, install) = measured(|| run(installation.arg(subject.folder)))?;
    let program = venv.join("bin/aquifer");
    let database = environment.path("shop.db");
    let answer = agent.query(&[word(&program)], &environment, &database, &word(&database))?;
    agent.use_demo(&[word(&program)], &environment, &subject.parts.release)?;
    let alias = run(bounded(venv.join("bin").join(PACKAGE), &environment).arg("-V"))?;
    ensure!(alias.contains(&subject.parts.release.version), "the other name prints '{alias}'");
    run(&mut pip(&["uninstall", "--quiet", "--yes", PACKAGE]))?;
    subject.remove_state(&environment)?;
    before.expect_same(&Listing::read(&environment.folder, &IGNORED)?)?;

    let uv = tools.python.parent().context("no folder of programs")?.join("uv");
    let mut uvx = bounded(uv, &environment);
    uvx.args(["tool", "run", "--offline", "--no-index", "--python"])
        .arg(&agent.python)
        .arg("--find-links")
        .arg(subject.folder);
    let version = run(uvx.args([PACKAGE, "-V"]))?;
    ensure!(version.contains(&subject.parts.release.version), "uvx prints '{version}'");
    Ok(Measurement { kind: Kind::Wheel, install, answer })
}
