//! The gateway: ours with an upstream behind it, beside the bare upstream and beside other gateways with the same one.

mod others;
mod times;
mod tokens;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::programs::{Programs, printed};
use super::table::Table;
use crate::install;
use crate::step::{announce, root, target};
use crate::system::ensure;

/// Other gateways and captured servers, installed, and what stands on disk for all.
pub(super) struct Gateways {
    compressor: PathBuf,
    fastmcp: PathBuf,
    mcp_proxy: PathBuf,
    node: PathBuf,
    captured: PathBuf,
    home: PathBuf,
}

/// What the captured servers ask for, and what is installed from npm where the machine's Node.js is older.
const NODE_AT_LEAST: u32 = 20;
const NODE_INSTEAD: &str = "node@22.23.3";

/// A configuration that asks nobody for confirmation.
const UNGUARDED: &str = "unguarded.toml";

/// Ten servers, as many as people have: those of which the tests hold captures.
const TEN: [&str; 10] = [
    "everything",
    "filesystem",
    "git",
    "github",
    "kubernetes-containers",
    "memory",
    "playwright",
    "sentry",
    "sqlite",
    "time",
];

impl Gateways {
    pub(super) fn install() -> Result<Self> {
        announce("check for Node.js and Python");
        ensure(&install::NEEDS)?;
        let (pins, peers) = (root().join("bench/peers"), target().join("bench-peers"));
        let python = |name: &str| {
            install::python(&pins.join(format!("requirements-{name}.txt")), &peers.join(format!("python-{name}")))
        };
        let captured = peers.join("captured");
        install::npm(&pins.join("captured"), &captured)?;
        let home = target().join("bench-gateway");
        fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
        fs::write(home.join(UNGUARDED), "[[gate.rule]]\noperation = \"*\"\neffect = \"allow\"\nloosen = true\n")?;
        Ok(Self {
            compressor: python("compressor")?,
            fastmcp: python("fastmcp")?,
            mcp_proxy: python("mcp-proxy")?,
            node: install::node(NODE_AT_LEAST, NODE_INSTEAD, &peers.join("node-captured"))?,
            captured,
            home,
        })
    }

    pub(super) fn measure(&self, programs: &Programs, table: &mut Table) -> Result<()> {
        times::all(self, programs, table)?;
        tokens::all(self, programs, table)
    }

    /// An `mcpServers` file, as every gateway reads it.
    fn servers_file(&self, name: &str, servers: &[(String, Vec<String>)]) -> Result<String> {
        let quoted = |word: &String| format!("{word:?}");
        let entries: Vec<String> = servers
            .iter()
            .filter_map(|(name, words)| {
                let (command, arguments) = words.split_first()?;
                let arguments: Vec<String> = arguments.iter().map(quoted).collect();
                Some(format!("{name:?}: {{\"command\": {command:?}, \"args\": [{}]}}", arguments.join(", ")))
            })
            .collect();
        let path = self.home.join(format!("{name}.json"));
        fs::write(&path, format!("{{\"mcpServers\": {{{}}}}}\n", entries.join(", ")))?;
        Ok(shown(&path))
    }

    /// Ten stubs that list what real servers did.
    fn ten(&self, programs: &Programs) -> Result<String> {
        let folder = root().join("crates/aquifer-discovery/tests/discovery/captures");
        let stub = |name: &str| stub(programs, &folder.join(format!("{name}.json")));
        self.servers_file("ten", &TEN.map(|name| (short(name).to_owned(), stub(name))))
    }

    /// `env STATE aquifer`, with a state directory of its own, where catalogues are kept.
    fn program(&self, programs: &Programs) -> Vec<String> {
        let state = format!("XDG_STATE_HOME={}", self.home.join("state").display());
        vec!["env".to_owned(), state, shown(&programs.program("aquifer"))]
    }

    /// Ours, asking nobody for confirmation: the others never do.
    fn ours(&self, programs: &Programs, words: &[&str]) -> Vec<String> {
        let mut command = self.program(programs);
        command.extend(["serve".to_owned(), "--config".to_owned(), shown(&self.home.join(UNGUARDED))]);
        command.extend(words.iter().map(|word| (*word).to_owned()));
        command
    }
}

/// What a server is called: a long name would be shortened where it prefixes operations.
fn short(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

/// A stub that lists the tools of a capture.
fn stub(programs: &Programs, capture: &Path) -> Vec<String> {
    vec![shown(&programs.program("bench-stub")), shown(capture)]
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a program of ours with servers described after `--`, each in words.
fn asked(programs: &Programs, program: &str, head: &[&str], servers: &[Vec<String>]) -> Result<String> {
    let mut command = Command::new(programs.program(program));
    command.args(head);
    for server in servers {
        command.arg("--").args(server);
    }
    printed(&mut command)
}
