//! The observed shapes of results, by operation. Introspection shows them on request. They are not part of the catalog:
//! a catalog that changed with every call would invalidate the caches of clients.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aquifer_query::shape::Observation;
use serde_json::Value;

/// The maximum number of operations with observations.
const MAX_OPERATIONS: usize = 2_000;

/// After this many results without a shape (empty, or plain values) an operation is no longer observed.
const MAX_EMPTY_RESULTS: u8 = 3;

#[derive(Default)]
struct OperationRecord {
    last: Option<Observation>,
    empty_results: u8,
}

#[derive(Default)]
pub(crate) struct Observations(Mutex<HashMap<Arc<str>, OperationRecord>>);

impl Observations {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Arc<str>, OperationRecord>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Whether another observation is worth its cost.
    pub(super) fn needs_observation(&self, operation: &str) -> bool {
        self.with(|all| match all.get(operation) {
            Some(observation) => observation.last.is_none() && observation.empty_results < MAX_EMPTY_RESULTS,
            None => all.len() < MAX_OPERATIONS,
        })
    }

    /// Records an observation. An empty one does not replace an earlier one.
    pub(super) fn record(&self, operation: &Arc<str>, observation: Option<Observation>) {
        self.with(|all| {
            if all.len() >= MAX_OPERATIONS && !all.contains_key(operation) {
                return;
            }
            let entry = all.entry(operation.clone()).or_default();
            match observation {
                Some(observation) => entry.last = Some(observation),
                None => entry.empty_results = entry.empty_results.saturating_add(1),
            }
        });
    }

    /// The observation for introspection.
    pub(crate) fn get(&self, operation: &str) -> Option<Value> {
        self.with(|all| all.get(operation)?.last.as_ref().map(Observation::to_value))
    }
}
