//! A server and a connection to it, whatever the transport.

use anyhow::{Context, bail, ensure};

use crate::http::HttpConnection;
use crate::process::Server;
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

/// A request ready to be sent but for its id.
pub(crate) struct Prepared {
    pub(crate) method: &'static str,
    /// The tool's name, which newer HTTP requests repeat in a header.
    pub(crate) name: Option<String>,
    /// The members of `params`, without braces around them.
    pub(crate) params: String,
}

impl Prepared {
    pub(crate) fn list() -> Self {
        Self { method: "tools/list", name: None, params: String::new() }
    }

    pub(crate) fn call(tool: &str, arguments: &str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        Self { method: "tools/call", name: Some(tool.to_owned()), params }
    }
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
        let answer = String::from_utf8_lossy(self.send(ready)?).into_owned();
        let failed = [r#""isError":true"#, r#""success":false"#].iter().any(|sign| answer.contains(sign));
        ensure!(!failed, "the server refused the request: {}", shortened(&answer));
        Ok(())
    }
}

/// The bytes of a request around its id.
pub(crate) struct Ready {
    pub(crate) before: Vec<u8>,
    pub(crate) after: Vec<u8>,
}

/// Ids of one length, so that a request's length is known beforehand.
pub(crate) const FIRST_ID: u64 = 10_000_000;

/// An answer begins like this, then comes its id, then `,"result":`.
const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const RESULT: &[u8] = br#","result":"#;

/// Whether the bytes are the result of the request with this id. Looks at the beginning only.
pub(crate) fn check(answer: &[u8], id: &str) -> anyhow::Result<()> {
    let is_result = answer
        .strip_prefix(ANSWER)
        .and_then(|rest| rest.strip_prefix(id.as_bytes()))
        .is_some_and(|rest| rest.starts_with(RESULT));
    ensure!(is_result, "expected the result of request {id}, got: {}", shortened(&String::from_utf8_lossy(answer)));
    Ok(())
}

fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}
