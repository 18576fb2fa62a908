//! A client of an older revision on a pair of pipes: one handshake, then calls.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};

use anyhow::ensure;
use aquifer_bench::mcp::{FIRST_ID, Prepared, Ready, check};
use aquifer_bench::process::Pipes;

const HELLO: &str = r#""protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}"#;
const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

pub(crate) struct StdioConnection {
    write: ChildStdin,
    read: BufReader<ChildStdout>,
    out: Vec<u8>,
    answer: Vec<u8>,
    next: u64,
}

impl StdioConnection {
    /// Shakes hands.
    pub(crate) fn open(pipes: Pipes) -> anyhow::Result<Self> {
        let read = BufReader::with_capacity(64 * 1024, pipes.read);
        let mut connection = Self { write: pipes.write, read, out: Vec::new(), answer: Vec::new(), next: FIRST_ID };
        let hello = Prepared { method: "initialize", name: None, params: HELLO.to_owned() };
        connection.send(&Self::prepare(&hello))?;
        connection.write.write_all(INITIALIZED)?;
        Ok(connection)
    }

    pub(crate) fn prepare(request: &Prepared) -> Ready {
        let after = format!(",\"method\":\"{}\",\"params\":{{{}}}}}\n", request.method, request.params);
        Ready { before: br#"{"jsonrpc":"2.0","id":"#.to_vec(), after: after.into_bytes() }
    }

    pub(crate) fn send(&mut self, ready: &Ready) -> anyhow::Result<&[u8]> {
        let id = self.next.to_string();
        self.next += 1;
        ready.write(&id, &mut self.out);
        self.write.write_all(&self.out)?;
        self.answer.clear();
        let size = self.read.read_until(b'\n', &mut self.answer)?;
        ensure!(size > 0, "the server closed its output");
        check(&self.answer, &id)?;
        Ok(&self.answer)
    }
}
