//! What people have refused, beyond the refused call itself: where it went, and how many requests of a caller in a row.
//!
//! A model that was told no may try again in other words. An operation is not asked about again for the same destinations,
//! and after three refusals all changes of the caller pause. Approving a request ends both: the destinations of that request
//! can be asked about again, and its caller goes on.

use std::collections::HashMap;
use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};

use super::record::{TokenRecord, TokenState};
use super::scope::Scope;
use super::{Confirmations, Refusal, approvals, failure};
use crate::timeout::{change_record, with_timeout};

/// The number of refusals in a row after which the changes of a caller pause.
pub(crate) const MAX_REFUSALS: u32 = 3;

/// How long a refusal counts.
const COUNTED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a pause lasts at most.
const PAUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// Maximum number of refusals remembered whose first destination is the same.
const MAX_REFUSED_TOGETHER: usize = 16;

const CALLERS: &str = "gate/refusals/";

/// Maximum number of callers whose pause is ended at once.
const MAX_CALLERS: usize = 10_000;

/// The refusals of a caller since the last approval.
#[derive(Default, Serialize, Deserialize)]
struct Refusals {
    count: u32,
    /// The caller, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caller: Option<String>,
}

impl Refusals {
    fn from_record(record: &Record) -> Self {
        serde_json::from_slice(&record.value).unwrap_or_default()
    }

    fn is_pause(&self) -> bool {
        self.count >= MAX_REFUSALS
    }

    /// The record, and how long it is kept.
    fn to_record(&self) -> (Vec<u8>, Duration) {
        let keep = if self.is_pause() { PAUSED } else { COUNTED };
        (serde_json::to_vec(self).unwrap_or_default(), keep)
    }
}

/// Destinations that a person refused together.
#[derive(Clone, Serialize, Deserialize)]
struct RefusedTogether {
    /// The hashes of the destinations, in order.
    destinations: Vec<String>,
    /// The key of the token's record with the decision.
    token: String,
}

impl RefusedTogether {
    /// Those that begin with the same destination.
    fn from_record(record: Option<&Record>) -> Vec<Self> {
        record.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default()
    }
}

/// The key of the refusals whose first destination this is.
fn refused_key(destination: &str) -> String {
    format!("gate/refused/{destination}")
}

fn caller_key(principal: Option<&str>) -> String {
    match principal {
        Some(principal) => format!("{CALLERS}caller/{principal}"),
        None => format!("{CALLERS}anonymous"),
    }
}

/// Remembers that a person refused the call of this record, which is stored under `key` for so long.
pub(super) async fn remember(
    store: &dyn StateStore,
    principal: Option<&str>,
    key: &str,
    record: &TokenRecord,
    keep: Duration,
) -> Result<(), StoreError> {
    let counted = change_record(store, &caller_key(principal), |record| {
        let count = record.map(Refusals::from_record).unwrap_or_default().count.saturating_add(1);
        Some(Refusals { count, caller: principal.map(str::to_owned) }.to_record())
    })
    .await;
    let together = record.scope.destinations();
    if let Some(first) = together.first() {
        let refused = RefusedTogether { destinations: together.to_vec(), token: key.to_owned() };
        change_record(store, &refused_key(first), |record| {
            let mut all = RefusedTogether::from_record(record);
            all.retain(|other| other.destinations != refused.destinations);
            all.push(refused.clone());
            let surplus = all.len().saturating_sub(MAX_REFUSED_TOGETHER);
            all.drain(..surplus);
            Some((serde_json::to_vec(&all).unwrap_or_default(), keep))
        })
        .await?;
    }
    counted
}

/// Forgets the refusals of a caller, and that of the destinations of a call that a person allows.
pub(super) async fn forget(store: &dyn StateStore, principal: Option<&str>, scope: &Scope) -> Result<(), StoreError> {
    let allowed = scope.destinations();
    if let Some(first) = allowed.first() {
        change_record(store, &refused_key(first), |record| {
            let mut all = RefusedTogether::from_record(record);
            let before = all.len();
            all.retain(|other| other.destinations != allowed);
            (all.len() < before).then(|| (serde_json::to_vec(&all).unwrap_or_default(), COUNTED))
        })
        .await?;
    }
    forget_count(store, principal).await
}

async fn forget_count(store: &dyn StateStore, principal: Option<&str>) -> Result<(), StoreError> {
    change_record(store, &caller_key(principal), |record| {
        let counted = record.is_some_and(|record| Refusals::from_record(record).count > 0);
        counted.then(|| Refusals::default().to_record())
    })
    .await
}

