//! What tasks need: programs of the machine, which root installs with apt while anybody else is told what is missing;
//! packages from npm, PyPI and crates.io at pinned versions, installed once and again when a pin or an interpreter changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{announce, cargo, output, root, run, target};

const REGISTRY: &str = "Check that the package registry can be reached, then start again.";
/// The oldest Node.js that all packages run on, and what is installed from npm where the machine's is older.
const MIN_NODE: u32 = 22;
const NODE_PACKAGE: &str = "node@22.23.3";

/// Something the machine must have.
pub(crate) struct Need {
    /// Its name, as people know it.
    pub(crate) name: &'static str,
    pub(crate) met: fn() -> bool,
    /// The Debian and Ubuntu packages that bring it.
    pub(crate) packages: &'static [&'static str],
    /// How to get it elsewhere.
    pub(crate) elsewhere: &'static str,
}

const INTERPRETERS: [Need; 2] = [
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

/// Makes sure that there are a Node.js and a Python.
pub(crate) fn check_interpreters() -> Result<()> {
    announce("check for Node.js and Python");
    ensure(&INTERPRETERS)
}

/// Makes sure that every need is met.
pub(crate) fn ensure(needs: &[Need]) -> Result<()> {
    let unmet = || needs.iter().filter(|need| !(need.met)()).collect::<Vec<_>>();
    let packages = |needs: &[&Need]| needs.iter().flat_map(|need| need.packages.iter().copied()).collect::<Vec<_>>();
    let missing = unmet();
    if !missing.is_empty() && is_root() && output("apt-get", &["--version"]).is_some() {
        let packages = packages(&missing);
        announce(&format!("install {}", packages.join(" ")));
        let apt = |arguments: &[&str]| {
            let mut command = Command::new("apt-get");
            command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
            command
        };
        run(&mut apt(&["update", "-q"]), "Check that the package sources can be reached.")?;
        let mut install = apt(&["install", "-q", "-y", "--no-install-recommends"]);
        run(install.args(&packages), "Install them by hand and start again.")?;
    }
    let missing = unmet();
    if missing.is_empty() {
        return Ok(());
    }
    let list: String = missing.iter().map(|need| format!("  - {}: {}\n", need.name, need.elsewhere)).collect();
    let packages = packages(&missing).join(" ");
    bail!("this machine lacks what is needed:\n{list}On Debian or Ubuntu: sudo apt-get install {packages}");
}

pub(crate) fn is_root() -> bool {
    output("id", &["-u"]).as_deref() == Some("0")
}

/// The environment in which the tests find clients and servers that others wrote: the official MCP SDKs as clients, and MCP
/// servers, API descriptions and a mock of them to put behind us, at the versions pinned in `tests/clients`,
/// `tests/servers`, `tests/descriptions` and `tests/mock`.
pub(crate) fn test_environment() -> Result<Vec<(&'static str, PathBuf)>> {
    check_interpreters()?;
    let packages = |folder: &str| {
        let home = target().join(folder).join("npm");
        npm(&root().join("tests").join(folder), &home).map(|()| home)
    };
    let environment = |folder: &str, name: &str| {
        let pins = root().join(format!("tests/{folder}/requirements{name}.txt"));
        python(&pins, &target().join(folder).join(format!("python{name}")))
    };
    Ok(vec![
        ("AQUIFER_TEST_CLIENTS_DIR", packages("clients")?),
        ("AQUIFER_TEST_NODE", node(&target().join("clients/node"))?),
        ("AQUIFER_TEST_PYTHON_V1", environment("clients", "-v1")?),
        ("AQUIFER_TEST_PYTHON_V2", environment("clients", "-v2")?),
        ("AQUIFER_TEST_SERVERS_NPM", packages("servers")?),
        ("AQUIFER_TEST_SERVERS_PYTHON", environment("servers", "")?),
        ("AQUIFER_TEST_SERVERS_SQLITE", environment("servers", "-sqlite")?),
        ("AQUIFER_TEST_DESCRIPTIONS", packages("descriptions")?),
        ("AQUIFER_TEST_MOCK", packages("mock")?),
    ])
}

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

/// A Node.js that is new enough: the machine's, else one from npm.
pub(crate) fn node(home: &Path) -> Result<PathBuf> {
    let major = output("node", &["--version"])
        .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= MIN_NODE) {
        return Ok("node".into());
    }
    once(home, NODE_PACKAGE, || {
        fs::write(home.join("package.json"), "{\"private\": true}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", NODE_PACKAGE]).current_dir(home);
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

/// A cargo subcommand: the machine's, or one of this version, built under the target directory. That takes a few minutes,
/// once.
pub(crate) fn cargo_tool(name: &str, version: &str) -> Result<PathBuf> {
    if output(name, &["--version"]).is_some() {
        return Ok(name.into());
    }
    let tools = target().join("tools");
    let built = tools.join("bin").join(name);
    if output(&built, &["--version"]).is_some_and(|found| found.ends_with(version)) {
        return Ok(built);
    }
    announce(&format!("build {name} {version} (a few minutes, once)"));
    // Unoptimised: it runs for a second and would take twice as long to build.
    let mut install = cargo(&["install", name, "--version", version, "--locked", "--debug", "--force"]);
    install.arg("--root").arg(&tools);
    run(&mut install, &format!("Check that crates.io can be reached, or install {name} yourself."))?;
    Ok(built)
}

/// Makes what stands in `home` unless it was made from the same pins. What broke off has no record, so it is made again.
fn once(home: &Path, pins: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
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
