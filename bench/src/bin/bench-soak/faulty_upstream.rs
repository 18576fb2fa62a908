//! A faulty upstream, and the client that calls it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use aquifer_bench::http::Address;
use serde_json::Value;

use crate::client::GatewayClient;

pub(crate) struct FaultyUpstream {
    /// Its name in the gateway.
    pub(crate) name: String,
    pub(crate) address: Address,
    pub(crate) client: GatewayClient,
    pub(crate) script: PathBuf,
    /// The content of this file becomes part of a tool definition.
    pub(crate) variant: PathBuf,
    /// While this file exists, the upstream may exit at startup.
    pub(crate) broken: PathBuf,
    /// The server process, if the gateway does not start it.
    pub(crate) http_server: Option<HttpServer>,
}

impl FaultyUpstream {
    /// The name of the operation for one of its tools.
    pub(crate) fn operation(&self, tool: &str) -> String {
        format!("{}_{tool}", self.name)
    }

    /// Calls one of its tools through the gateway.
    pub(crate) fn call(&mut self, tool: &str, params: &Value) -> anyhow::Result<Value> {
        self.client.call(&self.operation(tool), params)
    }
}

/// The scripted server over HTTP, started by this program.
pub(crate) struct HttpServer {
    process: Child,
    port: u16,
}

impl HttpServer {
    pub(crate) fn start(script: &Path) -> anyhow::Result<Self> {
        let mut process = Command::new("python3").arg(script).args(["--http", "0"]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().context("no stdout")?).read_line(&mut line)?;
        Ok(Self { port: line.trim().parse().context("the server did not print its port")?, process })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        // It may already have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
