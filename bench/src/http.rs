//! HTTP as a client that wants to be cheap: blocking, one connection kept alive, requests ready as bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, ensure};

/// Where a server is.
#[derive(Debug, Clone)]
pub struct Address {
    /// Host and port.
    pub authority: String,
    /// What is asked for there, with its slash.
    pub path: String,
}

impl Address {
    /// Reads an `http://` URL.
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
}

/// How the end of an answer is known.
enum Body {
    Length(usize),
    Chunks,
}

impl Http {
    /// Connects.
    pub fn open(address: &Address) -> anyhow::Result<Self> {
        let write = TcpStream::connect(&address.authority)
            .with_context(|| format!("cannot connect to {}", address.authority))?;
        write.set_nodelay(true)?;
        let read = BufReader::with_capacity(64 * 1024, write.try_clone()?);
        Ok(Self { write, read, line: String::new(), answer: Vec::new() })
    }

    /// Sends a request, head and body, and returns the body of its answer. Whatever is not a JSON answer is a failure.
    pub fn exchange(&mut self, request: &[u8]) -> anyhow::Result<&[u8]> {
        self.write.write_all(request)?;
        self.answer.clear();
        match self.read_head()? {
            Body::Length(length) => self.read_part(length)?,
            Body::Chunks => self.read_chunks()?,
        }
        Ok(&self.answer)
    }

    fn read_head(&mut self) -> anyhow::Result<Body> {
        self.read_line()?;
        ensure!(self.line.starts_with("HTTP/1.1 200"), "the server answered: {}", self.line);
        let mut body = None;
        loop {
            self.read_line()?;
            let Some((name, value)) = self.line.split_once(':') else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => body = Some(Body::Length(value.trim().parse()?)),
                "transfer-encoding" => body = Some(Body::Chunks),
                "content-type" => ensure!(value.contains("json"), "the answer is not plain JSON but{value}"),
                _ => {}
            }
        }
        body.context("the answer does not say where it ends")
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

    /// Reads a line, without its end.
    fn read_line(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        ensure!(self.read.read_line(&mut self.line)? > 0, "the server closed the connection");
        self.line.truncate(self.line.trim_end().len());
        Ok(())
    }
}
