//! The archive: unpacked into a folder like `~/.local`, and removed by its list of files.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::agent::Agent;
use super::listing::Listing;
use super::process::{Environment, bounded, measured, run, word};
use super::{Measurement, Subject, is_available};
use crate::dist::package::Kind;
use crate::install::Requirement;
use crate::step::output;

const GROFF: Requirement = Requirement {
    name: "groff, which formats manual pages",
    is_met: || output("groff", &["--version"]).is_some(),
    packages: &["groff-base"],
    hint: "your system's packages",
};

pub(super) fn check(subject: &Subject, agent: &Agent) -> Result<Measurement> {
    let environment = Environment::new(subject.work("tar"))?;
    let archive = subject.host_package(Kind::Tarball)?;
    let prefix = environment.path("home/.local");
    fs::create_dir_all(&prefix)?;
    let before = Listing::read(&environment.folder, &[])?;
    let tar = |arguments: &[&str]| {
        let mut tar = bounded("tar", &environment);
        tar.args(arguments).arg(&archive);
        tar
    };
    let (_, install) =
        measured(|| run(tar(&["-x", "--strip-components=1", "-C", &word(&prefix), "-zf"]).arg("--no-same-owner")))?;
    let program = prefix.join("bin/aquifer");
    let database = environment.path("shop.db");
    let answer = agent.query(&[word(&program)], &environment, &database, &word(&database))?;
    agent.use_demo(&[word(&program)], &environment, &subject.parts.release)?;
    let script = prefix.join("share/bash-completion/completions/aquifer");
    run(bounded("bash", &environment).arg("-n").arg(script))?;
    if is_available(GROFF) {
        manuals_are_well_formed(&prefix.join("share/man/man1"), &environment)?;
    }

    let listed = run(&mut tar(&["-tzf"]))?;
    let mut paths: Vec<&str> = listed.lines().filter_map(|line| line.split_once('/').map(|(_, path)| path)).collect();
    paths.retain(|path| !path.is_empty());
    // Folders after their content.
    for path in paths.iter().rev() {
        let place = prefix.join(path);
        let removed = if path.ends_with('/') { fs::remove_dir(&place) } else { fs::remove_file(&place) };
        removed.with_context(|| format!("cannot remove {path}"))?;
    }
    subject.remove_state(&environment)?;
    before.expect_same(&Listing::read(&environment.folder, &[])?)?;
    Ok(Measurement { kind: Kind::Tarball, install, answer })
}

/// Formats every manual page and accepts no warning.
fn manuals_are_well_formed(folder: &std::path::Path, environment: &Environment) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let page = entry?.path();
        let formatted = run(bounded("groff", environment).args(["-man", "-Tutf8", "-ww", "-z"]).arg(&page))?;
        ensure!(formatted.trim().is_empty(), "{}: {formatted}", page.display());
    }
    Ok(())
}
