//! What results looked like, by operation. Told by introspection on request, and never part of the catalog: a catalog
//! that changed with every call would spoil what clients remember of it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use aquifer_query::shape::Observation;
use serde_json::Value;

/// More operations than this are not remembered.
const MOST: usize = 2_000;

#[derive(Default)]
pub(crate) struct Observed(Mutex<HashMap<Arc<str>, Observation>>);

impl Observed {
    fn with<T>(&self, act: impl FnOnce(&mut HashMap<Arc<str>, Observation>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    pub(super) fn knows(&self, operation: &str) -> bool {
        self.with(|all| all.contains_key(operation))
    }

    pub(super) fn note(&self, operation: &Arc<str>, seen: Option<Observation>) {
        let Some(seen) = seen else { return };
        self.with(|all| {
            if all.len() < MOST || all.contains_key(operation) {
                all.insert(operation.clone(), seen);
            }
        });
    }

    /// As introspection shows it.
    pub(crate) fn shown(&self, operation: &str) -> Option<Value> {
        self.with(|all| all.get(operation).map(Observation::to_value))
    }
}
