//! Runs all rounds of a fault, on a gateway of its own. The faulty upstreams of a gateway misbehave at the same time,
//! each in its own round; the next rounds start when all have recovered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::ask::{code, is_success};
use crate::faults::{Fault, Kind, before_long};
use crate::patient::Patient;
use crate::stage::Stage;
use crate::tally::{Held, Tally};
use crate::{Plan, healthy};

/// Number of rounds before measuring, to fill pools and caches.
const WARM_UP: usize = 10;
/// A fault that fails this often in a row is aborted.
const MAX_IN_A_ROW: usize = 5;
/// How long a gateway is idle before its resources are measured.
const REST: Duration = Duration::from_secs(3);

/// Runs all rounds of a fault.
pub(crate) fn endure(fault: &Fault, plan: &Plan) -> anyhow::Result<Tally> {
    let (stage, mut patients) = Stage::up(plan, fault)?;
    let scene = Scene { fault, plan, stage: &stage };
    scene.rounds(&mut patients, &mut Tally::default(), WARM_UP.max(fault.side_by_side))?;
    let mut tally =
        Tally { name: fault.name, side_by_side: patients.len(), start: scene.rested()?, ..Tally::default() };

    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watch = scope.spawn(|| healthy::watch(&stage.address, &over));
        let played = scene.play(&mut patients, &mut tally);
        over.store(true, Ordering::Relaxed);
        match watch.join() {
            Ok(health) => tally.health = health,
            Err(_) => bail!("the watch over the healthy upstream panicked"),
        }
        played
    })?;
    tally.end = scene.rested()?;
    drop(patients);
    tally.left = stage.end()?;
    Ok(tally)
}

struct Scene<'a> {
    fault: &'a Fault,
    plan: &'a Plan,
    stage: &'a Stage<'a>,
}

/// The result of a round.
struct Played {
    answer: anyhow::Result<Value>,
    told: Instant,
}

impl Scene<'_> {
    fn play(&self, patients: &mut [Patient], tally: &mut Tally) -> anyhow::Result<()> {
        let half = self.plan.rounds / 2;
        self.rounds(patients, tally, half)?;
        tally.half = self.stage.held()?;
        self.rounds(patients, tally, self.plan.rounds - half)
    }

    fn rested(&self) -> anyhow::Result<Held> {
        std::thread::sleep(REST);
        self.stage.held()
    }

    fn rounds(&self, patients: &mut [Patient], tally: &mut Tally, count: usize) -> anyhow::Result<()> {
        let (mut left, mut wrong_in_a_row) = (count, 0);
        while left > 0 && Instant::now() < self.plan.deadline && wrong_in_a_row < MAX_IN_A_ROW {
            // There may be fewer rounds left than upstreams.
            let some: Vec<&mut Patient> = patients.iter_mut().take(left).collect();
            left -= some.len();
            let wrong = self.turn(some, tally)?;
            wrong_in_a_row = if wrong == 0 { 0 } else { wrong_in_a_row + wrong };
        }
        Ok(())
    }

    /// Runs one round for each of these at once. Returns how many did not go as expected.
    fn turn(&self, mut some: Vec<&mut Patient>, tally: &mut Tally) -> anyhow::Result<usize> {
        let first = tally.rounds + 1;
        let played = at_once(&mut some, |patient, place| {
            let answer = (self.fault.round)(patient, first + place);
            Ok(Played { answer, told: Instant::now() })
        })?;
        if self.fault.kind == Kind::Elsewhere {
            self.stage.tell_places(&some)?;
        }
        let recovered = at_once(&mut some, |patient, _| {
            let recovered = before_long(|| Ok(is_success(&patient.ask("echo", &json!({ "text": "again" }))?)))?;
            Ok((recovered, Instant::now()))
        })?;
        let mut wrong = 0;
        for (Played { answer, told }, (recovered, at)) in played.into_iter().zip(recovered) {
            let as_expected = match (&answer, self.fault.expected) {
                (Ok(answer), Some(expected)) => code(answer) == expected,
                (Ok(answer), None) => is_success(answer),
                (Err(_), _) => false,
            };
            tally.count(as_expected, recovered, at.duration_since(told));
            if !(as_expected && recovered) {
                wrong += 1;
                let told = answer.map_or_else(|problem| format!("{problem:#}"), |answer| answer.to_string());
                eprintln!("{}, round {}: recovered: {recovered}, told: {told}", self.fault.name, tally.rounds);
            }
            if tally.rounds.is_multiple_of(50) {
                eprintln!("{}: {} rounds", self.fault.name, tally.rounds);
            }
        }
        Ok(wrong)
    }
}

/// Runs a function for each of them at the same time.
fn at_once<T: Send>(
    some: &mut [&mut Patient],
    does: impl Fn(&mut Patient, usize) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let does = &does;
    std::thread::scope(|scope| {
        let threads: Vec<_> =
            some.iter_mut().enumerate().map(|(place, patient)| scope.spawn(move || does(patient, place))).collect();
        let ended = threads.into_iter().map(|thread| thread.join().ok().context("a round panicked")?);
        ended.collect()
    })
}
