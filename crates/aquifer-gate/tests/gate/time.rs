//! Setting the clock back revives nothing, and a clock that was ahead and corrected keeps nothing alive (R-SAF-3,
//! R-SAF-4), in one process, after a restart and in several processes.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::store::{HIGH_WATER, HighWater, MemoryStore, StateStore, milliseconds};
use aquifer_gate::audit::{Audit, AuditSettings};
use aquifer_gate::confirm::approvals::{ApprovalError, Status};
use aquifer_gate::{GateSettings, persist_time};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use crate::confirm::shared::{Open, stores};
use crate::harness::{Harness, ManualClock, approve, code, request, with_token};
use crate::stores::setup::{Folder, eventually};

const MINUTE: i64 = 60;
const DAY: i64 = 24 * 60 * MINUTE;
const YEAR: i64 = 365 * DAY;

/// A token is valid for five minutes, and for half a minute more because clocks may differ.
const LIFETIME: u64 = 330;

/// What happens to the wall clock before anything is issued, and afterwards.
const CHANGES: [(&str, i64, i64); 5] = [
    ("nothing", 0, 0),
    ("back 10 minutes", 0, -10 * MINUTE),
    ("back a day", 0, -DAY),
    ("ahead 4 years, then back", 4 * YEAR, -4 * YEAR),
    ("ahead a day, then back 2", DAY, -2 * DAY),
];

fn settings() -> GateSettings {
    let mut settings = GateSettings::default();
    let limits = json!({
        "rate_limit": [{ "name": "makes", "limit": 3, "window": "hour", "operation": "*_create_thing" }],
        "quota": [{ "metric": "requests_per_day", "hard_stop": 3, "operation": "*_get_thing" }],
    });
    settings.quota = serde_json::from_value(limits).unwrap();
    // As long as tokens, so that both have ended at the same time.
    settings.confirm.approval_lifetime = settings.confirm.lifetime;
    settings
}

fn harness(clock: &ManualClock, store: Arc<dyn StateStore>) -> Harness {
    Harness::over(&settings(), Trust::Certified, store, clock.clone(), |_, clock| Audit::disabled(clock))
}

fn call(operation: &str, id: &str) -> Value {
    request(&format!("alpha_{operation}_thing"), json!({ "id": id }))
}

/// One process after the other on one store, or only one.
struct Machine<'a> {
    clock: ManualClock,
    harness: Harness,
    open: Option<&'a Open>,
}

impl<'a> Machine<'a> {
    fn new(open: Option<&'a Open>) -> Self {
        let clock = ManualClock::new();
        let store: Arc<dyn StateStore> = match open {
            Some(open) => open(&clock.steady),
            None => Arc::new(MemoryStore::new(clock.steady.clone(), 1_000)),
        };
        Self { harness: harness(&clock, store), clock, open }
    }

    fn restart(&mut self) {
        if let Some(open) = self.open {
            self.clock = self.clock.other_process();
            self.harness = harness(&self.clock, open(&self.clock.steady));
        }
    }

    /// Calls until a limit refuses, and returns the number of accepted calls.
    async fn calls(&self, operation: &str) -> usize {
        for count in 0..10 {
            match code(&self.harness.ask(call(operation, "x")).await) {
                "done" => {}
                "RATE_LIMIT_EXCEEDED" | "RATE_LIMIT_QUOTA_EXHAUSTED" => return count,
                other => panic!("{other}"),
            }
        }
        panic!("no limit holds")
    }

    async fn redeem(&self, id: &str, token: &str) -> String {
        code(&self.harness.ask(with_token(call("delete", id), token)).await).to_owned()
    }
}

