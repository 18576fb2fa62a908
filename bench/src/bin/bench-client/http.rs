//! A client of revision 2026-07-28: requests without a session, plain JSON answers, one connection kept alive.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use anyhow::{Context, bail, ensure};

use crate::connection::{FIRST_ID, Prepared, Ready, check};

const REVISION: &str = "2026-07-28";
const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

pub(crate) struct HttpConnection {
    write: TcpStream,
    read: BufReader<TcpStream>,
    authority: String,
    path: String,
    out: Vec<u8>,
    head: String,
    answer: Vec<u8>,
    next: u64,
}

impl HttpConnection {
    pub(crate) fn open(url: &str) -> anyhow::Result<Self> {
        let rest = url.strip_prefix("http://").with_context(|| format!("not an http:// URL: {url}"))?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let write = TcpStream::connect(authority).with_context(|| format!("cannot connect to {authority}"))?;
        write.set_nodelay(true)?;
        let read = BufReader::with_capacity(64 * 1024, write.try_clone()?);
        let (authority, path) = (authority.to_owned(), format!("/{path}"));
        Ok(Self {
            write,
            read,
            authority,
            path,
            out: Vec::new(),
            head: String::new(),
            answer: Vec::new(),
            next: FIRST_ID,
        })
    }

    pub(crate) fn prepare(&self, request: &Prepared) -> Ready {
        let begin = r#"{"jsonrpc":"2.0","id":"#;
        let comma = if request.params.is_empty() { "" } else { "," };
        let after = format!(r#","method":"{}","params":{{{}{comma}{META}}}}}"#, request.method, request.params);
        let length = begin.len() + FIRST_ID.to_string().len() + after.len();
        let name = request.name.as_ref().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
        let before = format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\n\
             Mcp-Method: {}\r\n{name}Content-Length: {length}\r\n\r\n{begin}",
            self.path, self.authority, request.method
        );
        Ready { before: before.into_bytes(), after: after.into_bytes() }
    }

    pub(crate) fn send(&mut self, ready: &Ready) -> anyhow::Result<&[u8]> {
        let id = self.next.to_string();
        self.next += 1;
        self.out.clear();
        self.out.extend_from_slice(&ready.before);
        self.out.extend_from_slice(id.as_bytes());
        self.out.extend_from_slice(&ready.after);
        self.write.write_all(&self.out)?;
        let length = self.read_head()?;
        self.answer.resize(length, 0);
        self.read.read_exact(&mut self.answer)?;
        check(&self.answer, &id)?;
        Ok(&self.answer)
    }

    /// Reads status and headers; says how long the body is.
    fn read_head(&mut self) -> anyhow::Result<usize> {
        let mut length = None;
        let mut first = true;
        loop {
            self.head.clear();
            ensure!(self.read.read_line(&mut self.head)? > 0, "the server closed the connection");
            let line = self.head.trim_end();
            if first {
                ensure!(line.starts_with("HTTP/1.1 200"), "the server answered: {line}");
                first = false;
            } else if line.is_empty() {
                break;
            } else if let Some((name, value)) = line.split_once(':') {
                if name.eq_ignore_ascii_case("content-length") {
                    length = Some(value.trim().parse()?);
                } else if name.eq_ignore_ascii_case("content-type") && !value.contains("application/json") {
                    bail!("the answer is not plain JSON but {}", value.trim());
                }
            }
        }
        length.context("the answer has no Content-Length")
    }
}
