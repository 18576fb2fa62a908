//! A faulty upstream, and the client that calls it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use aquifer_bench::http::Address;
use serde_json::Value;

use crate::ask::Asker;

pub(crate) struct Patient {
    /// Its name in the gateway.
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) asker: Asker,
    pub(crate) script: PathBuf,
    /// The content of this file becomes part of a tool definition.
    pub(crate) variant: PathBuf,
    /// While this file exists, the upstream may exit at startup.
    pub(crate) broken: PathBuf,
    /// The server process, if the gateway does not start it.
    pub(crate) served: Option<Served>,
}

impl Patient {
    /// The name of the operation for one of its tools.
    pub(crate) fn operation(&self, tool: &str) -> String {
        format!("{}_{tool}", self.name)
    }

    /// Calls one of its tools through the gateway.
    pub(crate) fn ask(&mut self, tool: &str, params: &Value) -> anyhow::Result<Value> {
        self.asker.ask(&self.operation(tool), params)
    }
}

/// The scripted server over HTTP, started by this program.
pub(crate) struct Served {
    process: Child,
    port: u16,
}

impl Served {
    pub(crate) fn start(script: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new("python3").arg(script).args(["--http", "0"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no stdout")?).read_line(&mut line)?;
        Ok(Self { port: line.trim().parse().context("the server did not say its port")?, process })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
