//! The faults. Each is a round that is played again and again: something breaks, the caller is told once and in order,
//! and a little later the upstream answers again.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use aquifer_bench::http::Address;
use serde_json::{Value, json};

use crate::ask::{Asker, code, is_success};
use crate::stage::{Folder, Ill, Served, Stage};
use crate::tally::Tally;
use crate::{Plan, healthy, marked};

pub(crate) struct Fault {
    pub(crate) name: &'static str,
    ill: fn(&Folder, &mut Props) -> Ill,
    round: fn(&Scene, &mut Asker, &mut Props, usize) -> anyhow::Result<Value>,
    /// The code of the error that callers get, or none where they get the answer in spite of it.
    expected: Option<&'static str>,
}

pub(crate) const FAULTS: [Fault; 7] = [
    Fault { name: "killed", ill: plain, round: killed, expected: Some("UPSTREAM_UNAVAILABLE") },
    Fault { name: "hanging", ill: plain, round: hanging, expected: Some("UPSTREAM_TIMEOUT") },
    Fault { name: "garbage", ill: talkative, round: garbage, expected: None },
    Fault { name: "huge", ill: plain, round: huge, expected: Some("VALIDATION_PAYLOAD_TOO_LARGE") },
    Fault { name: "exiting", ill: exits, round: exiting, expected: Some("UPSTREAM_UNAVAILABLE") },
    Fault { name: "changing", ill: plain, round: changing, expected: None },
    Fault { name: "moving", ill: elsewhere, round: moving, expected: Some("UPSTREAM_UNAVAILABLE") },
];

/// Rounds before anything is counted: pools and caches fill.
const WARM_UP: usize = 10;
/// How long an upstream may take to be there again.
const RECOVERY: Duration = Duration::from_secs(60);
/// A fault that goes wrong this often in a row is not worth going on with.
const MOST_IN_A_ROW: usize = 5;
/// How long a gateway has nothing to do before it is looked at.
const REST: Duration = Duration::from_secs(3);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// What a round may use.
pub(crate) struct Scene<'a> {
    stage: &'a Stage,
    plan: &'a Plan,
}

/// What a fault has beside its gateway.
#[derive(Default)]
pub(crate) struct Props {
    served: Option<Served>,
}

/// Plays all rounds of a fault.
pub(crate) fn endure(fault: &Fault, plan: &Plan) -> anyhow::Result<Tally> {
    let mut props = Props::default();
    if fault.name == "moving" {
        props.served = Some(Served::start(&plan.script)?);
    }
    let stage = Stage::up(plan, fault.name, |folder| Ok((fault.ill)(folder, &mut props)))?;
    let scene = Scene { stage: &stage, plan };
    let mut warm_up = Tally::default();
    rounds(fault, &scene, &mut props, &mut warm_up, WARM_UP)?;
    let mut tally = Tally { name: fault.name, start: rested(&stage)?, ..Tally::default() };

    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| healthy::watch(&stage.address, &over));
        let played = play(fault, &scene, &mut props, &mut tally);
        over.store(true, Ordering::Relaxed);
        match watch.join() {
            Ok(health) => tally.health = health,
            Err(_) => bail!("the watch over the healthy upstream panicked"),
        }
        played
    })?;
    tally.end = rested(&stage)?;
    drop(props);
    tally.left = stage.end(&[])?;
    Ok(tally)
}

fn play(fault: &Fault, scene: &Scene, props: &mut Props, tally: &mut Tally) -> anyhow::Result<()> {
    let half = scene.plan.rounds / 2;
    rounds(fault, scene, props, tally, half)?;
    tally.half = scene.stage.held(&[])?;
    rounds(fault, scene, props, tally, scene.plan.rounds - half)
}

fn rested(stage: &Stage) -> anyhow::Result<crate::tally::Held> {
    std::thread::sleep(REST);
    stage.held(&[])
}

fn rounds(fault: &Fault, scene: &Scene, props: &mut Props, tally: &mut Tally, count: usize) -> anyhow::Result<()> {
    let mut asker = Asker::open(&scene.stage.address)?;
    let mut wrong_in_a_row = 0;
    for _ in 0..count {
        if Instant::now() > scene.plan.deadline || wrong_in_a_row >= MOST_IN_A_ROW {
            break;
        }
        tally.rounds += 1;
        let answer = (fault.round)(scene, &mut asker, props, tally.rounds);
        let told = Instant::now();
        let as_expected = match (&answer, fault.expected) {
            (Ok(answer), Some(expected)) => code(answer) == expected,
            (Ok(answer), None) => is_success(answer),
            (Err(_), _) => false,
        };
        if answer.is_err() {
            // Whatever is still under way on the old connection is not to be taken for the next answer.
            asker = Asker::open(&scene.stage.address)?;
        }
        let recovered = recovers(&mut asker)?;
        tally.recovery.push(told.elapsed().as_secs_f64() * 1e3);
        tally.as_expected += usize::from(as_expected);
        tally.recovered += usize::from(recovered);
        if as_expected && recovered {
            wrong_in_a_row = 0;
        } else {
            wrong_in_a_row += 1;
            let told = answer.map_or_else(|problem| format!("{problem:#}"), |answer| answer.to_string());
            eprintln!("{}, round {}: recovered: {recovered}, told: {told}", fault.name, tally.rounds);
        }
        if tally.rounds.is_multiple_of(50) {
            eprintln!("{}: {} rounds", fault.name, tally.rounds);
        }
    }
    Ok(())
}

