//! Installs the requirements of tasks: system programs, with apt if run as root, and otherwise reported as missing;
//! packages from npm, PyPI and crates.io at pinned versions, reinstalled when a pin or an interpreter changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::step::{announce, cargo, output, root, run, target};

const REGISTRY: &str = "Check that the package registry can be reached, then start again.";
/// The oldest Node.js that all packages support, and the npm package to install if the system's is older.
const MIN_NODE: u32 = 22;
const NODE_PACKAGE: &str = "node@22.23.3";

/// A program that the system must provide.
pub(crate) struct Requirement {
    /// Its name, as shown to people.
    pub(crate) name: &'static str,
    pub(crate) is_met: fn() -> bool,
    /// The Debian and Ubuntu packages that provide it.
    pub(crate) packages: &'static [&'static str],
    /// How to get it on other systems.
    pub(crate) hint: &'static str,
}

const INTERPRETERS: [Requirement; 2] = [
    Requirement {
        name: "Node.js with npm",
        is_met: || output("node", &["--version"]).is_some() && output("npm", &["--version"]).is_some(),
        packages: &["nodejs", "npm"],
        hint: "any version that runs npm; a newer Node.js is downloaded if it is too old",
    },
    Requirement {
        name: "Python 3.11 or newer with venv and pip",
        is_met: || {
            output("python3", &["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 11)"]).is_some()
        },
        packages: &["python3", "python3-venv"],
        hint: "python.org, or your system's packages",
    },
];

/// The browser of the tests of the explorer, which can also be named by `AQUIFER_TEST_CHROMIUM`.
const CHROMIUM: Requirement = Requirement {
    name: "Chromium",
    is_met: || output(chromium(), &["--version"]).is_some(),
    packages: &["chromium"],
    hint: "your system's packages, or set AQUIFER_TEST_CHROMIUM to the path of Chromium or Chrome",
};

fn chromium() -> PathBuf {
    std::env::var_os("AQUIFER_TEST_CHROMIUM").map_or_else(|| "/usr/bin/chromium".into(), PathBuf::from)
}

/// Chromium without the parts that draw a window, which takes half as long for the same pages. Debian has it.
const HEADLESS: &str = "chromium-headless-shell";

/// What shows pages to the tests: Chromium without a window, where it can be had, else the browser.
fn headless() -> PathBuf {
    let shell = Path::new("/usr/bin").join(HEADLESS);
    let is_there = || output(&shell, &["--version"]).is_some();
    if std::env::var_os("AQUIFER_TEST_CHROMIUM").is_some() {
        return chromium();
    }
    if !is_there() && is_root() && output("apt-cache", &["show", HEADLESS]).is_some() {
        announce(&format!("install {HEADLESS}"));
        if let Err(problem) = apt_install(&[HEADLESS]) {
            println!("{problem:#}");
        }
    }
    if is_there() { shell } else { chromium() }
}

/// Makes sure that Node.js and Python are available.
pub(crate) fn check_interpreters() -> Result<()> {
    announce("check for Node.js and Python");
    ensure(&INTERPRETERS)
}

/// Makes sure that the programs are available that install and run [`test_environment`].
pub(crate) fn check_programs() -> Result<()> {
    check_interpreters()?;
    announce("check for Chromium");
    ensure(&[CHROMIUM])
}

/// Makes sure that all requirements are met.
pub(crate) fn ensure(requirements: &[Requirement]) -> Result<()> {
    let unmet = || requirements.iter().filter(|requirement| !(requirement.is_met)()).collect::<Vec<_>>();
    let packages = |missing: &[&Requirement]| {
        missing.iter().flat_map(|requirement| requirement.packages.iter().copied()).collect::<Vec<_>>()
    };
    let missing = unmet();
    if !missing.is_empty() && is_root() && output("apt-get", &["--version"]).is_some() {
        let packages = packages(&missing);
        announce(&format!("install {}", packages.join(" ")));
        apt_install(&packages)?;
    }
    let missing = unmet();
    if missing.is_empty() {
        return Ok(());
    }
    let list: String =
        missing.iter().map(|requirement| format!("  - {}: {}\n", requirement.name, requirement.hint)).collect();
    let packages = packages(&missing).join(" ");
    bail!("these requirements are missing:\n{list}On Debian or Ubuntu: sudo apt-get install {packages}");
}

fn apt_install(packages: &[&str]) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        command
    };
    run(&mut apt(&["update", "-q"]), "Check that the package sources can be reached.")?;
    let mut install = apt(&["install", "-q", "-y", "--no-install-recommends"]);
    run(install.args(packages), "Install them by hand and start again.")
}

pub(crate) fn is_root() -> bool {
    output("id", &["-u"]).as_deref() == Some("0")
}

/// The environment variables through which the tests find third-party clients and servers: the official MCP SDKs and a
/// browser as clients, and MCP servers, API descriptions and a mock server to put behind the gateway, at the versions
/// pinned in `tests/clients`, `tests/browser`, `tests/servers`, `tests/descriptions` and `tests/mock`.
pub(crate) fn test_environment() -> Result<Vec<(&'static str, PathBuf)>> {
    let browser = browser()?;
    let path = path_with_python()?;
    let environment = |folder: &str, name: &str| {
        let pins = root().join(format!("tests/{folder}/requirements{name}.txt"));
        python(&pins, &target().join(folder).join(format!("python{name}")))
    };
    let mut variables = vec![
        ("PATH", path),
        ("AQUIFER_TEST_CLIENTS_DIR", packages("clients")?),
        ("AQUIFER_TEST_NODE", node()?),
        ("AQUIFER_TEST_PYTHON_V1", environment("clients", "-v1")?),
        ("AQUIFER_TEST_PYTHON_V2", environment("clients", "-v2")?),
        ("AQUIFER_TEST_SERVERS_NPM", packages("servers")?),
        ("AQUIFER_TEST_SERVERS_PYTHON", environment("servers", "")?),
        ("AQUIFER_TEST_SERVERS_SQLITE", environment("servers", "-sqlite")?),
        ("AQUIFER_TEST_DESCRIPTIONS", packages("descriptions")?),
        ("AQUIFER_TEST_MOCK", packages("mock")?),
    ];
    variables.extend(browser);
    Ok(variables)
}

