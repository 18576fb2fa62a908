//! `cargo xtask dist --check`: installs each package into an empty environment, lets an agent use it, removes it and looks
//! for leftovers.

mod agent;
mod compose;
mod container;
mod debian;
mod emulated;
mod lint;
mod listing;
mod npm;
mod process;
mod tarball;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use aquifer_report::Table;
use serde_json::{Value, json};

use super::home;
use super::megabytes;
use super::package::{Kind, Package, Parts};
use crate::install::{self, Requirement, is_root};
use crate::step::{announce, root};
use agent::Agent;
use process::{Cost, Environment};

/// What is checked.
pub(crate) struct Subject<'a> {
    /// The parts of the packages for this machine.
    pub(crate) parts: &'a Parts,
    pub(crate) packages: &'a [Package],
    /// Where the packages are.
    pub(crate) folder: &'a Path,
}

/// Programs from PyPI and npm that check files.
struct Tools {
    /// The interpreter; programs are beside it.
    python: PathBuf,
    npm: PathBuf,
}

/// The time from nothing to a working agent.
struct Measurement {
    kind: Kind,
    install: Cost,
    /// From the start of the client until it has its answers.
    answer: Cost,
}

impl Subject<'_> {
    fn work(&self, name: &str) -> PathBuf {
        home().join("work").join(name)
    }

    /// The path of the package for this machine.
    fn host_package(&self, kind: Kind) -> Result<PathBuf> {
        self.package(kind).map(|package| self.folder.join(&package.file))
    }

    fn package(&self, kind: Kind) -> Result<&Package> {
        let machine = [self.parts.platform.debian(), self.parts.platform.python(), self.parts.platform.npm().1];
        let is_here =
            |package: &&Package| package.kind == kind && machine.iter().any(|name| package.file.contains(name));
        self.packages.iter().find(is_here).with_context(|| format!("no package of the kind {kind:?} for this machine"))
    }

    /// Removes what Aquifer itself has stored, as the documentation tells people to: packages do not delete data of users.
    fn remove_state(&self, environment: &Environment) -> Result<()> {
        fs::remove_dir_all(environment.path("state")).context("there is no state directory where it should be")
    }
}

pub(crate) fn run(subject: &Subject, updates_docs: bool) -> Result<()> {
    let started = Instant::now();
    let agent = Agent::install()?;
    let tools = install_tools()?;
    lint::check(subject, &agent, &tools).context("a file is not as it should be")?;
    announce("compose file: its database, secrets and configuration, without containers");
    compose::check(subject).context("the compose file")?;
    let mut measurements = Vec::new();
    announce("npm: install from a registry, use, remove");
    measurements.push(npm::check(subject, &agent).context("the npm packages")?);
    announce("Python wheel: install with pip, use, remove; uvx");
    measurements.push(wheel::check(subject, &agent, &tools).context("the Python wheel")?);
    announce("tar.gz: unpack, use, remove");
    measurements.push(tarball::check(subject, &agent).context("the archive")?);
    emulated::check(subject, &agent).context("the archive for ARM64")?;
    if is_root() {
        announce("Debian package: install in a minimal Debian, use, upgrade, purge");
        measurements.push(debian::check(subject, &agent).context("the Debian package")?);
        announce("container image: run as a folder, without a daemon");
        container::check(subject, &agent).context("the container image")?;
    } else {
        announce("NOT CHECKED: the Debian package and the container image need root");
    }
    let table = table(subject, &measurements)?;
    table.print()?;
    if updates_docs {
        table.write("packages")?;
        aquifer_report::update_pages()?;
    }
    announce(&format!("all packages passed in {} s", started.elapsed().as_secs()));
    Ok(())
}

/// Checks the archive for this machine alone.
pub(crate) fn archive(subject: &Subject<'_>) -> Result<()> {
    let agent = Agent::install()?;
    announce("tar.gz: unpack, use, remove");
    tarball::check(subject, &agent).context("the archive")?;
    Ok(())
}

/// Whether a program is there or can be installed. Its check is left out otherwise, not silently: it reads files that most
/// changes do not touch, on systems where the program may be hard to get.
fn is_available(requirement: Requirement) -> bool {
    let name = requirement.name;
    install::ensure(&[requirement]).inspect_err(|_| announce(&format!("NOT CHECKED: there is no {name}"))).is_ok()
}

fn install_tools() -> Result<Tools> {
    let (pins, home) = (root().join("packaging/check"), home().join("tools"));
    let npm = home.join("npm");
    install::npm(&pins, &npm)?;
    Ok(Tools { python: install::python(&pins.join("requirements.txt"), &home.join("python"))?, npm })
}

/// Sizes and times of the packages for this machine.
fn table(subject: &Subject, measurements: &[Measurement]) -> Result<Table> {
    let titles =
        ["package", "download", "installed", "to install", "to the first answers", "together", "processor time"];
    let mut rows: Vec<Vec<Value>> = vec![titles.iter().map(|title| json!(title)).collect()];
    for measurement in measurements {
        let package = subject.package(measurement.kind)?;
        let together = measurement.install + measurement.answer;
        let name = match measurement.kind {
            Kind::Tarball => "tar.gz",
            Kind::NpmMain | Kind::NpmPlatform => "npm",
            Kind::Wheel => "Python wheel",
            Kind::Debian => "Debian",
            Kind::Source => "sources",
        };
        let size = |bytes: usize| json!(format!("{:.2} MB", megabytes(bytes)));
        let seconds = |seconds: f64| json!(format!("{seconds:.2} s"));
        rows.push(vec![
            json!(name),
            size(package.bytes.len()),
            size(package.installed_size),
            seconds(measurement.install.elapsed),
            seconds(measurement.answer.elapsed),
            seconds(together.elapsed),
            seconds(together.processor),
        ]);
    }
    Ok(Table::rows(rows).with("from files on the same machine, the client on Node.js included,"))
}
