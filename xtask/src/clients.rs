//! Clients nobody here wrote, for the tests that speak to the server as its users do: the official MCP SDKs from npm
//! and PyPI, at the versions pinned in `tests/clients`. Installed once, again when a pin or an interpreter changes.

use std::path::PathBuf;

use anyhow::Result;

use crate::install;
use crate::step::{announce, root, target};
use crate::system::ensure;

/// What the TypeScript SDK asks for.
const NODE_AT_LEAST: u32 = 20;
/// What is installed from npm where the machine's Node.js is older.
const NODE_INSTEAD: &str = "node@22.23.3";

/// Installs the clients. The answer is the environment in which the tests find them.
pub(crate) fn install() -> Result<Vec<(&'static str, PathBuf)>> {
    announce("check for Node.js and Python");
    ensure(&install::NEEDS)?;
    let (pins, clients) = (root().join("tests/clients"), target().join("clients"));
    let packages = clients.join("npm");
    install::npm(&pins, &packages)?;
    Ok(vec![
        ("AQUIFER_TEST_CLIENTS_DIR", packages),
        ("AQUIFER_TEST_NODE", install::node(NODE_AT_LEAST, NODE_INSTEAD, &clients.join("node"))?),
        ("AQUIFER_TEST_PYTHON_V1", install::python(&pins.join("requirements-v1.txt"), &clients.join("python-v1"))?),
        ("AQUIFER_TEST_PYTHON_V2", install::python(&pins.join("requirements-v2.txt"), &clients.join("python-v2"))?),
    ])
}
