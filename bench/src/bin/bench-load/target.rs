//! A server and how it is asked: MCP, a posted body, or a plain GET.

use anyhow::{Context, bail, ensure};
use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready, shortened};
use aquifer_bench::process::Server;

use crate::answer::{self, Shown, Size};

/// How a server is asked.
enum Asked {
    Mcp { tool: String, arguments: String },
    Post { body: String },
    Get { path: String },
}

/// A server to measure.
pub(crate) struct Target {
    asked: Asked,
    command: Vec<String>,
}

/// A server that runs, and the request to send.
pub(crate) struct Running {
    pub(crate) server: Server,
    request: Vec<u8>,
    shown: Shown,
    address: Address,
}

impl Target {
    pub(crate) fn read(words: &[String]) -> anyhow::Result<Self> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let (asked, command) = match words.as_slice() {
            ["mcp", tool, arguments, command @ ..] => {
                (Asked::Mcp { tool: (*tool).to_owned(), arguments: (*arguments).to_owned() }, command)
            }
            ["post", body, command @ ..] => (Asked::Post { body: (*body).to_owned() }, command),
            ["get", path, command @ ..] => (Asked::Get { path: (*path).to_owned() }, command),
            _ => bail!("a server is described as mcp TOOL ARGUMENTS, post BODY or get PATH, and the command"),
        };
        Ok(Self { asked, command: command.iter().map(|word| (*word).to_owned()).collect() })
    }

    pub(crate) fn start(&self) -> anyhow::Result<Running> {
        let (program, arguments) = self.command.split_first().context("no command")?;
        let (server, url) = Server::on_http(program, arguments)?;
        let address = Address::read(&url)?;
        let host = &address.authority;
        let (request, shown) = match &self.asked {
            Asked::Mcp { tool, arguments } => {
                let mut request = Vec::new();
                let ready = Ready::over_http(&Prepared::call(tool, arguments), &address);
                // Without a session nobody compares ids.
                ready.write(&FIRST_ID.to_string(), &mut request);
                (request, Shown::Text)
            }
            Asked::Post { body } => {
                let request = format!(
                    "POST {} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
                     Accept: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                    address.path,
                    body.len()
                );
                (request.into_bytes(), Shown::Whole)
            }
            Asked::Get { path } => {
                let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\r\n");
                (request.into_bytes(), Shown::Whole)
            }
        };
        Ok(Running { server, request, shown, address })
    }
}

impl Running {
    /// One answer, and its size.
    pub(crate) fn first_answer(&self, rows: Option<usize>) -> anyhow::Result<Size> {
        let mut connection = Http::open(&self.address)?;
        answer::measure(connection.exchange(&self.request)?, self.shown, rows)
    }

    /// A client that takes every answer for a failure that is much smaller than the first was.
    pub(crate) fn client(&self, first: &Size) -> anyhow::Result<Client<'_>> {
        Ok(Client { connection: Http::open(&self.address)?, request: &self.request, least: first.bytes / 10 * 9 })
    }
}

/// One of many clients.
pub(crate) struct Client<'a> {
    connection: Http,
    request: &'a [u8],
    least: usize,
}

impl Client<'_> {
    pub(crate) fn ask(&mut self) -> anyhow::Result<()> {
        let answer = self.connection.exchange(self.request)?;
        ensure!(answer.len() >= self.least, "an answer is too short: {}", shortened(&String::from_utf8_lossy(answer)));
        Ok(())
    }
}
