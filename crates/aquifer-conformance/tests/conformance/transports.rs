//! Runs over real pipes and sockets.

use std::io::{BufRead, Write};

use aquifer_conformance::record::Mode;
use aquifer_conformance::report::Verdict;
use aquifer_conformance::{Connection, Connector, Target};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::adapter::Library;
use crate::{describe_problems, ids_with, run_with_writes};

const SERVE: &str = "LIBRARY_ON_STDIO";

/// Starts this test program again as a server. Its other output is not JSON and is skipped.
fn child(env: &[(&str, &str)]) -> Target {
    let program = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let arguments = ["--exact", "transports::serves_the_library_if_requested", "--nocapture"].map(str::to_owned);
    let mut all = vec![(SERVE.to_owned(), "1".to_owned())];
    all.extend(env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Target::Command { argv: [vec![program], arguments.to_vec()].concat(), env: all }
}

#[tokio::test]
#[allow(clippy::print_stdout)]
async fn serves_the_library_if_requested() {
    if std::env::var_os(SERVE).is_none() {
        return;
    }
    let mode = match std::env::var("MCP_AQL_ENDPOINT_MODE").as_deref() {
        Ok("single") => Mode::Single,
        Ok("all") => Mode::All,
        _ => Mode::Semantic,
    };
    let mut library = Library { mode: Some(mode), ..Library::default() }.open(None).await.unwrap().unwrap();
    println!();
    for line in std::io::stdin().lock().split(b'\n') {
        let Ok(message) = serde_json::from_slice::<Value>(&line.unwrap()) else { continue };
        if message["id"].is_null() || message["method"].is_null() {
            continue;
        }
        let answer = library.request(&message).await.unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
}

#[tokio::test]
async fn r_con_1_a_good_server_passes_over_stdio_whichever_mode_comes_first() {
    let completed = run_with_writes(&child(&[])).await;
    assert_eq!(completed.report.conformance_level, 2, "{}", describe_problems(&completed.report));
    assert_eq!(completed.report.surfaces, ["semantic over stdio", "single over stdio"]);
    let completed = run_with_writes(&child(&[("MCP_AQL_ENDPOINT_MODE", "single")])).await;
    assert_eq!(completed.report.conformance_level, 2, "{}", describe_problems(&completed.report));
    assert_eq!(completed.report.surfaces, ["single over stdio", "semantic over stdio"]);
    let completed = run_with_writes(&child(&[("MCP_AQL_ENDPOINT_MODE", "all")])).await;
    assert_eq!(completed.report.conformance_level, 2, "{}", describe_problems(&completed.report));
    assert_eq!(completed.report.surfaces, ["all over stdio"]);
}

/// Serves the library over HTTP, with JSON or event streams.
async fn listen(mode: Mode, events: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut library = Library { mode: Some(mode), ..Library::default() }.open(None).await.unwrap().unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            // One client needs only one connection at a time.
            let _ = serve(stream, &mut library, events).await;
        }
    });
    address
}

async fn serve(stream: TcpStream, library: &mut Box<dyn Connection>, events: bool) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await? == 0 {
                return Ok(());
            }
        }
        let head = head.to_lowercase();
        let header = |name: &str| head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let mut body = vec![0; header("content-length").unwrap().parse().unwrap()];
        stream.read_exact(&mut body).await?;
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let greeting = message["method"] == "initialize";
        let known = greeting || (header("mcp-session-id") == Some("s-1") && header("mcp-protocol-version").is_some());
        let (status, kind, answer) = if header("authorization") != Some("bearer secret") {
            ("401 Unauthorized", "application/json", json!({"error": "who are you"}).to_string())
        } else if !known {
            ("404 Not Found", "application/json", json!({"error": "no such session"}).to_string())
        } else if message["method"].is_null() {
            (
                "400 Bad Request",
                "application/json",
                json!({"error": {"code": -32700, "message": "no JSON"}}).to_string(),
            )
        } else if message["id"].is_null() {
            ("202 Accepted", "text/plain", String::new())
        } else {
            let answer = library.request(&message).await.unwrap().to_string();
            let ping = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {}});
            match events {
                true => {
                    ("200 OK", "text/event-stream", format!(": hello\n\ndata: {ping}\n\nid: 7\ndata: {answer}\n\n"))
                }
                false => ("200 OK", "application/json", answer),
            }
        };
        let session = if greeting { "mcp-session-id: s-1\r\n" } else { "" };
        let length = answer.len();
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n{session}content-length: {length}\r\n\r\n");
        stream.write_all((head + &answer).as_bytes()).await?;
    }
}

fn behind(url: String, second: Option<String>) -> Target {
    Target::Url { url, second, headers: vec![("Authorization".into(), "Bearer secret".into())] }
}

#[tokio::test]
async fn r_con_1_a_good_server_passes_over_http_with_json_and_with_events() {
    for events in [false, true] {
        let (first, second) = (listen(Mode::Semantic, events).await, listen(Mode::Single, events).await);
        let completed = run_with_writes(&behind(first, Some(second))).await;
        assert_eq!(completed.report.conformance_level, 2, "events: {events}: {}", describe_problems(&completed.report));
        assert_eq!(completed.report.surfaces, ["semantic over http", "single over http"]);
    }
}

#[tokio::test]
async fn without_a_second_url_the_second_mode_is_skipped() {
    let completed = run_with_writes(&behind(listen(Mode::Semantic, false).await, None)).await;
    assert_eq!(completed.report.conformance_level, 1);
    assert_eq!(
        ids_with(&completed.report, Verdict::Skip),
        ["modes.both", "modes.same"],
        "{}",
        describe_problems(&completed.report)
    );
    assert!(describe_problems(&completed.report).contains("no URL of the same server in its other mode"));
}

#[tokio::test]
async fn a_server_that_denies_access_is_unreachable_with_its_message() {
    let url = listen(Mode::Semantic, false).await;
    let target = Target::Url { url, second: None, headers: Vec::new() };
    let options = aquifer_conformance::options::Options::default();
    let refused = aquifer_conformance::run::run(&target, &options, |_| {}).await.unwrap_err();
    assert!(refused.0.contains("401") && refused.0.contains("who are you"), "{refused}");
}
