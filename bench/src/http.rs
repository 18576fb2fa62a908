//! A minimal HTTP client: blocking, one keep-alive connection, requests prepared as bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use anyhow::{Context, ensure};

/// The address of a server.
#[derive(Debug, Clone)]
pub struct Address {
    /// Host and port.
    pub authority: String,
    /// The path, with its leading slash.
    pub path: String,
}

impl Address {
    /// Parses an `http://` URL.
    pub fn read(url: &str) -> anyhow::Result<Self> {
        let rest = url.strip_prefix("http://").with_context(|| format!("not an http:// URL: {url}"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        Ok(Self { authority: authority.to_owned(), path: format!("/{path}") })
    }
}

/// A connection.
pub struct Http {
    write: TcpStream,
    read: BufReader<TcpStream>,
    line: String,
    answer: Vec<u8>,
    /// Whether answers may be event streams.
    streams: bool,
    session: Option<String>,
}

/// How the end of an answer is determined.
enum Body {
    Length(usize),
    Chunks,
}

/// The head of an answer.
struct Head {
    body: Body,
    is_stream: bool,
}

impl Http {
    /// Connects.
    pub fn open(address: &Address) -> anyhow::Result<Self> {
        let write = TcpStream::connect(&address.authority)
            .with_context(|| format!("cannot connect to {}", address.authority))?;
        write.set_nodelay(true)?;
        let read = BufReader::with_capacity(64 * 1024, write.try_clone()?);
        Ok(Self { write, read, line: String::new(), answer: Vec::new(), streams: false, session: None })
    }

    /// Sets the timeout for receiving anything of an answer.
    pub fn set_timeout(&self, timeout: Duration) -> anyhow::Result<()> {
        Ok(self.write.set_read_timeout(Some(timeout))?)
    }

    /// Accepts event streams as answers as well.
    pub fn accept_streams(&mut self) {
        self.streams = true;
    }

    /// The session id from the last answer.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Sends a request, head and body, and returns the body of its answer. Fails unless the answer is JSON.
    pub fn exchange(&mut self, request: &[u8]) -> anyhow::Result<&[u8]> {
        self.write.write_all(request)?;
        self.answer.clear();
        let head = self.read_head()?;
        match head.body {
            Body::Length(length) => self.read_part(length)?,
            Body::Chunks => self.read_chunks()?,
        }
        Ok(if head.is_stream { last_event(&self.answer) } else { &self.answer })
    }

    fn read_head(&mut self) -> anyhow::Result<Head> {
        self.read_line()?;
        let accepted = self.line.starts_with("HTTP/1.1 202");
        ensure!(accepted || self.line.starts_with("HTTP/1.1 200"), "the server answered: {}", self.line);
        let mut body = None;
        let mut is_stream = false;
        loop {
            self.read_line()?;
            let Some((name, value)) = self.line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => body = Some(Body::Length(value.trim().parse()?)),
                "transfer-encoding" => body = Some(Body::Chunks),
                "mcp-session-id" => self.session = Some(value.trim().to_owned()),
                "content-type" => {
                    is_stream = value.contains("event-stream");
                    let fits = value.contains("json") || accepted || (is_stream && self.streams);
                    ensure!(fits, "the answer is not plain JSON but{value}");
                }
                _ => {}
            }
        }
        let body = body.context("the answer does not say where it ends")?;
        Ok(Head { body, is_stream })
    }

    fn read_chunks(&mut self) -> anyhow::Result<()> {
        loop {
            self.read_line()?;
            let length = usize::from_str_radix(&self.line, 16)?;
            self.read_part(length)?;
            self.read_line()?;
            if length == 0 {
                return Ok(());
            }
        }
    }

    fn read_part(&mut self, length: usize) -> anyhow::Result<()> {
        let begin = self.answer.len();
        self.answer.resize(begin + length, 0);
        let part = self.answer.get_mut(begin..).unwrap_or_default();
        Ok(self.read.read_exact(part)?)
    }

    /// Reads a line, without its line ending.
    fn read_line(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        ensure!(self.read.read_line(&mut self.line)? > 0, "the server closed the connection");
        self.line.truncate(self.line.trim_end().len());
        Ok(())
    }
}

/// The data of the last event in a stream. The answer comes after any notifications.
fn last_event(stream: &[u8]) -> &[u8] {
    let lines = stream.split(|byte| *byte == b'\n');
    let carried = lines.filter_map(|line| line.strip_prefix(b"data:"));
    carried.map(<[u8]>::trim_ascii).rfind(|data| !data.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_the_last_event() {
        let stream = b"id: 1\ndata:\n\nevent: message\r\ndata: {\"a\":1}\r\n\r\ndata: {\"b\":2}\n\n";
        assert_eq!(last_event(stream), br#"{"b":2}"#);
        assert_eq!(last_event(b""), b"");
    }
}
