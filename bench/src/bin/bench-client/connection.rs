//! A server and a connection to it, whatever the transport.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use aquifer_bench::http::Address;
use aquifer_bench::mcp::{Prepared, Ready, check_success};
use aquifer_bench::process::Server;

use crate::http::HttpConnection;
use crate::stdio::StdioConnection;

/// How long a server may take to listen where it says it does.
const LISTENING: Duration = Duration::from_secs(30);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A server to measure, and the tool to call there.
pub(crate) struct Target {
    pub(crate) tool: String,
    /// Arguments of the calls, where they are not those of all servers.
    pub(crate) call: Option<String>,
    transport: Transport,
    /// Where the server listens, if it does not say so itself.
    path: Option<String>,
    /// Whether it wants a session.
    in_session: bool,
    server: Vec<String>,
}

impl Target {
    pub(crate) fn read(transport: Transport, words: &[String]) -> anyhow::Result<Self> {
        let (tool, mut rest) = words.split_first().context("no tool")?;
        let mut target =
            Self { tool: tool.clone(), call: None, transport, path: None, in_session: false, server: Vec::new() };
        loop {
            rest = match rest {
                [option, value, after @ ..] if option == "--call" => {
                    target.call = Some(value.clone());
                    after
                }
                [option, value, after @ ..] if option == "--path" => {
                    target.path = Some(value.clone());
                    after
                }
                [option, after @ ..] if option == "--session" => {
                    target.in_session = true;
                    after
                }
                [] => bail!("a server is described as -- TOOL [OPTION…] COMMAND… or -- TOOL [OPTION…] URL"),
                server => {
                    target.server = server.to_vec();
                    return Ok(target);
                }
            };
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
                Ok(Connected { server: None, connection: self.over_http(program)? })
            }
            Transport::Http => {
                let (server, url) = Server::on_http(program, arguments)?;
                Ok(Connected { server: Some(server), connection: self.over_http(&url)? })
            }
        }
    }

    fn over_http(&self, url: &str) -> anyhow::Result<Connection> {
        let mut address = Address::read(url)?;
        if let Some(path) = &self.path {
            address.path.clone_from(path);
        }
        let deadline = Instant::now() + LISTENING;
        // Some say their address before they listen there.
        while let Err(problem) = TcpStream::connect(&address.authority) {
            ensure!(Instant::now() < deadline, "{} does not listen: {problem}", address.authority);
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(Connection::Http(HttpConnection::open(address, self.in_session)?))
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

    /// Many requests at once, which only stdio can carry on one connection.
    pub(crate) fn send_many(&mut self, ready: &Ready, count: usize, most: usize) -> anyhow::Result<()> {
        match self {
            Connection::Stdio(connection) => connection.send_many(ready, count, most),
            Connection::Http(_) => bail!("many at once over HTTP are bench-load's to measure"),
        }
    }
}
