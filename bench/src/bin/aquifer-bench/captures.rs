//! Stub servers that list the tools of real servers, from captures. Their tools are not called.

use std::path::{Path, PathBuf};

use aquifer_report::root;
use serde_json::{Map, Value, json};

use crate::Bench;

/// Ten captured servers from the tests, by file name and title.
pub(crate) const CAPTURES: [(&str, &str); 10] = [
    ("time", "Time"),
    ("sqlite", "SQLite"),
    ("everything", "Everything"),
    ("git", "Git"),
    ("filesystem", "Filesystem"),
    ("memory", "Memory"),
    ("github", "GitHub"),
    ("playwright", "Playwright"),
    ("kubernetes-containers", "Kubernetes"),
    ("sentry", "Sentry"),
];

pub(crate) fn capture(name: &str) -> PathBuf {
    root().join(format!("crates/aquifer-discovery/tests/discovery/captures/{name}.json"))
}

/// A short server name, because a long one would be truncated as an operation prefix.
pub(crate) fn short_name(name: &str) -> &str {
    name.split('-').next().unwrap_or(name)
}

impl Bench {
    /// The command of a stub that lists the tools of a capture.
    pub(crate) fn stub(&self, capture: &Path) -> Vec<String> {
        vec![self.program("bench-stub"), capture.display().to_string()]
    }

    /// Creates a folder in the benchmark's home.
    pub(crate) fn folder(&self, name: &str) -> anyhow::Result<PathBuf> {
        let folder = self.home.join(name);
        std::fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Writes an `mcpServers` file, which all gateways can read.
    pub(crate) fn servers_file(&self, name: &str, servers: &[(&str, Vec<String>)]) -> anyhow::Result<String> {
        let path = self.folder("bench-gateway")?.join(format!("{name}.json"));
        let entry = |(name, command): &(&str, Vec<String>)| {
            let (program, arguments) = command.split_first()?;
            Some(((*name).to_owned(), json!({ "command": program, "args": arguments })))
        };
        let servers: Map<String, Value> = servers.iter().filter_map(entry).collect();
        std::fs::write(&path, json!({ "mcpServers": servers }).to_string())?;
        Ok(path.display().to_string())
    }

    /// Writes an `mcpServers` file with stubs for all captures.
    pub(crate) fn all_captures_file(&self) -> anyhow::Result<String> {
        self.servers_file("ten", &CAPTURES.map(|(name, _)| (short_name(name), self.stub(&capture(name)))))
    }

    /// Writes a configuration that requires no confirmation, like the other gateways.
    pub(crate) fn unguarded_config(&self) -> anyhow::Result<String> {
        let path = self.folder("bench-gateway")?.join("unguarded.toml");
        std::fs::write(&path, aquifer_bench::UNGUARDED)?;
        Ok(path.display().to_string())
    }
}
