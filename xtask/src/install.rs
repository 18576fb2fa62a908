//! Packages from npm and PyPI at pinned versions. Installed once, again when a pin or an interpreter changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::step::{announce, output, run};
use crate::system::Need;

const REGISTRY: &str = "Check that the package registry can be reached, then start again.";

/// What both kinds of packages need.
pub(crate) const NEEDS: [Need; 2] = [
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

/// Exactly the packages that `package-lock.json` beside `package.json` says.
pub(crate) fn npm(pins: &Path, home: &Path) -> Result<()> {
    let (manifest, lock) = (read(&pins.join("package.json"))?, read(&pins.join("package-lock.json"))?);
    once(home, &format!("{manifest}{lock}"), || {
        fs::write(home.join("package.json"), &manifest)?;
        fs::write(home.join("package-lock.json"), &lock)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--ignore-scripts"]).current_dir(home);
        run(&mut npm, REGISTRY)
    })
}

/// A Node.js that is new enough: the machine's, else this package from npm.
pub(crate) fn node(least: u32, instead: &str, home: &Path) -> Result<PathBuf> {
    let major = output("node", &["--version"])
        .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= least) {
        return Ok("node".into());
    }
    once(home, instead, || {
        fs::write(home.join("package.json"), "{\"private\": true}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", instead]).current_dir(home);
        run(&mut npm, REGISTRY)
    })?;
    Ok(home.join("node_modules/node/bin/node"))
}

/// A Python environment with exactly the required packages.
pub(crate) fn python(requirements: &Path, home: &Path) -> Result<PathBuf> {
    let version = output("python3", &["--version"]).context("python3 does not run")?;
    let python = home.join("venv/bin/python");
    once(home, &format!("{version}\n{}", read(requirements)?), || {
        let mut venv = Command::new("python3");
        run(venv.args(["-m", "venv", "--clear"]).arg(home.join("venv")), "Install Python's venv module.")?;
        let mut pip = Command::new(&python);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(requirements);
        run(&mut pip, REGISTRY)
    })?;
    Ok(python)
}

/// Makes what stands in `home` unless it was made from the same pins. What broke off has no record, so it is made again.
pub(crate) fn once(home: &Path, pins: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let record = home.join("installed");
    if fs::read_to_string(&record).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    announce(&format!("make {}", home.display()));
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    fs::create_dir_all(home).with_context(|| format!("cannot make {}", home.display()))?;
    make()?;
    fs::write(&record, pins).with_context(|| format!("cannot write {}", record.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
