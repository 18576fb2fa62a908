//! Reports rules without effect when a configuration takes effect: at start, on reload, and in `policy show` and
//! `validate`.

use std::sync::{Arc, Weak};

use aquifer_engine::Engine;
use aquifer_gate::SafetyGate;
use aquifer_gate::policy::{Inventory, UnusedRule};
use tokio::task::AbortHandle;

use crate::sources::OpenSource;
use crate::sources::gateway::Upstream;

/// Finds all rules, limits and prices that match nothing or change nothing. Skips those that may apply to a source
/// whose operations are not known yet.
pub(crate) fn find_unused(engine: &Engine, gate: &SafetyGate, unknown_sources: &[String]) -> Vec<UnusedRule> {
    let snapshot = engine.snapshot();
    let readings = snapshot.read_operations();
    let mut inventory = Inventory::default();
    for catalog in [snapshot.catalog(), snapshot.unlisted()] {
        catalog.operations().iter().for_each(|operation| inventory.add(operation, Some(catalog.types())));
    }
    readings.iter().for_each(|reading| inventory.add(reading, None));
    unknown_sources.iter().for_each(|source| inventory.add_unknown_source(source));
    gate.find_unused(&inventory)
}

/// The sources whose operations are not known yet.
pub(crate) fn unknown_sources(opened: &[OpenSource]) -> Vec<String> {
    let is_unknown = |source: &&OpenSource| {
        let is_absent = source.absent.is_some() && source.source.offering().operations.is_empty();
        source.unknown().is_some() || is_absent
    };
    opened.iter().filter(is_unknown).map(|one| one.source.name().to_owned()).collect()
}

/// Warns about rules without effect, now and whenever the catalog changes: a source may not have answered yet, or a
/// table may have been renamed. Dropping the returned value ends the reports.
#[must_use]
pub(crate) fn report_unused(engine: &Arc<Engine>, gate: &Arc<SafetyGate>, opened: &[OpenSource]) -> UnusedReporter {
    if !gate.has_rules() {
        return UnusedReporter(None);
    }
    let unused = find_unused(engine, gate, &unknown_sources(opened));
    unused.iter().for_each(warn);
    let awaited: Vec<(String, Weak<Upstream>)> =
        opened.iter().filter_map(|one| Some((one.source.name().to_owned(), Arc::downgrade(one.unknown()?)))).collect();
    let absent: Vec<String> =
        opened.iter().filter(|one| one.absent.is_some()).map(|one| one.source.name().to_owned()).collect();
    let task = tokio::spawn(report_later(Arc::downgrade(engine), gate.clone(), awaited, absent, unused));
    UnusedReporter(Some(task.abort_handle()))
}

/// Reports rules without effect until it is dropped.
pub(crate) struct UnusedReporter(Option<AbortHandle>);

impl Drop for UnusedReporter {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

/// Ends when the engine is dropped.
async fn report_later(
    engine: Weak<Engine>,
    gate: Arc<SafetyGate>,
    mut awaited: Vec<(String, Weak<Upstream>)>,
    absent: Vec<String>,
    mut reported: Vec<UnusedRule>,
) {
    let Some(mut changes) = engine.upgrade().map(|engine| engine.changes()) else { return };
    while changes.changed().await.is_ok() {
        let Some(engine) = engine.upgrade() else { return };
        awaited.retain(|(_, upstream)| upstream.upgrade().is_some_and(|upstream| !upstream.is_known()));
        let snapshot = engine.snapshot();
        let is_served = |source: &String| {
            let catalogs = [snapshot.catalog(), snapshot.unlisted()];
            catalogs.iter().any(|catalog| catalog.sources().iter().any(|known| **known == **source))
        };
        let mut unknown: Vec<String> = awaited.iter().map(|(name, _)| name.clone()).collect();
        unknown.extend(absent.iter().filter(|source| !is_served(source)).cloned());
        for unused in find_unused(&engine, &gate, &unknown) {
            if !reported.contains(&unused) {
                warn(&unused);
                reported.push(unused);
            }
        }
    }
}

fn warn(unused: &UnusedRule) {
    tracing::warn!("[gate] {unused}");
}