/// Whether the faulty upstream answers again before long.
fn recovers(asker: &mut Asker) -> anyhow::Result<bool> {
    let deadline = Instant::now() + RECOVERY;
    while Instant::now() < deadline {
        if asker.succeeds("ill_echo", &json!({ "text": "again" }))? {
            return Ok(true);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Ok(false)
}

fn plain(_: &Folder, _: &mut Props) -> Ill {
    Ill::Started(Vec::new())
}

fn talkative(_: &Folder, _: &mut Props) -> Ill {
    Ill::Started(vec!["--banner".to_owned()])
}

fn exits(folder: &Folder, _: &mut Props) -> Ill {
    Ill::Started(vec!["--exit-while".to_owned(), folder.file("broken").display().to_string()])
}

fn elsewhere(_: &Folder, props: &mut Props) -> Ill {
    Ill::At(props.served.as_ref().map(Served::url).unwrap_or_default())
}

/// A call is under way when the process is killed.
fn killed(scene: &Scene, asker: &mut Asker, _: &mut Props, _: usize) -> anyhow::Result<Value> {
    let id = process_of(asker)?;
    let answer = in_mid_call(&scene.stage.address, || kill(id))?;
    gone(id)?;
    Ok(answer)
}

fn in_mid_call(address: &Address, happens: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<Value> {
    std::thread::scope(|scope| {
        let call = scope.spawn(|| Asker::open(address)?.ask("ill_slow", &json!({ "seconds": 1.5 })));
        // Time for the call to arrive. If it comes too late after all, it finds a new process and the round is counted
        // as one that went otherwise.
        std::thread::sleep(Duration::from_millis(100));
        happens()?;
        call.join().unwrap_or_else(|_| bail!("the call panicked"))
    })
}

fn hanging(_: &Scene, asker: &mut Asker, _: &mut Props, _: usize) -> anyhow::Result<Value> {
    asker.ask("ill_hang", &json!({}))
}

fn garbage(_: &Scene, asker: &mut Asker, _: &mut Props, _: usize) -> anyhow::Result<Value> {
    asker.ask("ill_garbage", &json!({}))
}

fn huge(_: &Scene, asker: &mut Asker, _: &mut Props, round: usize) -> anyhow::Result<Value> {
    asker.ask("ill_huge", &json!({ "size": 50_000_000, "id_last": round.is_multiple_of(2) }))
}

/// The process is gone, and whoever starts it sees it end at once.
fn exiting(scene: &Scene, asker: &mut Asker, _: &mut Props, _: usize) -> anyhow::Result<Value> {
    let broken = scene.stage.folder.file("broken");
    let id = process_of(asker)?;
    fs::write(&broken, "")?;
    kill(id)?;
    let answer = gone(id).and_then(|()| asker.ask("ill_echo", &json!({})));
    fs::remove_file(&broken)?;
    answer
}

/// Another definition, and word of it. The answer is the first in which introspection knows.
fn changing(scene: &Scene, asker: &mut Asker, _: &mut Props, round: usize) -> anyhow::Result<Value> {
    let words = format!(" Changed for round {round} of {}.", scene.plan.rounds);
    fs::write(scene.stage.folder.file("variant"), &words)?;
    let answer = asker.ask("ill_change", &json!({}))?;
    if !is_success(&answer) {
        return Ok(answer);
    }
    let deadline = Instant::now() + RECOVERY;
    loop {
        let shown = asker.ask("introspect", &json!({ "query": "operations", "name": "ill_echo" }))?;
        if shown.to_string().contains(words.trim()) {
            return Ok(answer);
        }
        if Instant::now() > deadline {
            return Ok(json!({ "error": { "code": "NEVER_TAKEN_OVER" } }));
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// The server ends, and is there again on another port, which the configuration then says.
fn moving(scene: &Scene, asker: &mut Asker, props: &mut Props, _: usize) -> anyhow::Result<Value> {
    drop(props.served.take());
    let answer = asker.ask("ill_echo", &json!({}))?;
    let served = Served::start(&scene.plan.script)?;
    scene.stage.move_to(&served.url())?;
    props.served = Some(served);
    Ok(answer)
}

fn process_of(asker: &mut Asker) -> anyhow::Result<u32> {
    let answer = asker.ask("ill_identity", &json!({}))?;
    let id = answer.pointer("/data/0").and_then(Value::as_u64).with_context(|| format!("no process: {answer}"))?;
    Ok(u32::try_from(id)?)
}

/// Waits until a process that was killed has ended: on a busy machine that takes a moment.
fn gone(id: u32) -> anyhow::Result<()> {
    let deadline = Instant::now() + RECOVERY;
    while marked::is_alive(id) {
        if Instant::now() > deadline {
            bail!("process {id} was killed and is still there");
        }
        std::thread::sleep(BETWEEN_LOOKS);
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