/// The environment variables through which programs find a browser and the packages that drive it.
pub(crate) fn browser() -> Result<[(&'static str, PathBuf); 3]> {
    ensure(&[CHROMIUM])?;
    let pages = ("AQUIFER_TEST_HEADLESS", headless());
    Ok([("AQUIFER_TEST_BROWSER", packages("browser")?), ("AQUIFER_TEST_CHROMIUM", chromium()), pages])
}

/// Installs the packages pinned in a folder of `tests`.
pub(crate) fn packages(folder: &str) -> Result<PathBuf> {
    let home = target().join(folder).join("npm");
    npm(&root().join("tests").join(folder), &home).map(|()| home)
}

/// Installs exactly the packages in `package-lock.json`.
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

/// A Node.js that is new enough: the system's, or else one from npm.
pub(crate) fn node() -> Result<PathBuf> {
    let home = target().join("node");
    let major = output("node", &["--version"])
        .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse::<u32>().ok());
    if major.is_some_and(|major| major >= MIN_NODE) {
        return Ok("node".into());
    }
    once(&home, NODE_PACKAGE, || {
        fs::write(home.join("package.json"), "{\"private\": true}")?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-save", NODE_PACKAGE]).current_dir(&home);
        run(&mut npm, REGISTRY)
    })?;
    Ok(home.join("node_modules/node/bin/node"))
}

/// The search path with a Python environment without packages in front. Tests start hundreds of short Python programs, and
/// the shims of version managers and the packages of the system make each start several times as long.
fn path_with_python() -> Result<PathBuf> {
    let home = target().join("clients/python");
    once(&home, &python_version()?, || python_environment(&home, &["--without-pip"]))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [home.join("venv/bin")].into_iter().chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(folders).context("a folder of PATH contains a colon")?.into())
}

/// A Python environment with exactly the required packages.
pub(crate) fn python(requirements: &Path, home: &Path) -> Result<PathBuf> {
    python_with(requirements, home, &[])
}

/// A Python environment with the required packages and none that they depend on.
pub(crate) fn python_without_dependencies(requirements: &Path, home: &Path) -> Result<PathBuf> {
    python_with(requirements, home, &["--no-deps"])
}

fn python_with(requirements: &Path, home: &Path, options: &[&str]) -> Result<PathBuf> {
    let version = python_version()?;
    let python = home.join("venv/bin/python");
    once(home, &format!("{version}\n{}", read(requirements)?), || {
        let pip = python_with_pip()?;
        python_environment(home, &["--without-pip"])?;
        let mut install = Command::new(pip);
        install.args(["-m", "pip", "--python"]).arg(&python);
        // What is imported is compiled then; most modules never are.
        install.args(["install", "--quiet", "--disable-pip-version-check", "--no-compile"]).args(options);
        run(install.arg("--requirement").arg(requirements), REGISTRY)
    })?;
    Ok(python)
}

/// The pip that installs into every environment: copying one into each takes longer than most installations.
fn python_with_pip() -> Result<PathBuf> {
    let home = target().join("pip");
    once(&home, &python_version()?, || python_environment(&home, &[]))?;
    Ok(home.join("venv/bin/python"))
}

/// Makes an empty Python environment.
fn python_environment(home: &Path, options: &[&str]) -> Result<()> {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).args(options).arg(home.join("venv"));
    run(&mut venv, "Install Python's venv module.")
}

fn python_version() -> Result<String> {
    output("python3", &["--version"]).context("python3 does not run")
}

/// A cargo subcommand: the installed one, or one of this version, built under the target directory. Building it takes a
/// few minutes, once.
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
    // Unoptimized: it runs for a second and would take twice as long to build.
    let mut install = cargo(&["install", name, "--version", version, "--locked", "--debug", "--force"]);
    install.arg("--root").arg(&tools);
    run(&mut install, &format!("Check that crates.io can be reached, or install {name} yourself."))?;
    Ok(built)
}

/// Creates the content of `home` unless it was created from the same pins. An interrupted attempt leaves no record, so
/// it is repeated.
///
/// Several tasks may run at the same time, so the second one waits.
fn once(home: &Path, pins: &str, make: impl FnOnce() -> Result<()>) -> Result<()> {
    let record = home.join("installed");
    let _lock = lock(&home.with_extension("lock"))?;
    if fs::read_to_string(&record).is_ok_and(|installed| installed == pins) {
        return Ok(());
    }
    announce(&format!("make {}", home.display()));
    if home.exists() {
        fs::remove_dir_all(home).with_context(|| format!("cannot clear {}", home.display()))?;
    }
    fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
    make()?;
    fs::write(&record, pins).with_context(|| format!("cannot write {}", record.display()))
}

/// Waits for a lock, which ends with the returned file.
fn lock(path: &Path) -> Result<fs::File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let file = fs::File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}
