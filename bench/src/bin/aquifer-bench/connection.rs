//! A server to measure, and one connection to it. The client is minimal (blocking, no JSON parser): its own cost is the
//! same for all servers.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use aquifer_bench::http::{Address, Http};
use aquifer_bench::mcp::{Dialect, FIRST_ID, INITIALIZE_PARAMS, Prepared, Ready, check, check_success};
use aquifer_bench::process::Server;

/// How long a server may take until it listens at the URL it printed.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(30);
const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
/// The beginning of every notification.
const NOTIFICATION: &[u8] = br#"{"jsonrpc":"2.0","method":"#;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

/// A server to measure, and the call to make.
#[derive(Clone)]
pub(crate) struct Target {
    /// Its name in the table.
    pub(crate) name: &'static str,
    pub(crate) transport: Transport,
    pub(crate) command: Vec<String>,
    pub(crate) tool: &'static str,
    /// The arguments of each call.
    pub(crate) call: String,
    /// The arguments of one call made before all others.
    pub(crate) prepare: Option<&'static str>,
    /// For HTTP sessions, as before revision 2026-07-28: the path of the endpoint, regardless of the URL that the
    /// server prints.
    pub(crate) session_path: Option<&'static str>,
}

impl Target {
    pub(crate) fn new(
        name: &'static str,
        transport: Transport,
        tool: &'static str,
        call: &str,
        command: Vec<String>,
    ) -> Self {
        Self { name, transport, command, tool, call: call.to_owned(), prepare: None, session_path: None }
    }

    /// Starts the server and connects to it.
    pub(crate) fn connect(&self) -> anyhow::Result<(Server, Connection)> {
        if self.transport == Transport::Stdio {
            let (server, write, read) = Server::start_stdio(&self.command)?;
            return Ok((server, Connection::on_stdio(write, read)?));
        }
        let (server, url) = Server::start_http(&self.command)?;
        let mut address = Address::read(&url)?;
        if let Some(path) = self.session_path {
            path.clone_into(&mut address.path);
        }
        let deadline = Instant::now() + LISTEN_TIMEOUT;
        // Some servers print their address before they listen.
        while let Err(problem) = TcpStream::connect(&address.authority) {
            ensure!(Instant::now() < deadline, "{} does not listen: {problem}", address.authority);
            std::thread::sleep(Duration::from_millis(2));
        }
        let dialect = if self.session_path.is_some() { Dialect::session(&address)? } else { Dialect::Stateless };
        let wire = Wire::Http { http: dialect.connect(&address)?, address, dialect };
        Ok((server, Connection { wire, out: Vec::new(), next: FIRST_ID }))
    }

    /// The call, ready to be sent.
    pub(crate) fn ready(&self, connection: &Connection) -> Ready {
        connection.prepare(&Prepared::call(self.tool, &self.call))
    }
}

pub(crate) struct Connection {
    wire: Wire,
    out: Vec<u8>,
    next: u64,
}

enum Wire {
    Stdio { write: ChildStdin, read: BufReader<ChildStdout>, answer: Vec<u8> },
    Http { http: Http, address: Address, dialect: Dialect },
}

impl Connection {
    fn on_stdio(write: ChildStdin, read: ChildStdout) -> anyhow::Result<Self> {
        let wire = Wire::Stdio { write, read: BufReader::with_capacity(64 * 1024, read), answer: Vec::new() };
        let mut connection = Self { wire, out: Vec::new(), next: FIRST_ID };
        let hello = Prepared { method: "initialize", name: None, params: INITIALIZE_PARAMS.to_owned() };
        connection.send(&connection.prepare(&hello))?;
        if let Wire::Stdio { write, .. } = &mut connection.wire {
            write.write_all(INITIALIZED)?;
        }
        Ok(connection)
    }

    /// Prepares a request for sending it many times.
    pub(crate) fn prepare(&self, request: &Prepared) -> Ready {
        match &self.wire {
            Wire::Stdio { .. } => Ready::on_stdio(request),
            Wire::Http { address, dialect, .. } => Ready::in_dialect(request, address, dialect),
        }
    }

    /// Sends the request and waits for its answer.
    pub(crate) fn send(&mut self, ready: &Ready) -> anyhow::Result<&[u8]> {
        let id = self.next.to_string();
        self.next += 1;
        ready.write(&id, &mut self.out);
        let answer = match &mut self.wire {
            Wire::Stdio { write, read, answer } => {
                write.write_all(&self.out)?;
                read_answer(read, answer)?;
                answer.as_slice()
            }
            Wire::Http { http, .. } => http.exchange(&self.out)?,
        };
        check(answer, &id)?;
        Ok(answer)
    }

    /// Sends the request once and checks the whole answer, so that a fast failure is not taken for a fast answer.
    pub(crate) fn send_checked(&mut self, ready: &Ready) -> anyhow::Result<()> {
        check_success(self.send(ready)?)
    }

    /// Lists the tools.
    pub(crate) fn list(&mut self) -> anyhow::Result<()> {
        self.send(&self.prepare(&Prepared::list())).map(drop)
    }

    /// Sends this many requests, with at most `max_open` unanswered, and accepts the answers in any order. Only stdio
    /// can carry several requests on one connection.
    pub(crate) fn send_many(&mut self, ready: &Ready, count: usize, max_open: usize) -> anyhow::Result<()> {
        let Wire::Stdio { write, read, answer } = &mut self.wire else { bail!("not over HTTP") };
        let (mut sent, mut answered) = (0, 0);
        while answered < count {
            while sent < count && sent - answered < max_open {
                ready.write(&self.next.to_string(), &mut self.out);
                self.next += 1;
                write.write_all(&self.out)?;
                sent += 1;
            }
            read_answer(read, answer)?;
            check_success(answer)?;
            answered += 1;
        }
        Ok(())
    }
}

/// Reads the next line that is not a notification. A server may announce a changed tool list at any time.
fn read_answer(read: &mut BufReader<ChildStdout>, answer: &mut Vec<u8>) -> anyhow::Result<()> {
    loop {
        answer.clear();
        ensure!(read.read_until(b'\n', answer)? > 0, "the server closed its output");
        if !answer.starts_with(NOTIFICATION) {
            return Ok(());
        }
    }
}
