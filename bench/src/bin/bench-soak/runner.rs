//! Runs all rounds of a fault, on a gateway of its own. The faulty upstreams of a gateway misbehave at the same time,
//! each in its own round; the next rounds start when all have recovered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::client::{code, is_success};
use crate::faults::{Fault, Kind, wait_until};
use crate::faulty_upstream::FaultyUpstream;
use crate::gateway::Gateway;
use crate::results::{FaultResults, Resources};
use crate::{Plan, healthy};

/// Number of rounds before measuring, to fill pools and caches.
const WARM_UP: usize = 10;
/// A fault that fails this often in a row is aborted.
const MAX_CONSECUTIVE_FAILURES: usize = 5;
/// How long a gateway is idle before its resources are measured.
const IDLE_TIME: Duration = Duration::from_secs(3);

/// Runs all rounds of a fault.
pub(crate) fn run_fault(fault: &Fault, plan: &Plan) -> anyhow::Result<FaultResults> {
    let (gateway, mut upstreams) = Gateway::start(plan, fault)?;
    let runner = FaultRunner { fault, plan, gateway: &gateway };
    runner.run_rounds(&mut upstreams, &mut FaultResults::default(), WARM_UP.max(fault.concurrency))?;
    let mut results = FaultResults {
        name: fault.name,
        concurrency: upstreams.len(),
        start: runner.measure_when_idle()?,
        ..FaultResults::default()
    };

    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let monitor = scope.spawn(|| healthy::monitor(&gateway.address, &over));
        let outcome = runner.run_all(&mut upstreams, &mut results);
        over.store(true, Ordering::Relaxed);
        match monitor.join() {
            Ok(health) => results.health = health,
            Err(_) => bail!("the monitor of the healthy upstream panicked"),
        }
        outcome
    })?;
    results.end = runner.measure_when_idle()?;
    drop(upstreams);
    results.leftover_processes = gateway.stop()?;
    Ok(results)
}

/// Runs the rounds of one fault on one gateway.
struct FaultRunner<'a> {
    fault: &'a Fault,
    plan: &'a Plan,
    gateway: &'a Gateway<'a>,
}

/// The result of a round.
struct RoundResult {
    answer: anyhow::Result<Value>,
    answered_at: Instant,
}

impl FaultRunner<'_> {
    fn run_all(&self, upstreams: &mut [FaultyUpstream], results: &mut FaultResults) -> anyhow::Result<()> {
        let half = self.plan.rounds / 2;
        self.run_rounds(upstreams, results, half)?;
        results.half = self.gateway.resources()?;
        self.run_rounds(upstreams, results, self.plan.rounds - half)
    }

    fn measure_when_idle(&self) -> anyhow::Result<Resources> {
        std::thread::sleep(IDLE_TIME);
        self.gateway.resources()
    }

    fn run_rounds(
        &self,
        upstreams: &mut [FaultyUpstream],
        results: &mut FaultResults,
        count: usize,
    ) -> anyhow::Result<()> {
        let (mut left, mut wrong_in_a_row) = (count, 0);
        while left > 0 && Instant::now() < self.plan.deadline && wrong_in_a_row < MAX_CONSECUTIVE_FAILURES {
            // There may be fewer rounds left than upstreams.
            let active: Vec<&mut FaultyUpstream> = upstreams.iter_mut().take(left).collect();
            left -= active.len();
            let wrong = self.run_parallel_rounds(active, results)?;
            wrong_in_a_row = if wrong == 0 { 0 } else { wrong_in_a_row + wrong };
        }
        Ok(())
    }

    /// Runs one round for each of these at once. Returns how many did not go as expected.
    fn run_parallel_rounds(
        &self,
        mut upstreams: Vec<&mut FaultyUpstream>,
        results: &mut FaultResults,
    ) -> anyhow::Result<usize> {
        let first = results.rounds + 1;
        let rounds = in_parallel(&mut upstreams, |upstream, index| {
            let answer = (self.fault.round)(upstream, first + index);
            Ok(RoundResult { answer, answered_at: Instant::now() })
        })?;
        if self.fault.kind == Kind::MovingHttp {
            self.gateway.update_urls(&upstreams)?;
        }
        let recovered = in_parallel(&mut upstreams, |upstream, _| {
            let recovered = wait_until(|| Ok(is_success(&upstream.call("echo", &json!({ "text": "again" }))?)))?;
            Ok((recovered, Instant::now()))
        })?;
        let mut wrong = 0;
        for (RoundResult { answer, answered_at }, (recovered, at)) in rounds.into_iter().zip(recovered) {
            let as_expected = match (&answer, self.fault.expected) {
                (Ok(answer), Some(expected)) => code(answer) == expected,
                (Ok(answer), None) => is_success(answer),
                (Err(_), _) => false,
            };
            results.count(as_expected, recovered, at.duration_since(answered_at));
            if !(as_expected && recovered) {
                wrong += 1;
                let shown = answer.map_or_else(|problem| format!("{problem:#}"), |answer| answer.to_string());
                eprintln!("{}, round {}: recovered: {recovered}, answer: {shown}", self.fault.name, results.rounds);
            }
            if results.rounds.is_multiple_of(50) {
                eprintln!("{}: {} rounds", self.fault.name, results.rounds);
            }
        }
        Ok(wrong)
    }
}

/// Runs a function for each of them at the same time.
fn in_parallel<T: Send>(
    upstreams: &mut [&mut FaultyUpstream],
    run: impl Fn(&mut FaultyUpstream, usize) -> anyhow::Result<T> + Sync,
) -> anyhow::Result<Vec<T>> {
    let run = &run;
    std::thread::scope(|scope| {
        let threads: Vec<_> = upstreams
            .iter_mut()
            .enumerate()
            .map(|(index, upstream)| scope.spawn(move || run(upstream, index)))
            .collect();
        let ended = threads.into_iter().map(|thread| thread.join().ok().context("a round panicked")?);
        ended.collect()
    })
}
