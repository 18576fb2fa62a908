//! Clients nobody here wrote, for the tests that speak to the server as its users do: the official MCP SDKs from npm
//! and PyPI, at the versions pinned in `tests/clients`. Installed once, again when a pin or an interpreter changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{announce, output, root, run, target};
use crate::system::{Need, ensure};

/// What the TypeScript SDK asks for.
const NODE_AT_LEAST: u32 = 20;
/// What is installed from npm where the machine's Node.js is older.
const NODE_INSTEAD: &str = "node@22.23.3";
const REGISTRY: &str = "Check that the package registry can be reached, then start again.";

const NEEDS: [Need; 2] = [
    Need {
        name: "Node.js with npm",
        met: || output("node", &["--version"]).is_some() && output("npm", &["--version"]).is_some(),
        packages: &["nodejs", "npm"],
        elsewhere: "any version that runs npm; a newer Node.js is fetched where it is too old",
    },
    Need {
        name: "Python 3.11 or newer with venv and pip",
        met: || output("python3", &["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 11)"]).is_some(),
        packages: &["python3", "python3-venv"],
        elsewhere: "python.org, or your system's packages",
    },
];

/// Installs the clients. The answer is the environment in which the tests find them.
pub(crate) fn install() -> Result<Vec<(&'static str, PathBuf)>> {
    announce("check for Node.js and Python");
    ensure(&NEEDS)?;
    let (pins, clients) = (root().join("tests/clients"), target().join("clients"));
    let packages = clients.join("npm");
    npm_packages(&pins, &packages)?;
    Ok(vec![
        ("AQUIFER_TEST_CLIENTS_DIR", packages),
        ("AQUIFER_TEST_NODE", node(&clients.join("node"))?),
        ("AQUIFER_TEST_PYTHON_V1", python(&pins.join("requirements-v1.txt"), &clients.join("python-v1"))?),
        ("AQUIFER_TEST_PYTHON_V2", python(&pins.join("requirements-v2.txt"), &clients.join("python-v2"))?),
    ])
}

fn npm_packages(pins: &Path, home: &Path) -> Result<()> {
    let (manifest, lock) = (read(&pins.join("package.json"))?, read(&pins.join("package-lock.json"))?);
    install_once(home, &format!("{manifest}{lock}"), "the TypeScript SDK's clients", || {
        fs::write(home.join("package.json"), &manifest)?;
        fs::write(home.join("package-lock.json"), &lock)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(home);
        run(&mut npm, REGISTRY)
    })
}

/// A Node.js that is new enough: the machine's, else one from npm.
fn node(home: &Path) -> Result<PathBuf> {
    let major = output("node", &["--version"])
        .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= NODE_AT_LEAST) {
        return Ok("node".into());
    }
    install_once(home, NODE_INSTEAD, NODE_INSTEAD, || {
        fs::write(home.join("package.json"), "{\"private\": true}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", NODE_INSTEAD]).current_dir(home);
        run(&mut npm, REGISTRY)
    })?;
    Ok(home.join("node_modules/node/bin/node"))
}

/// A Python environment with exactly the required packages.
fn python(requirements: &Path, home: &Path) -> Result<PathBuf> {
    let version = output("python3", &["--version"]).context("python3 does not run")?;
    let python = home.join("venv/bin/python");
    let pins = format!("{version}\n{}", read(requirements)?);
    install_once(home, &pins, &format!("the Python SDK's client ({})", home.display()), || {
        let mut venv = Command::new("python3");
        run(venv.args(["-m", "venv", "--clear"]).arg(home.join("venv")), "Install Python's venv module.")?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(requirements);
        run(&mut pip, REGISTRY)
    })?;
    Ok(python)
}

/// Installs into `home` unless what stands there was installed from the same pins. An installation that broke off
/// has no record, so it is made again.
fn install_once(home: &Path, pins: &str, what: &str, install: impl FnOnce() -> Result<()>) -> Result<()> {
    let record = home.join("installed");
    if fs::read_to_string(&record).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    announce(&format!("install {what}"));
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
    install()?;
    fs::write(&record, pins).with_context(|| format!("cannot write {}", record.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
