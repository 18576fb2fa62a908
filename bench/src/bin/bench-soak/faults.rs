//! The faults. Each is a round that is repeated: something breaks, the caller gets exactly one proper error, and soon
//! afterwards the upstream answers again.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::client::{GatewayClient, is_success};
use crate::faulty_upstream::{FaultyUpstream, HttpServer};
use crate::process_scan;

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// Number of upstreams of one gateway that have the fault at the same time. Most of a round is spent waiting.
    pub(crate) concurrency: usize,
    pub(crate) kind: Kind,
    /// The gateway's timeout for their answers, in seconds.
    pub(crate) timeout: u32,
    pub(crate) round: fn(&mut FaultyUpstream, usize) -> anyhow::Result<Value>,
    /// The error code that callers get; `None` if they get the answer in spite of the fault.
    pub(crate) expected: Option<&'static str>,
}

/// How a faulty upstream is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// It prints text that is not a message before any message.
    PrintsBanner,
    /// It exits at startup while a certain file exists.
    ExitsAtStart,
    /// It is an HTTP server that changes its port in every round.
    MovingHttp,
}

const PLAIN: Fault = Fault { name: "", concurrency: 1, kind: Kind::Plain, timeout: 30, round: garbage, expected: None };

pub(crate) const FAULTS: [Fault; 7] = [
    Fault { name: "killed", concurrency: 4, round: killed, expected: Some("UPSTREAM_UNAVAILABLE"), ..PLAIN },
    // Short, because every round waits for it; the others allow for a busy machine.
    Fault { name: "hanging", concurrency: 8, timeout: 2, round: hanging, expected: Some("UPSTREAM_TIMEOUT"), ..PLAIN },
    Fault { name: "garbage", concurrency: 2, kind: Kind::PrintsBanner, round: garbage, ..PLAIN },
    // One at a time, because this one keeps the machine busy instead of waiting.
    Fault { name: "huge", concurrency: 1, round: huge, expected: Some("VALIDATION_PAYLOAD_TOO_LARGE"), ..PLAIN },
    Fault {
        name: "exiting",
        concurrency: 4,
        kind: Kind::ExitsAtStart,
        round: exiting,
        expected: Some("UPSTREAM_UNAVAILABLE"),
        ..PLAIN
    },
    Fault { name: "changing", concurrency: 2, round: changing, ..PLAIN },
    Fault {
        name: "moving",
        concurrency: 4,
        kind: Kind::MovingHttp,
        round: moving,
        expected: Some("UPSTREAM_UNAVAILABLE"),
        ..PLAIN
    },
];

/// How long an upstream may take to reach an expected state.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Polls until the condition is true. Returns false on timeout.
pub(crate) fn wait_until(mut condition: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<bool> {
    let deadline = Instant::now() + TIMEOUT;
    while !condition()? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(true)
}

/// The process is killed during a call. Every round has a new process, so its own call count shows when the call has
/// arrived.
fn killed(upstream: &mut FaultyUpstream, _: usize) -> anyhow::Result<Value> {
    let id = process_id(upstream)?;
    let (address, slow) = (upstream.address.clone(), upstream.operation("slow"));
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| GatewayClient::new(&address).call(&slow, &json!({ "seconds": 30 })));
        let arrived = wait_until(|| Ok(number(&upstream.call("max_at_once", &json!({}))?)? > 0));
        kill(id)?;
        let answer = call.join().unwrap_or_else(|_| bail!("the call panicked"));
        if arrived? { answer } else { bail!("the call did not arrive") }
    })?;
    wait_for_exit(id)?;
    Ok(answer)
}

fn hanging(upstream: &mut FaultyUpstream, _: usize) -> anyhow::Result<Value> {
    upstream.call("hang", &json!({}))
}

fn garbage(upstream: &mut FaultyUpstream, _: usize) -> anyhow::Result<Value> {
    upstream.call("garbage", &json!({}))
}

fn huge(upstream: &mut FaultyUpstream, round: usize) -> anyhow::Result<Value> {
    upstream.call("huge", &json!({ "size": 50_000_000, "id_last": round.is_multiple_of(2) }))
}

/// The process is killed, and every restart exits immediately.
fn exiting(upstream: &mut FaultyUpstream, _: usize) -> anyhow::Result<Value> {
    let id = process_id(upstream)?;
    fs::write(&upstream.broken, "")?;
    kill(id)?;
    let answer = wait_for_exit(id).and_then(|()| upstream.call("echo", &json!({})));
    fs::remove_file(&upstream.broken)?;
    answer
}

/// The definition changes, and the upstream announces it. The answer counts once introspection shows the change.
fn changing(upstream: &mut FaultyUpstream, round: usize) -> anyhow::Result<Value> {
    let words = format!(" Changed for round {round}.");
    fs::write(&upstream.variant, &words)?;
    let answer = upstream.call("change", &json!({}))?;
    if !is_success(&answer) {
        return Ok(answer);
    }
    let name = upstream.operation("echo");
    let known = wait_until(|| {
        let shown = upstream.client.call("introspect", &json!({ "query": "operations", "name": name }))?;
        Ok(shown.to_string().contains(words.trim()))
    })?;
    Ok(if known { answer } else { json!({ "error": { "code": "NEVER_TAKEN_OVER" } }) })
}

/// The server ends and restarts on another port, which the configuration contains after the round.
fn moving(upstream: &mut FaultyUpstream, _: usize) -> anyhow::Result<Value> {
    drop(upstream.http_server.take());
    let answer = upstream.call("echo", &json!({}))?;
    upstream.http_server = Some(HttpServer::start(&upstream.script)?);
    Ok(answer)
}

fn process_id(upstream: &mut FaultyUpstream) -> anyhow::Result<u32> {
    Ok(u32::try_from(number(&upstream.call("identity", &json!({}))?)?)?)
}

/// The number that an answer contains.
fn number(answer: &Value) -> anyhow::Result<u64> {
    answer.pointer("/data/0").and_then(Value::as_u64).with_context(|| format!("no number: {answer}"))
}

/// Waits until a killed process has ended, which takes a moment on a busy machine.
fn wait_for_exit(id: u32) -> anyhow::Result<()> {
    if !wait_until(|| Ok(!process_scan::is_alive(id)))? {
        bail!("process {id} was killed and is still there");
    }
    Ok(())
}

fn kill(id: u32) -> anyhow::Result<()> {
    let done = Command::new("kill").args(["-9", &id.to_string()]).stderr(Stdio::null()).status()?;
    if !done.success() {
        bail!("process {id} cannot be killed");
    }
    Ok(())
}