/// Whether the changes of a caller are paused.
pub(super) async fn is_paused(store: &dyn StateStore, principal: Option<&str>) -> Result<bool, StoreError> {
    let record = with_timeout(store.get(&caller_key(principal))).await?;
    Ok(record.is_some_and(|record| Refusals::from_record(&record).is_pause()))
}

/// A caller whose changes are paused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PausedCaller {
    /// Its identity. `None` stands for all callers without one.
    pub caller: Option<String>,
}

/// The callers whose changes are paused, because a person has refused several of their requests.
pub async fn paused(store: &dyn StateStore) -> Result<Vec<PausedCaller>, StoreError> {
    let records = with_timeout(store.list(CALLERS, MAX_CALLERS)).await?;
    let refusals = records.iter().map(|(_, record)| Refusals::from_record(record)).filter(Refusals::is_pause);
    Ok(refusals.map(|refusals| PausedCaller { caller: refusals.caller }).collect())
}

/// Ends the pause of all callers whose changes are paused, and returns them.
pub async fn resume(store: &dyn StateStore) -> Result<Vec<PausedCaller>, StoreError> {
    let callers = paused(store).await?;
    for paused in &callers {
        forget_count(store, paused.caller.as_deref()).await?;
    }
    Ok(callers)
}

impl Confirmations {
    /// Refuses a call to destinations that a person has refused for the same operation, whatever others it has besides.
    pub(super) async fn check_destinations(&self, scope: &Scope) -> Result<(), Refusal> {
        let of_call = scope.destinations();
        for destination in of_call {
            let record = with_timeout(self.store.get(&refused_key(destination))).await?;
            for refused in RefusedTogether::from_record(record.as_ref()) {
                if !refused.destinations.iter().all(|refused| of_call.contains(refused)) {
                    continue;
                }
                let record = approvals::load_token_record(&*self.store, &refused.token).await?;
                if let Some((record, _)) = record
                    && record.state == TokenState::Denied
                    && self.is_refused(&record)
                {
                    return Err(Refusal::of_destinations(record));
                }
            }
        }
        Ok(())
    }

    /// Whether a person has refused to let a call go to its destinations.
    pub(crate) async fn refuses_destinations(&self, scope: &Scope) -> bool {
        self.check_destinations(scope).await.is_err()
    }

    /// Fails if a person has refused so many requests of a caller that its changes are paused. While the store is
    /// unavailable nothing is paused: what needs a person is refused anyway. A call that nobody is asked about `may_lag`
    /// behind a refusal by a second, so that not every such call reads the store.
    pub(crate) async fn check_pause(
        &self,
        operation: &Operation,
        caller: &Caller,
        may_lag: bool,
    ) -> Result<(), Failure> {
        if may_lag && self.is_unpaused(caller) {
            return Ok(());
        }
        let principal = caller.principal.as_deref();
        match is_paused(&*self.store, principal).await {
            Ok(true) => Err(failure::changes_paused(operation)),
            Ok(false) => {
                self.unpaused.insert(principal, self.now());
                Ok(())
            }
            Err(error) => {
                tracing::warn!(%error, operation = &*operation.name, "it is not known whether changes are paused");
                self.unpaused.insert(principal, self.now());
                Ok(())
            }
        }
    }

    /// Whether the changes of a caller were not paused a moment ago.
    pub(crate) fn is_unpaused(&self, caller: &Caller) -> bool {
        self.unpaused.contains(caller.principal.as_deref(), self.now())
    }

    /// Remembers that a person has allowed this call to its caller.
    pub(crate) async fn end_refusals(&self, scope: &Scope, caller: &Caller) {
        if let Err(error) = forget(&*self.store, caller.principal.as_deref(), scope).await {
            tracing::warn!(%error, "refusals could not be forgotten");
        }
    }
}

/// The callers that were found not to be paused within the last second. The empty name stands for those without one.
#[derive(Default)]
pub(super) struct UnpausedCallers(Mutex<HashMap<Box<str>, Timestamp>>);

impl UnpausedCallers {
    const KEPT: SignedDuration = SignedDuration::from_secs(1);
    const MAX: usize = 10_000;

    pub(super) fn contains(&self, principal: Option<&str>, now: Timestamp) -> bool {
        let found = self.0.lock().get(principal.unwrap_or_default()).copied();
        found.is_some_and(|checked| (SignedDuration::ZERO..Self::KEPT).contains(&now.duration_since(checked)))
    }

    pub(super) fn insert(&self, principal: Option<&str>, now: Timestamp) {
        let mut all = self.0.lock();
        if all.len() >= Self::MAX {
            all.clear();
        }
        all.insert(principal.unwrap_or_default().into(), now);
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}
