//! Counts tries against values that callers cannot see: changes whose success depends on them.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_engine::store::{SpendResult, StateStore};
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use super::{QuotaError, Quotas, WindowUnit};
use crate::timeout::with_timeout;

/// How often an hour a caller may try a change whose success depends on values that callers cannot see.
const MAX_HIDDEN_TESTS: u64 = 20;
/// The name of that limit. Limits of the configuration cannot have it, because of the '/'.
const HIDDEN_TESTS: &str = "hidden/values";

/// The number of changes that are being made, by the key of their counter.
pub(super) type ChangesInFlight = Arc<Mutex<HashMap<String, u64>>>;

/// A change that counts as a try against values that callers cannot see if it fails. Until that is known, it takes the
/// place of one, so that many at once are no way around the limit.
pub(crate) struct HiddenTest {
    store: Arc<dyn StateStore>,
    key: String,
    in_flight: ChangesInFlight,
}

impl HiddenTest {
    /// Counts the change, which has failed. This counts beyond the limit.
    pub(crate) async fn count_failure(&self) {
        let spent = self.store.spend(&self.key, 1, u64::MAX, WindowUnit::Hour.duration());
        if let Err(error) = with_timeout(spent).await {
            tracing::error!(%error, "a failed change was not counted");
        }
    }

    /// Adds the change to those in flight. Returns their number.
    fn begin(&self) -> u64 {
        let mut all = self.in_flight.lock();
        let count = all.entry(self.key.clone()).or_default();
        *count += 1;
        *count
    }
}

impl Drop for HiddenTest {
    fn drop(&mut self) {
        let mut all = self.in_flight.lock();
        if let Some(count) = all.get_mut(&self.key) {
            *count = count.saturating_sub(1);
        }
        all.retain(|_, count| *count > 0);
    }
}

impl Quotas {
    /// Counts a try against values that callers cannot see ([`Operation::tests_hidden`]). All callers without a principal
    /// share one count: a new connection gives no new tries.
    pub(crate) async fn count_hidden_test(&self, operation: &Operation, caller: &Caller) -> Result<(), QuotaError> {
        let key = hidden_test_key(operation, caller);
        let spent = self.store.spend(&key, 1, MAX_HIDDEN_TESTS, WindowUnit::Hour.duration());
        let spent = with_timeout(spent).await?;
        if spent.accepted { Ok(()) } else { Err(self.too_many_hidden_tests(&spent)) }
    }

    /// Begins a change that counts as a try if it fails, if there is a try left.
    pub(crate) async fn begin_hidden_test(
        &self,
        operation: &Operation,
        caller: &Caller,
    ) -> Result<HiddenTest, QuotaError> {
        let key = hidden_test_key(operation, caller);
        let test = HiddenTest { store: self.store.clone(), key, in_flight: self.hidden_tests.clone() };
        let in_flight = test.begin();
        let room = MAX_HIDDEN_TESTS.saturating_sub(in_flight);
        let spent = with_timeout(self.store.spend(&test.key, 0, room, WindowUnit::Hour.duration())).await?;
        if spent.accepted && in_flight <= MAX_HIDDEN_TESTS { Ok(test) } else { Err(self.too_many_hidden_tests(&spent)) }
    }

    fn too_many_hidden_tests(&self, spent: &SpendResult) -> QuotaError {
        let (name, limit) = (HIDDEN_TESTS.to_owned(), MAX_HIDDEN_TESTS);
        let failure = self.rate_limit_failure(&name, limit, WindowUnit::Hour, spent);
        QuotaError::RateLimited { name, limit, failure }
    }
}

/// The key under which tries against values that callers cannot see are counted.
fn hidden_test_key(operation: &Operation, caller: &Caller) -> String {
    let owner = match &caller.principal {
        Some(principal) => format!("p:{}", hex(&Sha256::digest(principal.as_bytes()))),
        None => "-".to_owned(),
    };
    format!("gate/spent/{HIDDEN_TESTS}/{}:{}/{owner}", operation.origin.source, operation.origin.own_name)
}
