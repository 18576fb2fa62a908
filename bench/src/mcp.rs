//! Requests of MCP, as text with room for an id: a client that parses no JSON adds little to what it measures.

use anyhow::ensure;

use crate::http::{Address, Http};

const REVISION: &str = "2026-07-28";
const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientInfo":{"name":"bench","version":"1"},"#,
    r#""io.modelcontextprotocol/clientCapabilities":{}}"#
);

/// Ids of one length, so that a request's length is known beforehand.
pub const FIRST_ID: u64 = 10_000_000;

/// A request ready to be sent but for its id.
pub struct Prepared {
    /// The method.
    pub method: &'static str,
    /// The tool's name, which newer HTTP requests repeat in a header.
    pub name: Option<String>,
    /// The members of `params`, without braces around them.
    pub params: String,
}

impl Prepared {
    /// A look at the tools.
    pub fn list() -> Self {
        Self { method: "tools/list", name: None, params: String::new() }
    }

    /// A call of a tool.
    pub fn call(tool: &str, arguments: &str) -> Self {
        let params = format!(r#""name":"{tool}","arguments":{arguments}"#);
        Self { method: "tools/call", name: Some(tool.to_owned()), params }
    }
}

/// What older revisions of MCP begin a session with.
pub const HELLO: &str =
    r#""protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}"#;

/// How a server over HTTP is spoken to.
#[derive(Debug, Clone)]
pub enum Dialect {
    /// Revision 2026-07-28: requests without a session, plain JSON answers.
    Stateless,
    /// An older one: a session, and answers that may be event streams.
    Session(Option<String>),
}

impl Dialect {
    /// Begins a session of an older revision.
    pub fn session(address: &Address) -> anyhow::Result<Self> {
        let mut http = Http::open(address)?;
        http.accept_streams();
        let hello = Prepared { method: "initialize", name: None, params: HELLO.to_owned() };
        let mut request = Vec::new();
        Ready::in_dialect(&hello, address, &Dialect::Session(None)).write(&FIRST_ID.to_string(), &mut request);
        http.exchange(&request)?;
        let dialect = Dialect::Session(http.session().map(str::to_owned));
        let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let head = dialect.head("notifications/initialized", None, address, body.len());
        http.exchange(format!("{head}{body}").as_bytes())?;
        Ok(dialect)
    }

    /// A connection for it.
    pub fn connect(&self, address: &Address) -> anyhow::Result<Http> {
        let mut http = Http::open(address)?;
        if matches!(self, Dialect::Session(_)) {
            http.accept_streams();
        }
        Ok(http)
    }

    fn head(&self, method: &str, name: Option<&str>, address: &Address, length: usize) -> String {
        let own = match self {
            Dialect::Stateless => {
                let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
                format!("MCP-Protocol-Version: {REVISION}\r\nMcp-Method: {method}\r\n{name}")
            }
            Dialect::Session(None) => String::new(),
            Dialect::Session(Some(session)) => {
                format!("MCP-Protocol-Version: 2025-06-18\r\nMcp-Session-Id: {session}\r\n")
            }
        };
        format!(
            "POST {} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{own}Content-Length: {length}\r\n\r\n",
            address.path, address.authority
        )
    }
}

/// The bytes of a request around its id.
pub struct Ready {
    /// What comes before the id.
    pub before: Vec<u8>,
    /// What comes after it.
    pub after: Vec<u8>,
}

impl Ready {
    /// A request of revision 2026-07-28, without a session, that asks for a plain JSON answer.
    pub fn over_http(request: &Prepared, address: &Address) -> Self {
        Self::in_dialect(request, address, &Dialect::Stateless)
    }

    /// A request of an older revision on standard streams.
    pub fn on_stdio(request: &Prepared) -> Self {
        let after = format!(",\"method\":\"{}\",\"params\":{{{}}}}}\n", request.method, request.params);
        Self { before: br#"{"jsonrpc":"2.0","id":"#.to_vec(), after: after.into_bytes() }
    }

    /// A request over HTTP.
    pub fn in_dialect(request: &Prepared, address: &Address, dialect: &Dialect) -> Self {
        let begin = r#"{"jsonrpc":"2.0","id":"#;
        let meta = if matches!(dialect, Dialect::Stateless) { META } else { "" };
        let comma = if request.params.is_empty() || meta.is_empty() { "" } else { "," };
        let after = format!(r#","method":"{}","params":{{{}{comma}{meta}}}}}"#, request.method, request.params);
        let length = begin.len() + FIRST_ID.to_string().len() + after.len();
        let head = dialect.head(request.method, request.name.as_deref(), address, length);
        Self { before: format!("{head}{begin}").into_bytes(), after: after.into_bytes() }
    }

    /// The whole request, written to `out`.
    pub fn write(&self, id: &str, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.before);
        out.extend_from_slice(id.as_bytes());
        out.extend_from_slice(&self.after);
    }
}

/// An answer begins like this, then comes its id, then `,"result":`.
const ANSWER: &[u8] = br#"{"jsonrpc":"2.0","id":"#;
const RESULT: &[u8] = br#","result":"#;
/// An answer of the TypeScript SDK begins like this, and ends with its id.
const REVERSED: &[u8] = br#"{"result":"#;

/// Whether the bytes are the result of the request with this id. Looks at the beginning only, or at both ends of what the
/// TypeScript SDK writes.
pub fn check(answer: &[u8], id: &str) -> anyhow::Result<()> {
    let is_result = answer
        .strip_prefix(ANSWER)
        .and_then(|rest| rest.strip_prefix(id.as_bytes()))
        .is_some_and(|rest| rest.starts_with(RESULT));
    let is_reversed = || {
        let end = format!(r#","jsonrpc":"2.0","id":{id}}}"#);
        answer.starts_with(REVERSED) && answer.trim_ascii_end().ends_with(end.as_bytes())
    };
    ensure!(
        is_result || is_reversed(),
        "expected the result of request {id}, got: {}",
        shortened(&String::from_utf8_lossy(answer))
    );
    Ok(())
}

/// Looks at a whole answer: a fast failure must not pass for a fast answer.
pub fn check_success(answer: &[u8]) -> anyhow::Result<()> {
    let answer = String::from_utf8_lossy(answer);
    let failed = [r#""isError":true"#, r#""success":false"#].iter().any(|sign| answer.contains(sign));
    ensure!(!failed, "the server refused the request: {}", shortened(&answer));
    Ok(())
}

/// The beginning of a text.
pub fn shortened(text: &str) -> String {
    text.chars().take(300).collect()
}
