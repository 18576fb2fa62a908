//! An engine behind a real gate, with limits whose windows have all buckets in use.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::{anyhow, ensure};
use aquifer_engine::clock::{Clock, SteadyClock};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_engine::{Caller, Context, Engine, Reply, Source};
use aquifer_gate::audit::Audit;
use aquifer_gate::quota::QuotaSettings;
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::{Receiver, Surface};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Number of buckets of a window.
const BUCKETS: usize = 60;
/// Seconds per bucket of a minute.
const MINUTE_BUCKET_SECONDS: i64 = 1;
/// Seconds per bucket of a day.
const DAY_BUCKET_SECONDS: i64 = 24 * 60;

/// The system clock plus an offset in seconds.
#[derive(Default)]
struct OffsetClock(AtomicI64);

impl Clock for OffsetClock {
    fn now(&self) -> Timestamp {
        let offset = SignedDuration::from_secs(self.0.load(Ordering::Relaxed));
        Timestamp::now().checked_add(offset).unwrap_or(Timestamp::MAX)
    }
}

/// Creates the engine, either with a rate limit and a quota, both per caller, or with neither.
pub(crate) async fn engine(
    surface: Surface,
    source: Arc<dyn Source>,
    limited: bool,
    call: &Map<String, Value>,
) -> anyhow::Result<Engine> {
    let offset = Arc::new(OffsetClock::default());
    let clock = Arc::new(SteadyClock::new(offset.clone()));
    let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), 10_000));
    let quota = if limited { limits()? } else { QuotaSettings::default() };
    let settings = GateSettings { quota, ..GateSettings::default() };
    let gate = SafetyGate::new(&settings, Audit::disabled(clock.clone()), store.clone(), clock.clone())?;
    let engine = Engine::builder(surface).source(source).gate(Arc::new(gate)).store(store).clock(clock).build()?;
    for step in [DAY_BUCKET_SECONDS, MINUTE_BUCKET_SECONDS] {
        for _ in 1..BUCKETS {
            let context = Context::new(Caller::anonymous(), "req");
            let reply = engine.handle(&Receiver::Unified, call.clone(), context).await;
            ensure!(matches!(reply, Reply::Response(Response::Success(_))), "the gate did not let a call pass");
            offset.0.fetch_add(step, Ordering::Relaxed);
        }
    }
    Ok(engine)
}

fn limits() -> anyhow::Result<QuotaSettings> {
    let limits = json!({
        "rate_limit": [{ "name": "calls", "limit": 1_000_000_000, "window": "minute", "per": ["caller"] }],
        "quota": [{ "metric": "requests_per_day", "hard_stop": 1_000_000_000, "per": ["caller"] }],
    });
    serde_json::from_value(limits).map_err(|error| anyhow!("limits: {error}"))
}
