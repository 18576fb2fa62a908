//! `cargo xtask dist`: builds packages, and with `--check` installs each of them into an empty environment, uses it and
//! removes it again.

mod archive;
mod build;
mod calendar;
mod check;
mod checksum;
mod manual;
mod package;
mod platform;
mod release;
mod sbom;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::step::{announce, target};
use archive::{Effort, Format};
use package::{Kind, Package, Parts};
use platform::Platform;
use release::Release;

pub(crate) const USAGE: &str = "\
Usage: cargo xtask dist [--check] [--quick] [--binary PATH] [--update-docs]

Writes packages to target/dist/packages: npm, Python wheel, Debian, tar.gz, sources, the folder of a container image, a
Homebrew formula, a bill of materials (CycloneDX) and SHA256SUMS. The binaries are static and release builds.
Packing the same commit again gives the same bytes.

  --check         install every package into an empty environment, serve the demo and a SQLite file to an MCP client, remove
                  the package and look for leftovers; check container file, compose file, formula, Nix expression, service
                  and bill of materials
  --quick         compress little, and pack the debug binary of this machine: tests the packages without a release build
  --binary PATH   pack this binary
  --update-docs   with --check: write sizes and times to bench/figures, and the table into docs/performance.md";

/// The arguments.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    is_checked: bool,
    is_quick: bool,
    updates_docs: bool,
    /// The binary to pack, instead of building one.
    binary: Option<PathBuf>,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Self::default();
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "--check" => options.is_checked = true,
                "--quick" => options.is_quick = true,
                "--update-docs" => options.updates_docs = true,
                "--binary" => options.binary = Some(words.next().context("--binary needs a path")?.into()),
                _ => bail!("unknown argument '{word}'\n\n{USAGE}"),
            }
        }
        if options.updates_docs && (!options.is_checked || options.is_quick) {
            bail!("--update-docs needs --check without --quick\n\n{USAGE}");
        }
        Ok(options)
    }
}

/// The folder for everything of this task.
fn home() -> PathBuf {
    target().join("dist")
}

/// The binary in the packages for this machine.
pub(crate) fn host_binary() -> Result<PathBuf> {
    let binary = build::binary(Platform::host()?);
    ensure!(binary.is_file(), "there is no {}: build the packages with cargo xtask dist first", binary.display());
    Ok(binary)
}

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    build_packages(&Options::parse(arguments)?, check::run)
}

/// What every push checks of the packages: that all are made, and that the archive of this machine works.
pub(crate) fn check_archive() -> Result<()> {
    let options = Options { is_checked: true, is_quick: true, ..Options::default() };
    build_packages(&options, |subject, _| check::archive(subject))
}

/// Builds the packages, and checks them if the options say so.
fn build_packages(options: &Options, check: impl FnOnce(&check::Subject<'_>, bool) -> Result<()>) -> Result<()> {
    let started = Instant::now();
    let (folder, work) = (home().join("packages"), home().join("work"));
    for folder in [&folder, &work] {
        if folder.exists() {
            fs::remove_dir_all(folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    }
    let release = Release::read()?;
    let effort = if options.is_quick { Effort::Fast } else { Effort::Best };
    let binaries = match &options.binary {
        Some(path) => vec![build::stripped(path, &work)?],
        None if options.is_quick => vec![build::debug_binary(&work)?],
        None => build::release_binaries(&release)?,
    };
    announce(&format!("pack version {} of {}", release.version, release.commit));
    let [runnable, ..] = binaries.as_slice() else { bail!("there is nothing to pack") };
    let all: Vec<Parts> =
        binaries.iter().map(|binary| Parts::collect(&release, binary, runnable, effort)).collect::<Result<_>>()?;
    let packages = pack(&release, &all, effort, &folder)?;
    for package in &packages {
        println!("  {:>11}  {}", format!("{:.2} MB", megabytes(package.bytes.len())), package.file);
    }
    announce(&format!("{} packages in {}, after {} s", packages.len(), folder.display(), started.elapsed().as_secs()));
    if options.is_checked {
        let host = Platform::host()?;
        let parts = all.iter().find(|parts| parts.platform == host).context("no package is for this machine")?;
        check(&check::Subject { parts, packages: &packages, folder: &folder }, options.updates_docs)?;
    }
    Ok(())
}

/// Packs everything and writes it to the folder.
fn pack(release: &Release, all: &[Parts], effort: Effort, folder: &Path) -> Result<Vec<Package>> {
    let format = Format { time: release.time, effort };
    let platforms: Vec<Platform> = all.iter().map(|parts| parts.platform).collect();
    let mut packages = vec![package::npm_main(release, &platforms, format)?, package::source_archive(release, format)?];
    for parts in all {
        packages.extend(parts.packages()?);
    }
    let source = packages.iter().find(|package| package.kind == Kind::Source).context("no sources")?;
    let mut others = vec![("aquifer.rb".to_owned(), package::formula(release, source)?)];
    for platform in platforms {
        let file = format!("aquifer-{}-{}-linux.cdx.json", release.version, platform.python());
        others.push((file, sbom::write(release, platform)?));
    }
    let files = packages.iter().map(|package| (package.file.as_str(), package.bytes.as_slice()));
    let files = files.chain(others.iter().map(|(name, text)| (name.as_str(), text.as_bytes())));
    let sums = checksum::sums(files.clone());
    for (name, bytes) in files.chain([("SHA256SUMS", sums.as_bytes())]) {
        fs::write(folder.join(name), bytes).with_context(|| format!("cannot write {name}"))?;
    }
    package::container_context(all)?.write(&folder.join("container"))?;
    Ok(packages)
}

/// Bytes as millions of bytes.
fn megabytes(bytes: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "it is shown with two digits")]
    let bytes = bytes as f64;
    bytes / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_checked() {
        let parse = |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        let quick = Options { is_checked: true, is_quick: true, ..Options::default() };
        assert_eq!(parse(&["--check", "--quick"]).ok(), Some(quick));
        for words in [&["--binary"][..], &["--update-docs"], &["--check", "--quick", "--update-docs"], &["fly"]] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }
}
