//! Rules that do nothing, reported when a configuration takes effect: at start, on reload, and by `policy show` and
//! `validate`.

use std::sync::{Arc, Weak};

use aquifer_engine::Engine;
use aquifer_gate::SafetyGate;
use aquifer_gate::policy::{Inventory, UnusedRule};
use aquifer_upstream::Upstream;

use crate::sources::Opened;

/// Every rule, limit and price that matches nothing or changes nothing. Rules that could be about a source of which nobody
/// knows yet what it offers are left out.
pub(crate) fn find_unused(engine: &Engine, gate: &SafetyGate, unknown_sources: &[String]) -> Vec<UnusedRule> {
    let snapshot = engine.snapshot();
    let readings = snapshot.readings();
    let mut inventory = Inventory::default();
    for catalog in [snapshot.catalog(), snapshot.unlisted()] {
        catalog.operations().iter().for_each(|operation| inventory.add(operation, Some(catalog.types())));
    }
    readings.iter().for_each(|reading| inventory.add(reading, None));
    unknown_sources.iter().for_each(|source| inventory.add_unknown_source(source));
    gate.unused(&inventory)
}

/// The sources of which nobody knows yet what they offer.
pub(crate) fn unknown_sources(opened: &[Opened]) -> Vec<String> {
    let is_unknown = |one: &&Opened| {
        let is_absent = one.absent.is_some() && one.source.offering().operations.is_empty();
        one.unknown().is_some() || is_absent
    };
    opened.iter().filter(is_unknown).map(|one| one.source.name().to_owned()).collect()
}

/// Warns of every rule that does nothing. What cannot be told yet is checked once the sources have said what they offer.
pub(crate) fn report_unused(engine: &Arc<Engine>, gate: &Arc<SafetyGate>, opened: &[Opened]) {
    if !gate.has_rules() {
        return;
    }
    let unknown = unknown_sources(opened);
    let found = find_unused(engine, gate, &unknown);
    found.iter().for_each(warn);
    if unknown.is_empty() {
        return;
    }
    let awaited: Vec<(String, Weak<Upstream>)> =
        opened.iter().filter_map(|one| Some((one.source.name().to_owned(), Arc::downgrade(one.unknown()?)))).collect();
    tokio::spawn(report_later(Arc::downgrade(engine), gate.clone(), awaited, found));
}

/// Checks again whenever the catalog has changed, until every source is known. Ends with the engine.
async fn report_later(
    engine: Weak<Engine>,
    gate: Arc<SafetyGate>,
    mut awaited: Vec<(String, Weak<Upstream>)>,
    mut reported: Vec<UnusedRule>,
) {
    let Some(mut changes) = engine.upgrade().map(|engine| engine.changes()) else { return };
    while !awaited.is_empty() && changes.changed().await.is_ok() {
        let Some(engine) = engine.upgrade() else { return };
        awaited.retain(|(_, upstream)| upstream.upgrade().is_some_and(|upstream| !upstream.is_known()));
        let unknown: Vec<String> = awaited.iter().map(|(name, _)| name.clone()).collect();
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
