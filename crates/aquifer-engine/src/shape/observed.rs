//! What results looked like, by operation. Told by introspection on request, and never part of the catalog: a catalog
//! that changed with every call would spoil what clients remember of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aquifer_query::shape::Observation;
use serde_json::Value;

/// More operations than this are not remembered.
const MAX_COUNT: usize = 2_000;

/// Results that show nothing (none at all, plain values) are not looked into more often than this.
const TRIES: u8 = 3;

#[derive(Default)]
struct Seen {
    last: Option<Observation>,
    in_vain: u8,
}

#[derive(Default)]
pub(crate) struct Observed(Mutex<HashMap<Arc<str>, Seen>>);

impl Observed {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Arc<str>, Seen>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether another look is worth its time.
    pub(super) fn is_curious(&self, operation: &str) -> bool {
        self.with(|all| match all.get(operation) {
            Some(seen) => seen.last.is_none() && seen.in_vain < TRIES,
            None => all.len() < MAX_COUNT,
        })
    }

    /// Remembers what was seen. Nothing seen takes nothing away from what was seen before.
    pub(super) fn note(&self, operation: &Arc<str>, seen: Option<Observation>) {
        self.with(|all| {
            if all.len() >= MAX_COUNT && !all.contains_key(operation) {
                return;
            }
            let known = all.entry(operation.clone()).or_default();
            match seen {
                Some(seen) => known.last = Some(seen),
                None => known.in_vain = known.in_vain.saturating_add(1),
            }
        });
    }

    /// As introspection shows it.
    pub(crate) fn shown(&self, operation: &str) -> Option<Value> {
        self.with(|all| all.get(operation)?.last.as_ref().map(Observation::to_value))
    }
}
