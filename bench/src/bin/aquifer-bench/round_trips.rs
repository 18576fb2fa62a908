//! Round trips, memory and startup of our server, compared with the echo server.

use aquifer_bench::words;
use aquifer_report::Figure;

use crate::Bench;
use crate::client::{own_kb, resident_kb, round_trips, start_ms, starts};
use crate::connection::{Target, Transport};

/// The reference for every round trip of our server.
pub(crate) const ECHO: &str = "bare echo server";
/// Creates the task that the calls read.
pub(crate) const PREPARE: &str = r#"{"operation":"create_task","params":{"title":"Water the plants"}}"#;
/// A small request with a small answer. The echo server returns the request, which has a similar size.
pub(crate) const CALL: &str = r#"{"operation":"get_task","params":{"id":1}}"#;

/// The name of the transport in the table.
pub(crate) fn title(transport: Transport) -> &'static str {
    match transport {
        Transport::Stdio => "stdio",
        Transport::Http => "HTTP",
    }
}

/// Our server and the echo server, which get the same arguments.
pub(crate) fn servers(bench: &Bench, transport: Transport) -> [Target; 2] {
    let mut ours = words(&[&bench.program("aquifer"), "serve", "tasks:", "--mode", "single"]);
    if transport == Transport::Http {
        ours.extend(words(&["--http", "127.0.0.1:0"]));
    }
    let ours = Target::new("ours", transport, "mcp_aql", CALL, ours);
    let echo = Target::new(ECHO, transport, "echo", CALL, bench.echo(transport));
    [ours, echo].map(|target| Target { prepare: Some(PREPARE), ..target })
}

pub(crate) fn compare(bench: &Bench, transport: Transport) -> anyhow::Result<Vec<Figure>> {
    let (title, [ours, echo]) = (title(transport), servers(bench, transport));
    let small = round_trips(&ours, &echo, bench.plan(12, 10, 300))?;
    let [ours, echo] = [ours, echo].map(|target| Target { call: large_call(), prepare: None, ..target });
    let large = round_trips(&ours, &echo, bench.plan(6, 10, 200))?;
    Ok(vec![
        small.p50(format!("{title}: round trip, p50")).max_ratio(1.3),
        small.p99(format!("{title}: round trip, p99")),
        small.cpu(format!("{title}: server CPU of a call")),
        large.p50(format!("{title}: round trip with 8 KB, p50")),
    ])
}

/// A call with 8 KB of text. MCP requires this text twice in the answer: as text and as structured content.
pub(crate) fn large_call() -> String {
    let text = "All the plants want water on every dry day. ".repeat(190);
    format!(r#"{{"operation":"create_task","params":{{"title":"{text}","dry_run":true}}}}"#)
}

pub(crate) fn memory_and_start(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    for transport in [Transport::Stdio, Transport::Http] {
        let (title, servers) = (title(transport), servers(bench, transport));
        let call = r#"{"operation":"list_tasks"}"#;
        let [ours, echo] = &servers.map(|target| Target { call: call.to_owned(), prepare: None, ..target });
        let memory = format!("{title}: idle memory, one call done");
        figures.push(starts(memory, "kB", [ours, echo], bench.runs(9), resident_kb)?.max(15.0 * 1024.0));
        let own = format!("{title}: idle memory without pages of files");
        figures.push(starts(own, "kB", [ours, echo], bench.runs(9), own_kb)?);
        let start = format!("{title}: start to first answer");
        figures.push(starts(start, "ms", [ours, echo], bench.runs(25), start_ms)?.max(50.0));
    }
    Ok(figures)
}
