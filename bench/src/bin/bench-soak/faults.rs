//! The faults. Each is a round that is repeated: something breaks, the caller gets exactly one proper error, and soon
//! afterwards the upstream answers again.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::ask::{Asker, is_success};
use crate::marked;
use crate::patient::{Patient, Served};

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// Number of upstreams of one gateway that have the fault at the same time. Most of a round is spent waiting.
    pub(crate) side_by_side: usize,
    pub(crate) kind: Kind,
    /// The gateway's timeout for their answers, in seconds.
    pub(crate) timeout: u32,
    pub(crate) round: fn(&mut Patient, usize) -> anyhow::Result<Value>,
    /// The error code that callers get; `None` if they get the answer in spite of the fault.
    pub(crate) expected: Option<&'static str>,
}

/// How a faulty upstream is started.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Plain,
    /// It prints text that is not a message before any message.
    Talkative,
    /// It exits at startup while a certain file exists.
    Exits,
    /// It is an HTTP server that changes its port in every round.
    Elsewhere,
}

const PLAIN: Fault =
    Fault { name: "", side_by_side: 1, kind: Kind::Plain, timeout: 30, round: garbage, expected: None };

pub(crate) const FAULTS: [Fault; 7] = [
    Fault { name: "killed", side_by_side: 4, round: killed, expected: Some("UPSTREAM_UNAVAILABLE"), ..PLAIN },
    // Short, because every round waits for it; the others allow for a busy machine.
    Fault { name: "hanging", side_by_side: 8, timeout: 2, round: hanging, expected: Some("UPSTREAM_TIMEOUT"), ..PLAIN },
    Fault { name: "garbage", side_by_side: 2, kind: Kind::Talkative, round: garbage, ..PLAIN },
    // One at a time, because this one keeps the machine busy instead of waiting.
    Fault { name: "huge", side_by_side: 1, round: huge, expected: Some("VALIDATION_PAYLOAD_TOO_LARGE"), ..PLAIN },
    Fault {
        name: "exiting",
        side_by_side: 4,
        kind: Kind::Exits,
        round: exiting,
        expected: Some("UPSTREAM_UNAVAILABLE"),
        ..PLAIN
    },
    Fault { name: "changing", side_by_side: 2, round: changing, ..PLAIN },
    Fault {
        name: "moving",
        side_by_side: 4,
        kind: Kind::Elsewhere,
        round: moving,
        expected: Some("UPSTREAM_UNAVAILABLE"),
        ..PLAIN
    },
];

/// How long an upstream may take to reach an expected state.
const TIMEOUT: Duration = Duration::from_secs(60);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Polls until the condition is true. Returns false on timeout.
pub(crate) fn before_long(mut ask: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<bool> {
    let deadline = Instant::now() + TIMEOUT;
    while !ask()? {
        if Instant::now() > deadline {
            return Ok(false);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(true)
}

/// The process is killed during a call. Every round has a new process, so its own call count shows when the call has
/// arrived.
fn killed(patient: &mut Patient, _: usize) -> anyhow::Result<Value> {
    let id = process_of(patient)?;
    let (address, slow) = (patient.address.clone(), patient.operation("slow"));
    let answer = std::thread::scope(|scope| {
        let call = scope.spawn(|| Asker::new(&address).ask(&slow, &json!({ "seconds": 30 })));
        let arrived = before_long(|| Ok(number(&patient.ask("max_at_once", &json!({}))?)? > 0));
        kill(id)?;
        let answer = call.join().unwrap_or_else(|_| bail!("the call panicked"));
        if arrived? { answer } else { bail!("the call did not arrive") }
    })?;
    gone(id)?;
    Ok(answer)
}

fn hanging(patient: &mut Patient, _: usize) -> anyhow::Result<Value> {
    patient.ask("hang", &json!({}))
}

fn garbage(patient: &mut Patient, _: usize) -> anyhow::Result<Value> {
    patient.ask("garbage", &json!({}))
}

fn huge(patient: &mut Patient, round: usize) -> anyhow::Result<Value> {
    patient.ask("huge", &json!({ "size": 50_000_000, "id_last": round.is_multiple_of(2) }))
}

/// The process is killed, and every restart exits immediately.
fn exiting(patient: &mut Patient, _: usize) -> anyhow::Result<Value> {
    let id = process_of(patient)?;
    fs::write(&patient.broken, "")?;
    kill(id)?;
    let answer = gone(id).and_then(|()| patient.ask("echo", &json!({})));
    fs::remove_file(&patient.broken)?;
    answer
}

/// The definition changes, and the upstream announces it. The answer counts once introspection shows the change.
fn changing(patient: &mut Patient, round: usize) -> anyhow::Result<Value> {
    let words = format!(" Changed for round {round}.");
    fs::write(&patient.variant, &words)?;
    let answer = patient.ask("change", &json!({}))?;
    if !is_success(&answer) {
        return Ok(answer);
    }
    let name = patient.operation("echo");
    let known = before_long(|| {
        let shown = patient.asker.ask("introspect", &json!({ "query": "operations", "name": name }))?;
        Ok(shown.to_string().contains(words.trim()))
    })?;
    Ok(if known { answer } else { json!({ "error": { "code": "NEVER_TAKEN_OVER" } }) })
}

/// The server ends and restarts on another port, which the configuration contains after the round.
fn moving(patient: &mut Patient, _: usize) -> anyhow::Result<Value> {
    drop(patient.served.take());
    let answer = patient.ask("echo", &json!({}))?;
    patient.served = Some(Served::start(&patient.script)?);
    Ok(answer)
}

fn process_of(patient: &mut Patient) -> anyhow::Result<u32> {
    Ok(u32::try_from(number(&patient.ask("identity", &json!({}))?)?)?)
}

/// The number that an answer contains.
fn number(answer: &Value) -> anyhow::Result<u64> {
    answer.pointer("/data/0").and_then(Value::as_u64).with_context(|| format!("no number: {answer}"))
}

/// Waits until a killed process has ended, which takes a moment on a busy machine.
fn gone(id: u32) -> anyhow::Result<()> {
    if !before_long(|| Ok(!marked::is_alive(id)))? {
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
