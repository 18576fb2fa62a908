//! A client of an older revision on a pair of pipes: one handshake, then calls.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};

use anyhow::ensure;
use aquifer_bench::mcp::{FIRST_ID, HELLO, Prepared, Ready, check, check_success};
use aquifer_bench::process::Pipes;

const INITIALIZED: &[u8] = b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

/// What only tells something begins like this.
const NEWS: &[u8] = br#"{"jsonrpc":"2.0","method":"#;

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
        self.read_answer()?;
        check(&self.answer, &id)?;
        Ok(&self.answer)
    }

    /// The next line that is no news: a server may say at any time that its tools have changed.
    fn read_answer(&mut self) -> anyhow::Result<()> {
        loop {
            self.answer.clear();
            let size = self.read.read_until(b'\n', &mut self.answer)?;
            ensure!(size > 0, "the server closed its output");
            if !self.answer.starts_with(NEWS) {
                return Ok(());
            }
        }
    }

    /// Sends so many requests, never more than `most` without an answer, and takes every answer in whatever order.
    pub(crate) fn send_many(&mut self, ready: &Ready, count: usize, most: usize) -> anyhow::Result<()> {
        let (mut sent, mut answered) = (0, 0);
        while answered < count {
            while sent < count && sent - answered < most {
                ready.write(&self.next.to_string(), &mut self.out);
                self.next += 1;
                self.write.write_all(&self.out)?;
                sent += 1;
            }
            self.read_answer()?;
            check_success(&self.answer)?;
            answered += 1;
        }
        Ok(())
    }
}
