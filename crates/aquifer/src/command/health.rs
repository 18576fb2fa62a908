//! `aquifer health`: asks a server over HTTP whether it is up. Containers and supervisors run it, where there may be no
//! other program that could ask.

use std::time::Duration;

use anyhow::bail;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::CommandOutcome;
use crate::terminal;

/// How long the server may take for everything.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Our own answer has about a hundred bytes.
const MAX_ANSWER_BYTES: u64 = 65_536;

pub(crate) async fn run(url: &str) -> anyhow::Result<CommandOutcome> {
    let authority = authority(url)?;
    let problem = match tokio::time::timeout(TIMEOUT, ask(&authority)).await {
        Ok(Ok(answer)) => match healthy(&answer) {
            Some(body) => {
                terminal::print_exact(body)?;
                return Ok(CommandOutcome::Done);
            }
            None => format!("it answers {}", answer.lines().next().unwrap_or("nothing")),
        },
        Ok(Err(error)) => error.to_string(),
        Err(_) => format!("no answer within {} s", TIMEOUT.as_secs()),
    };
    note!("aquifer: the server at {authority} is not healthy: {problem}");
    Ok(CommandOutcome::Failure)
}

/// `HOST:PORT` of a URL of the server. Its path does not matter.
fn authority(url: &str) -> anyhow::Result<String> {
    let Some(rest) = url.strip_prefix("http://") else {
        bail!("use http://HOST:PORT, for example http://127.0.0.1:3910")
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_allowed = |character: char| character.is_ascii_alphanumeric() || ".-_:[]".contains(character);
    if authority.is_empty() || !authority.chars().all(is_allowed) {
        bail!("the URL names no host: use http://HOST:PORT, for example http://127.0.0.1:3910");
    }
    let has_port = authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Ok(if has_port { authority.to_owned() } else { format!("{authority}:80") })
}

async fn ask(authority: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(authority).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

/// The body of an answer of a healthy server.
fn healthy(answer: &str) -> Option<&str> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.lines().next()?.split(' ').nth(1)?;
    (status == "200" && body.contains("\"status\":\"ok\"")).then(|| body.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_server_is_taken_from_any_url_of_it() {
        for (url, expected) in [
            ("http://127.0.0.1:3910", Some("127.0.0.1:3910")),
            ("http://127.0.0.1:3910/mcp", Some("127.0.0.1:3910")),
            ("http://[::1]:3910/health?x", Some("[::1]:3910")),
            ("http://[::1]", Some("[::1]:80")),
            ("http://localhost", Some("localhost:80")),
            ("https://localhost", None),
            ("http://", None),
            ("http://me:secret@host:1/", None),
            ("http://host\r\nX: y", None),
            ("127.0.0.1:3910", None),
        ] {
            assert_eq!(authority(url).ok().as_deref(), expected, "{url:?}");
        }
    }

    #[test]
    fn only_our_own_answer_is_healthy() {
        let ok = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{\"status\":\"ok\",\"operations\":3}";
        assert_eq!(healthy(ok), Some("{\"status\":\"ok\",\"operations\":3}"));
        for other in ["", "HTTP/1.1 200 OK\r\n\r\nhello", "HTTP/1.1 503 Busy\r\n\r\n{\"status\":\"ok\"}", "200"] {
            assert_eq!(healthy(other), None, "{other:?}");
        }
    }
}
