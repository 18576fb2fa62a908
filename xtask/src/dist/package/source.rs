//! The archive of the sources, and the Homebrew formula that builds from it.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Kind, Package, text};
use crate::dist::archive::{Format, gzip};
use crate::dist::checksum::sha256;
use crate::dist::release::{REPOSITORY, Release};
use crate::step::root;

/// The sources of the commit. `git archive` sorts entries and uses the time of the commit.
pub(crate) fn source_archive(release: &Release, format: Format) -> Result<Package> {
    let prefix = format!("aquifer-{}", release.version);
    let mut git = Command::new("git");
    git.args(["archive", "--format=tar", &format!("--prefix={prefix}/"), "HEAD"]).current_dir(root());
    let done = git.output().context("git does not run")?;
    ensure!(done.status.success(), "git archive failed: {}", String::from_utf8_lossy(&done.stderr));
    let bytes = gzip(&done.stdout, format)?;
    Ok(Package { kind: Kind::Source, file: format!("{prefix}.tar.gz"), bytes, installed_size: done.stdout.len() })
}

/// The formula for this release: the template with the address and the hash of the sources.
pub(crate) fn formula(release: &Release, source: &Package) -> Result<String> {
    let address = format!("{REPOSITORY}/releases/download/v{}/{}", release.version, source.file);
    let template = text("packaging/homebrew/aquifer.rb")?;
    let stable = format!("url \"{address}\"\n  sha256 \"{}\"", sha256(&source.bytes));
    ensure!(template.contains("# RELEASE"), "packaging/homebrew/aquifer.rb has no place for the release");
    Ok(template.replace("# RELEASE", &stable))
}