async fn walk(case: &str, open: Option<&Open>, (ahead, back): (i64, i64), restarts: bool) {
    let mut machine = Machine::new(open);
    machine.clock.set_wall(ahead);
    let expired = machine.harness.token(call("delete", "expired")).await;
    machine.clock.advance(LIFETIME + 1);
    assert_eq!(machine.redeem("expired", &expired).await, "TOKEN_EXPIRED", "{case}");
    let used = machine.harness.token(call("delete", "used")).await;
    assert_eq!(machine.redeem("used", &used).await, "done", "{case}");
    for operation in ["create", "get"] {
        for _ in 0..2 {
            assert_eq!(code(&machine.harness.ask(call(operation, "x")).await), "done", "{case}");
        }
    }
    let (early, late) =
        (machine.harness.token(call("delete", "early")).await, machine.harness.token(call("delete", "late")).await);
    let resting = machine.harness.token(call("erase", "resting")).await;
    let answer = machine.harness.ask(call("purge", "approval")).await;
    let approval = answer["error"]["details"]["approval_id"].as_str().unwrap().to_owned();

    machine.clock.set_wall(back);
    if restarts {
        machine.restart();
    }
    assert_eq!(machine.redeem("used", &used).await, "TOKEN_ALREADY_USED", "{case}");
    assert_eq!(machine.redeem("expired", &expired).await, "TOKEN_EXPIRED", "{case}");
    let rested = machine.harness.ask(with_token(call("erase", "resting"), &resting)).await;
    assert_eq!(code(&rested), "CONFIRMATION_REQUIRED", "{case}: it has not rested yet");
    assert_eq!((machine.calls("create").await, machine.calls("get").await), (1, 1), "{case}: what was counted counts");

    machine.clock.advance(200);
    assert_eq!(machine.redeem("early", &early).await, "done", "{case}: what holds goes on to hold");
    let rested = machine.harness.ask(with_token(call("erase", "resting"), &resting)).await;
    assert_eq!(code(&rested), "done", "{case}");
    machine.clock.advance(LIFETIME - 199);
    assert_eq!(machine.redeem("late", &late).await, "TOKEN_EXPIRED", "{case}: no token lives longer");
    let approved = approve(&*machine.harness.store, &approval, &*machine.clock.steady).await;
    assert!(matches!(approved, Err(ApprovalError::Over { status: Status::Expired, .. })), "{case}: {approved:?}");

    machine.clock.advance(2 * 60 * 60);
    assert_eq!(machine.calls("create").await, 3, "{case}: a limit is free again when its window has passed");
}

#[tokio::test]
async fn r_saf_3_a_clock_set_back_revives_nothing() {
    for (change, ahead, back) in CHANGES {
        walk(&format!("memory, {change}"), None, (ahead, back), false).await;
        for restarts in [false, true] {
            let (stores, _folder) = stores();
            for (name, open) in &stores {
                let case = format!("{name}, {change}, {}", if restarts { "restarted" } else { "one process" });
                walk(&case, Some(open), (ahead, back), restarts).await;
            }
        }
    }
}

/// Two machines whose clocks differ share a store.
#[tokio::test]
async fn r_saf_6_processes_whose_clocks_differ_agree_about_the_time() {
    for behind in [10 * MINUTE, DAY, 4 * YEAR] {
        let (stores, _folder) = stores();
        for (name, open) in &stores {
            let case = format!("{name}, {behind} seconds");
            let (right, wrong) = (ManualClock::new(), ManualClock::new());
            wrong.set_wall(-behind);
            let wrong = wrong.other_process();
            let [one, other] = [&right, &wrong].map(|clock| harness(clock, open(&clock.steady)));
            let keeping = tokio::spawn(persist_time(right.steady.clone(), open(&right.steady)));
            let watching = open(&wrong.other_process().steady);
            let passes = async |seconds| {
                [&right, &wrong].iter().for_each(|clock| clock.advance(seconds));
                let now = milliseconds(right.now());
                eventually("the time is stored", async || stored_time(&*watching).await >= now).await;
            };
            let tokens = [one.token(call("delete", "a")).await, one.token(call("delete", "b")).await];
            passes(200).await;
            let redeemed = other.ask(with_token(call("delete", "a"), &tokens[0])).await;
            assert_eq!(code(&redeemed), "done", "{case}");
            passes(LIFETIME - 199).await;
            keeping.abort();
            let redeemed = other.ask(with_token(call("delete", "b"), &tokens[1])).await;
            assert_eq!(code(&redeemed), "TOKEN_EXPIRED", "{case}");
            // What one spends, the other has spent: no window is used twice.
            for harness in [&one, &other, &one] {
                assert_eq!(code(&harness.ask(call("create", "x")).await), "done", "{case}");
            }
            for harness in [&one, &other] {
                assert_eq!(code(&harness.ask(call("create", "x")).await), "RATE_LIMIT_EXCEEDED", "{case}");
            }
        }
    }
}

/// The time in a store, in milliseconds.
async fn stored_time(store: &dyn StateStore) -> u64 {
    store.get(HIGH_WATER).await.unwrap().map_or(0, |record| HighWater::parse(&record.value))
}

/// The token is not used, and no call comes, until the process is restarted with a clock that was set back.
#[tokio::test]
async fn r_saf_3_a_token_that_nobody_touched_has_expired_after_a_restart() {
    let (stores, _folder) = stores();
    for (name, open) in &stores {
        let mut machine = Machine::new(Some(open));
        let token = machine.harness.token(call("delete", "x")).await;
        let keeping = tokio::spawn(persist_time(machine.clock.steady.clone(), open(&machine.clock.steady)));
        machine.clock.advance(LIFETIME + 1);
        let now = milliseconds(machine.clock.now());
        // Read by another process, which itself writes no later time.
        let watching = open(&machine.clock.other_process().steady);
        eventually("the time is stored", async || stored_time(&*watching).await >= now).await;
        keeping.abort();
        machine.clock.set_wall(-10 * MINUTE);
        machine.restart();
        assert_eq!(machine.redeem("x", &token).await, "TOKEN_EXPIRED", "{name}");
    }
}

