//! A server and a connection to it, whatever the transport.

use anyhow::{Context, bail};
use aquifer_bench::mcp::{Prepared, Ready, check_success};
use aquifer_bench::process::Server;

use crate::http::HttpConnection;
use crate::stdio::StdioConnection;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A server to measure, and the tool to call there.
pub(crate) struct Target {
    pub(crate) tool: String,
    transport: Transport,
    server: Vec<String>,
}

impl Target {
    pub(crate) fn read(transport: Transport, words: &[String]) -> anyhow::Result<Self> {
        match words {
            [tool, server @ ..] if !server.is_empty() => {
                Ok(Self { tool: tool.clone(), transport, server: server.to_vec() })
            }
            _ => bail!("a server is described as -- TOOL COMMAND… or -- TOOL URL"),
        }
    }

    /// Starts the server, if it is ours to start, and connects to it.
    pub(crate) fn connect(&self) -> anyhow::Result<Connected> {
        let (program, arguments) = self.server.split_first().context("no command")?;
        match self.transport {
            Transport::Stdio => {
                let (server, pipes) = Server::on_pipes(program, arguments)?;
                let connection = Connection::Stdio(StdioConnection::open(pipes)?);
                Ok(Connected { server: Some(server), connection })
            }
            Transport::Http if program.starts_with("http://") => {
                Ok(Connected { server: None, connection: Connection::Http(HttpConnection::open(program)?) })
            }
            Transport::Http => {
                let (server, url) = Server::on_http(program, arguments)?;
                let connection = Connection::Http(HttpConnection::open(&url)?);
                Ok(Connected { server: Some(server), connection })
            }
        }
    }
}

pub(crate) struct Connected {
    pub(crate) server: Option<Server>,
    pub(crate) connection: Connection,
}

pub(crate) enum Connection {
    Stdio(StdioConnection),
    Http(HttpConnection),
}

impl Connection {
    /// Makes a request sendable many times.
    pub(crate) fn prepare(&self, request: &Prepared) -> Ready {
        match self {
            Connection::Stdio(_) => StdioConnection::prepare(request),
            Connection::Http(connection) => connection.prepare(request),
        }
    }

    /// Sends the request and waits for its answer.
    pub(crate) fn send(&mut self, ready: &Ready) -> anyhow::Result<&[u8]> {
        match self {
            Connection::Stdio(connection) => connection.send(ready),
            Connection::Http(connection) => connection.send(ready),
        }
    }

    /// Sends the request once and looks at the whole answer: a fast failure must not pass for a fast answer.
    pub(crate) fn send_checked(&mut self, ready: &Ready) -> anyhow::Result<()> {
        check_success(self.send(ready)?)
    }
}
