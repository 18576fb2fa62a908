//! Many concurrent callers, what they saw, and what must be true afterwards.
//!
//! Every confirmation is for a call with a parameter of its own, so that executions can be matched to confirmations.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::Context;
use aquifer_engine::store::StateStore;
use aquifer_gate::GateSettings;
use aquifer_gate::audit::{Audit, AuditSettings};
use aquifer_gate::confirm::ConfirmSettings;
use aquifer_protocol::trust::Trust;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::audit::support::{lines, verify_directory};
use crate::harness::{Harness, ManualClock, caller, code, request, with_token};

const CALLERS: usize = 16;
/// After this many refusals, a fault has been noticed.
const NOTICED_REFUSALS: usize = CALLERS;
const UNLIMITED: u64 = 1_000_000;

/// Number of calls during the faults.
fn calls() -> usize {
    std::env::var("AQUIFER_TEST_GATED_CALLS").ok().map_or(1_000, |calls| calls.parse().unwrap())
}

/// Longer than anything takes unless it hangs.
pub(crate) fn deadline() -> Duration {
    Duration::from_secs(600) * u32::try_from(calls().div_ceil(1_000)).unwrap()
}

/// A fault with stages; stage 0 ends it.
pub(crate) trait Fault {
    fn set(&mut self, stage: usize);
}

/// Two gates over one state, as in two processes.
pub(crate) struct Trial {
    harnesses: Vec<Harness>,
    audits: Vec<Audit>,
    directory: PathBuf,
    /// Minimum number of calls; there are more if faults are still to come.
    calls: usize,
    over: AtomicBool,
    /// The confirmed calls, each with what its callers saw.
    confirmed: Mutex<BTreeMap<String, CallerView>>,
    next: AtomicUsize,
    finished: AtomicUsize,
    refused: AtomicUsize,
    replays: AtomicUsize,
    crossed: AtomicUsize,
    lost: AtomicUsize,
    max_ms: AtomicU64,
    /// A caller has found a violation.
    broken: AtomicBool,
}

/// Detects a caller that panics.
struct Watch<'a>(&'a AtomicBool);

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.store(true, Ordering::SeqCst);
        }
    }
}

#[derive(Default, Clone, Copy)]
struct CallerView {
    done: usize,
    /// A caller did not wait for the response.
    abandoned: bool,
    /// A response said that the store or the audit failed.
    uncertain: bool,
}

impl Trial {
    pub(crate) fn over(stores: [Arc<dyn StateStore>; 2], directory: &Path) -> Self {
        let quota = json!({ "rate_limit": [{ "name": "all", "limit": UNLIMITED, "window": "minute" }] });
        let settings = GateSettings {
            confirm: ConfirmSettings {
                issued_per_minute: UNLIMITED,
                wrong_per_minute: UNLIMITED,
                ..Default::default()
            },
            quota: serde_json::from_value(quota).unwrap(),
            ..GateSettings::default()
        };
        let mut audits = Vec::new();
        let harnesses = stores.into_iter().map(|store| {
            Harness::over(&settings, Trust::Certified, store, ManualClock::new(), |store, clock| {
                let audit = Audit::open(AuditSettings::in_directory(directory), clock, store).unwrap();
                audits.push(audit.clone());
                audit
            })
        });
        Self {
            harnesses: harnesses.collect(),
            audits,
            directory: directory.to_owned(),
            calls: calls(),
            over: AtomicBool::new(false),
            confirmed: Mutex::default(),
            next: AtomicUsize::new(0),
            finished: AtomicUsize::new(0),
            refused: AtomicUsize::new(0),
            replays: AtomicUsize::new(0),
            crossed: AtomicUsize::new(0),
            lost: AtomicUsize::new(0),
            max_ms: AtomicU64::new(0),
            broken: AtomicBool::new(false),
        }
    }

    /// Runs all calls while the fault comes and goes this many times per thousand calls, and checks the results.
    pub(crate) async fn run(self, name: &str, fault: &mut dyn Fault, stages: usize, times: usize) {
        let (started, times) = (Instant::now(), times * (self.calls / 1_000).max(1));
        let trial = Arc::new(self);
        let all = async {
            let callers: Vec<_> = (0..CALLERS).map(|index| tokio::spawn(trial.clone().caller(index))).collect();
            for round in 1..=times {
                trial.until("a fault's turn", || trial.finished() * (times + 1) >= trial.calls * round).await;
                for stage in 1..=stages {
                    let before = trial.refused.load(Ordering::SeqCst);
                    fault.set(stage);
                    let noticed = || trial.refused.load(Ordering::SeqCst) >= before + NOTICED_REFUSALS;
                    trial.until("the fault is noticed", noticed).await;
                }
                fault.set(0);
            }
            trial.over.store(true, Ordering::SeqCst);
            for caller in callers {
                caller.await.unwrap();
            }
        };
        tokio::time::timeout(deadline(), all).await.unwrap_or_else(|_| panic!("{} calls were made", trial.finished()));
        trial.check(name, times, started).await;
    }

    fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }

    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let until = Instant::now() + deadline();
        while !holds() {
            assert!(Instant::now() < until, "never: {what}");
            assert!(!self.broken.load(Ordering::SeqCst), "a caller failed: see above");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn caller(self: Arc<Self>, index: usize) {
        let who = caller(Some(&format!("caller {index}")), Some("session"));
        let _watch = Watch(&self.broken);
        loop {
            let number = self.next.fetch_add(1, Ordering::SeqCst);
            if number >= self.calls && self.over.load(Ordering::SeqCst) {
                return;
            }
            let started = Instant::now();
            self.call(number, &who).await;
            let took = u64::try_from(started.elapsed().as_millis()).unwrap();
            self.max_ms.fetch_max(took, Ordering::SeqCst);
            self.finished.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// One deletion, from the question to the execution. A confirmation that a fault destroyed is requested again.
    async fn call(&self, number: usize, who: &Context) {
        let read =
            self.harnesses[number % 2].ask_as(request("alpha_get_thing", json!({ "id": "any" })), who.clone()).await;
        assert_eq!(code(&read), "done", "reads go on: {read}");
        for attempt in 0.. {
            let id = format!("{number}-{attempt}");
            let token = self.token(&id, number, who).await;
            if number.is_multiple_of(5) {
                self.cross(&id, &token, who).await;
            }
            self.confirmed.lock().insert(id.clone(), CallerView::default());
            let here = self.redeeming_harness(number);
            let is_done = match number % 7 {
                1 | 4 => {
                    let both = tokio::join!(self.redeem(here, &id, &token, who), self.redeem(here, &id, &token, who));
                    both.0 || both.1
                }
                3 => {
                    let hurry = Duration::from_millis(u64::try_from(number % 11).unwrap());
                    self.update_view(&id, |view| view.abandoned = true);
                    let given = tokio::time::timeout(hurry, self.redeem(here, &id, &token, who)).await;
                    given.unwrap_or(false) || self.redeem(here, &id, &token, who).await
                }
                _ => self.redeem(here, &id, &token, who).await,
            };
            if is_done {
                return self.replay(&id, &token, who).await;
            }
            self.lost.fetch_add(1, Ordering::SeqCst);
            let view = self.caller_view(&id);
            assert!(view.abandoned || view.uncertain, "{id}: a confirmation is gone, and nobody said why");
        }
    }

    /// The gate where a token is redeemed: half of the tokens where they were issued, half at the other.
    fn redeeming_harness(&self, number: usize) -> &Harness {
        &self.harnesses[number / 2 % 2]
    }

    fn update_view(&self, id: &str, what: impl FnOnce(&mut CallerView)) {
        what(self.confirmed.lock().get_mut(id).unwrap());
    }

    fn caller_view(&self, id: &str) -> CallerView {
        self.confirmed.lock()[id]
    }

    /// Counts a refusal because of the store or the audit, and waits a little.
    async fn was_refused(&self, answer: &Value) {
        assert_eq!(code(answer), "INTERNAL_ERROR", "{answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("Nothing was done"), "{message}");
        self.refused.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    async fn token(&self, id: &str, number: usize, who: &Context) -> String {
        loop {
            let answer = self.harnesses[number % 2].ask_as(delete(id), who.clone()).await;
            if code(&answer) == "CONFIRMATION_REQUIRED" {
                return answer["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
            }
            self.was_refused(&answer).await;
        }
    }

    /// Whether this executed the call. If not, the token is used up.
    async fn redeem(&self, harness: &Harness, id: &str, token: &str, who: &Context) -> bool {
        loop {
            let answer = harness.ask_as(with_token(delete(id), token), who.clone()).await;
            match code(&answer) {
                "done" => {
                    self.update_view(id, |view| view.done += 1);
                    return true;
                }
                "TOKEN_ALREADY_USED" => return false,
                _ => {
                    self.update_view(id, |view| view.uncertain = true);
                    self.was_refused(&answer).await;
                }
            }
        }
    }

    /// After the execution, the token is refused by both gates.
    async fn replay(&self, id: &str, token: &str, who: &Context) {
        for harness in &self.harnesses {
            let answer = harness.ask_as(with_token(delete(id), token), who.clone()).await;
            match code(&answer) {
                "TOKEN_ALREADY_USED" => {
                    self.replays.fetch_add(1, Ordering::SeqCst);
                }
                _ => self.was_refused(&answer).await,
            }
        }
    }

    /// Uses the token for another call, another caller, another source, or an invented token: nothing runs, and the
    /// token stays valid.
    async fn cross(&self, id: &str, token: &str, who: &Context) {
        let beta = request("beta_delete_thing", json!({ "id": id }));
        let stranger = caller(Some("a stranger"), Some("session"));
        let made_up = format!("conf_{}", "A".repeat(43));
        for (request, who, token) in [
            (delete(&format!("crossed {id}")), who, token),
            (beta, who, token),
            (delete(id), &stranger, token),
            (delete(&format!("made up {id}")), who, &made_up),
        ] {
            let answer = self.harnesses[0].ask_as(with_token(request, token), who.clone()).await;
            match code(&answer) {
                "TOKEN_SCOPE_MISMATCH" | "TOKEN_INVALID" => {
                    self.crossed.fetch_add(1, Ordering::SeqCst);
                }
                _ => self.was_refused(&answer).await,
            }
        }
    }

    async fn check(&self, name: &str, faults: usize, started: Instant) {
        let confirmed = self.confirmed.lock().clone();
        let mut executed: BTreeMap<String, usize> = BTreeMap::new();
        for (source, operation, params) in self.harnesses.iter().flat_map(Harness::done) {
            if operation == "delete_thing" {
                assert_eq!(source, "alpha", "a token was taken elsewhere");
                *executed.entry(params["id"].as_str().unwrap().to_owned()).or_default() += 1;
            }
        }
        for (id, times) in &executed {
            let view = confirmed.get(id).unwrap_or_else(|| panic!("{id} was executed unconfirmed"));
            assert_eq!(*times, 1, "{id} was executed twice for one confirmation");
            assert!(view.done == 1 || view.abandoned, "{id} was executed, and its caller was told otherwise");
        }
        for (id, view) in &confirmed {
            assert!(view.done <= 1, "{id} was confirmed twice");
            assert_eq!(
                executed.contains_key(id),
                view.done == 1 || executed.contains_key(id) && view.abandoned,
                "{id}"
            );
        }
        let done = confirmed.values().filter(|view| view.done == 1).count();
        assert!(self.finished() >= self.calls);
        assert_eq!(done, self.finished(), "every call got through in the end");
        let refused = self.refused.load(Ordering::SeqCst);
        assert!(refused >= faults * NOTICED_REFUSALS, "{refused} refusals");
        let entries = self.check_audit(executed.keys()).await;
        let count = |figure: &AtomicUsize| figure.load(Ordering::SeqCst);
        // Other output may precede this, so the figures start on a new line.
        println!();
        for (figure, value) in [
            ("calls", self.finished()),
            ("faults", faults),
            ("executed", executed.len()),
            ("refused", refused),
            ("lost", count(&self.lost)),
            ("replays", count(&self.replays)),
            ("crossed", count(&self.crossed)),
            ("entries", entries),
            ("max_ms", usize::try_from(self.max_ms.load(Ordering::SeqCst)).unwrap()),
            ("seconds", usize::try_from(started.elapsed().as_secs()).unwrap()),
        ] {
            println!("gate.{name}.{figure}\t{value}");
        }
    }

    /// Checks that the chains are intact and that everything executed was recorded before. Returns the number of
    /// entries.
    async fn check_audit(&self, executed: impl Iterator<Item = &String>) -> usize {
        for audit in &self.audits {
            audit.flush().await.unwrap();
        }
        let report = verify_directory(&self.directory, &self.harnesses[0].store.inner).await;
        assert!(report.is_intact(), "{report}");
        assert!(report.chains.len() >= 2, "{report}");
        let mut intended = BTreeSet::new();
        let lines = lines(&self.directory);
        for line in &lines {
            if line["event"] == "OPERATION_INTENT" {
                intended.insert(line["parameters"]["id"].as_str().unwrap().to_owned());
            }
        }
        for id in executed {
            assert!(intended.contains(id), "{id} was executed and is not on record");
        }
        assert!(!lines.iter().any(|line| line.to_string().contains("conf_")), "a token is on record");
        lines.len()
    }
}

fn delete(id: &str) -> Value {
    request("alpha_delete_thing", json!({ "id": id }))
}
