//! What results looked like. Introspection shows a caller, on request, what the results of its own calls looked like: names in
//! results are data, and data of one caller are not for another. Of all callers together, only the number of observations
//! is known here; what a source makes of the shape of a result is fixed text.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_query::shape::Observation;
use parking_lot::Mutex;
use serde_json::Value;

use crate::call::caller::Caller;

/// The maximum number of operations, and of observations of all callers.
const MAX_OBSERVATIONS: usize = 2_000;

/// The maximum size of the first result of an operation that is parsed to observe its shape. Controls matter most for large
/// results.
const MAX_FIRST_BYTES: usize = 8 * 1_024 * 1_024;

/// The same for the first result of each caller.
const MAX_OWN_BYTES: usize = 256 * 1_024;

/// After this many bytes of results without a shape (empty, or plain values) an operation is no longer observed. Counting
/// the results instead would be wrong: a search can find nothing many times before it finds something.
const MAX_SHAPELESS_BYTES: usize = 3 * MAX_FIRST_BYTES;

struct Record<T> {
    last: Option<T>,
    shapeless_bytes: usize,
}

impl<T> Default for Record<T> {
    fn default() -> Self {
        Self { last: None, shapeless_bytes: 0 }
    }
}

impl<T> Record<T> {
    fn needs_observation(&self) -> bool {
        self.last.is_none() && self.shapeless_bytes < MAX_SHAPELESS_BYTES
    }

    /// An empty observation does not replace an earlier one.
    fn add(&mut self, observation: Option<T>, bytes: usize) {
        match observation {
            Some(observation) => self.last = Some(observation),
            None => self.shapeless_bytes = self.shapeless_bytes.saturating_add(bytes),
        }
    }
}

/// The observations of one caller.
#[derive(Default)]
struct CallerRecords {
    operations: HashMap<Arc<str>, Record<Observation>>,
    used: u64,
}

#[derive(Default)]
struct Inner {
    /// Which operations were observed, by whomever.
    operations: HashMap<Arc<str>, Record<()>>,
    callers: HashMap<Caller, CallerRecords>,
    clock: u64,
}

#[derive(Default)]
pub(crate) struct Observations(Mutex<Inner>);

impl Observations {
    fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut self.0.lock())
    }

    /// The size of a result up to which another observation is worth its cost. What results of the operation look like is
    /// worth more than what those of one caller do.
    pub(super) fn max_observed_bytes(&self, caller: &Caller, operation: &str, has_known_rows: bool) -> usize {
        self.with(|inner| {
            let known = inner.operations.get(operation);
            let is_known = known.map_or(inner.operations.len() >= MAX_OBSERVATIONS, |known| !known.needs_observation());
            let own = || inner.callers.get(caller).and_then(|own| own.operations.get(operation));
            let needs_own = || is_identified(caller) && own().is_none_or(Record::needs_observation);
            match is_known {
                false if !has_known_rows => MAX_FIRST_BYTES,
                false => MAX_OWN_BYTES,
                true if needs_own() => MAX_OWN_BYTES,
                true => 0,
            }
        })
    }

    /// Records an observation of a result of this size.
    pub(super) fn record(&self, caller: &Caller, operation: &Arc<str>, observation: Option<Observation>, bytes: usize) {
        self.with(|inner| {
            if inner.operations.len() < MAX_OBSERVATIONS || inner.operations.contains_key(operation) {
                inner.operations.entry(operation.clone()).or_default().add(observation.as_ref().map(|_| ()), bytes);
            }
            if is_identified(caller) && inner.make_room(caller, operation) {
                inner.clock += 1;
                let own = inner.callers.entry(caller.clone()).or_default();
                own.used = inner.clock;
                own.operations.entry(operation.clone()).or_default().add(observation, bytes);
            }
        });
    }

    /// The observation of this caller, for introspection.
    pub(super) fn get(&self, caller: &Caller, operation: &str) -> Option<Value> {
        self.with(|inner| {
            inner.callers.get(caller)?.operations.get(operation)?.last.as_ref().map(Observation::to_value)
        })
    }

    pub(super) fn session_ended(&self, session: &str) {
        self.with(|inner| inner.callers.retain(|caller, _| caller.session.as_deref() != Some(session)));
    }
}

impl Inner {
    /// Makes room for an observation, at the cost of the callers that have observed nothing for the longest time.
    fn make_room(&mut self, caller: &Caller, operation: &str) -> bool {
        if self.callers.get(caller).is_some_and(|own| own.operations.contains_key(operation)) {
            return true;
        }
        while self.callers.values().map(|own| own.operations.len()).sum::<usize>() >= MAX_OBSERVATIONS {
            let others = self.callers.iter().filter(|(other, _)| *other != caller);
            let Some(oldest) = others.min_by_key(|(_, own)| own.used).map(|(other, _)| other.clone()) else {
                return false;
            };
            self.callers.remove(&oldest);
        }
        true
    }
}

/// Whether what a caller saw can be told apart from what others saw.
fn is_identified(caller: &Caller) -> bool {
    caller.owner().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A search can find nothing many times before it finds something. Only what is expensive to look at ends it.
    #[test]
    fn r_dis_8a_many_empty_results_do_not_end_the_observation() {
        let observations = Observations::default();
        let (caller, name) = (Caller::session("a"), Arc::from("search_things"));
        let max_bytes = || observations.max_observed_bytes(&caller, &name, false);
        for _ in 0..1_000 {
            observations.record(&caller, &name, None, 2);
        }
        assert_eq!(max_bytes(), MAX_FIRST_BYTES);
        for _ in 0..3 {
            assert_eq!(max_bytes(), MAX_FIRST_BYTES);
            observations.record(&caller, &name, None, MAX_FIRST_BYTES);
        }
        assert_eq!(max_bytes(), 0);
    }
}