/// An earlier process may have issued tokens, so a new one keeps the time although it has issued none.
#[tokio::test]
async fn r_saf_3_the_time_is_kept_for_tokens_of_an_earlier_process() {
    let (stores, _folder) = stores();
    for (name, open) in &stores {
        let mut machine = Machine::new(Some(open));
        // The stored time is a year ahead: the new process has to learn it first.
        machine.clock.set_wall(YEAR);
        let token = machine.harness.token(call("delete", "x")).await;
        machine.clock.set_wall(-YEAR);
        machine.restart();
        let keeping = tokio::spawn(persist_time(machine.clock.steady.clone(), open(&machine.clock.steady)));
        let start = milliseconds(machine.clock.now());
        let watching = open(&machine.clock.other_process().steady);
        eventually("the time was learned", async || milliseconds(machine.clock.now()) > start).await;
        machine.clock.advance(LIFETIME + 1);
        let now = milliseconds(machine.clock.now());
        eventually("the time is stored", async || stored_time(&*watching).await >= now).await;
        keeping.abort();
        machine.restart();
        assert_eq!(machine.redeem("x", &token).await, "TOKEN_EXPIRED", "{name}");
    }
}

/// An impossible time must not be believed for ever, whoever wrote it.
#[tokio::test]
async fn r_saf_3_a_broken_time_in_the_store_is_replaced() {
    for (broken, version) in
        [("99999999999999", 5), ("18446744073709551615", i64::MAX), ("-5", 0), ("", 1), ("soon", 7)]
    {
        let (stores, folder) = stores();
        let (_, open) = stores.first().unwrap();
        let machine = Machine::new(Some(open));
        let store = open(&machine.clock.steady);
        assert_eq!(store.spend("s", 1, 1, Duration::from_secs(1)).await.unwrap().total, 1);
        let file = rusqlite::Connection::open(folder.file()).unwrap();
        let changed = file.execute(
            "UPDATE records SET value = ?1, version = ?2 WHERE key = ?3",
            rusqlite::params![broken.as_bytes(), version, HIGH_WATER],
        );
        assert_eq!(changed.unwrap(), 1);
        let late = machine.harness.token(call("delete", "y")).await;
        machine.clock.advance(LIFETIME + 1);
        assert_eq!(machine.redeem("y", &late).await, "TOKEN_EXPIRED", "{broken:?}");
        assert_eq!(stored_time(&*store).await, milliseconds(machine.clock.now()), "{broken:?}");
    }
}

/// Entries carry the wall clock's time, and the gate's if it differs.
#[tokio::test]
async fn r_saf_5_the_audit_has_both_times_where_they_differ() {
    for (back, differs) in [(0, false), (-30, false), (-10 * MINUTE, true)] {
        let (clock, folder) = (ManualClock::new(), Folder::new());
        let steady: Arc<SteadyClock> = clock.steady.clone();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(steady, 1_000));
        let audit_settings = AuditSettings::in_directory(&folder.0);
        let harness = Harness::over(&settings(), Trust::Certified, store, clock.clone(), |store, clock| {
            Audit::open(audit_settings, clock, store).unwrap()
        });
        let gate_time = clock.now();
        clock.set_wall(back);
        let token = harness.token(call("delete", "x")).await;
        assert_eq!(code(&harness.ask(with_token(call("delete", "x"), &token)).await), "done");
        let file = std::fs::read_dir(&folder.0).unwrap().find_map(|file| {
            let path = file.unwrap().path();
            path.extension().is_some_and(|ending| ending == "jsonl").then_some(path)
        });
        let lines = std::fs::read_to_string(file.unwrap()).unwrap();
        let intent: Value = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .find(|line: &Value| line["event"] == "OPERATION_INTENT")
            .unwrap();
        let wall = gate_time + jiff::SignedDuration::from_secs(back);
        assert_eq!(
            intent["timestamp"].as_str().map(|time| time.parse::<jiff::Timestamp>().unwrap()),
            Some(wall),
            "{intent}"
        );
        let expected = differs.then(|| gate_time.to_string());
        assert_eq!(intent["gate_time"].as_str(), expected.as_deref(), "{intent}");
    }
}
