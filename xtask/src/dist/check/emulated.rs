//! The archive for ARM64 on a machine with another processor: its program runs in an emulator.

use std::fs;

use anyhow::Result;

use super::agent::Agent;
use super::process::{Environment, bounded, run, word};
use super::{Subject, is_available};
use crate::dist::package::Kind;
use crate::dist::platform::Platform;
use crate::install::Requirement;
use crate::step::{announce, output};

const EMULATOR: &str = "qemu-aarch64-static";
const QEMU: Requirement = Requirement {
    name: "qemu-aarch64-static, which runs programs for ARM64",
    is_met: || output(EMULATOR, &["--version"]).is_some(),
    packages: &["qemu-user-static"],
    hint: "your system's packages",
};

pub(super) fn check(subject: &Subject, agent: &Agent) -> Result<()> {
    let platform = Platform::LinuxArm64;
    let is_archive = |file: &str| file.contains(platform.python());
    let mut archives = subject.packages.iter().filter(|package| package.kind == Kind::Tarball);
    let Some(archive) = archives.find(|package| is_archive(&package.file)) else { return Ok(()) };
    if subject.parts.platform == platform || !is_available(QEMU) {
        return Ok(());
    }
    announce("ARM64: unpack the archive and use it in an emulator");
    let environment = Environment::new(subject.work("arm64"))?;
    let prefix = environment.path("home/.local");
    fs::create_dir_all(&prefix)?;
    let mut tar = bounded("tar", &environment);
    tar.args(["-x", "--strip-components=1", "--no-same-owner", "-C", &word(&prefix), "-zf"]);
    run(tar.arg(subject.folder.join(&archive.file)))?;
    let program = [EMULATOR.to_owned(), word(&prefix.join("bin/aquifer"))];
    let database = environment.path("shop.db");
    agent.query(&program, &environment, &database, &word(&database))?;
    agent.use_demo(&program, &environment, &subject.parts.release)
}
