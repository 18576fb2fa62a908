//! MCP servers nobody here wrote, for the tests that put them behind us: from npm and PyPI, at the versions pinned in
//! `tests/servers`. Installed once, again when a pin or an interpreter changes.

use std::path::PathBuf;

use anyhow::Result;

use crate::install;
use crate::step::{announce, root, target};
use crate::system::ensure;

/// Installs the servers. The answer is the environment in which the tests find them.
pub(crate) fn install() -> Result<Vec<(&'static str, PathBuf)>> {
    announce("check for Node.js and Python");
    ensure(&install::NEEDS)?;
    let (pins, servers) = (root().join("tests/servers"), target().join("servers"));
    let packages = servers.join("npm");
    install::npm(&pins, &packages)?;
    let python = install::python(&pins.join("requirements.txt"), &servers.join("python"))?;
    let sqlite = install::python(&pins.join("requirements-sqlite.txt"), &servers.join("python-sqlite"))?;
    Ok(vec![
        ("AQUIFER_TEST_SERVERS_NPM", packages),
        ("AQUIFER_TEST_SERVERS_PYTHON", python),
        ("AQUIFER_TEST_SERVERS_SQLITE", sqlite),
    ])
}
