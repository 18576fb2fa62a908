//! What people have refused, beyond the refused call itself: where it went, and how many requests of a caller in a row.
//!
//! A model that was told no may try again in other words. An operation is not asked about again for the same destinations,
//! and after three refusals all changes of the caller pause. Approving a request ends both: the destinations of that request
//! can be asked about again, and its caller goes on.

use std::time::Duration;

use aquifer_engine::store::{Record, StateStore, StoreError};
use serde::{Deserialize, Serialize};

use super::record::{TokenRecord, TokenState};
use super::{MAX_ATTEMPTS, approvals};
use crate::timeout::with_timeout;

/// The number of refusals in a row after which the changes of a caller pause.
pub(crate) const MAX_REFUSALS: u32 = 3;

/// How long a refusal counts.
const COUNTED: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a pause lasts at most.
const PAUSED: Duration = Duration::from_secs(30 * 24 * 60 * 60);

const CALLERS: &str = "gate/refusals/";

/// Maximum number of callers whose pause is ended at once.
const MAX_CALLERS: usize = 10_000;

/// The refusals of a caller since the last approval.
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct Refusals {
    count: u32,
}

impl Refusals {
    fn from_record(record: &Record) -> Self {
        serde_json::from_slice(&record.value).unwrap_or_default()
    }
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
    if let Some(refused) = record.scope.destinations_key() {
        set(store, &refused, |_| Some((key.as_bytes().to_vec(), keep))).await?;
    }
    set(store, &caller_key(principal), |record| {
        let count = record.map(Refusals::from_record).unwrap_or_default().count.saturating_add(1);
        let keep = if count < MAX_REFUSALS { COUNTED } else { PAUSED };
        Some((serde_json::to_vec(&Refusals { count }).unwrap_or_default(), keep))
    })
    .await
}

/// Lets a caller go on. Returns whether there was anything to forget.
pub(super) async fn forget(store: &dyn StateStore, principal: Option<&str>) -> Result<(), StoreError> {
    forget_at(store, &caller_key(principal)).await
}

async fn forget_at(store: &dyn StateStore, key: &str) -> Result<(), StoreError> {
    set(store, key, |record| {
        let counted = record.is_some_and(|record| Refusals::from_record(record).count > 0);
        counted.then(|| (serde_json::to_vec(&Refusals::default()).unwrap_or_default(), COUNTED))
    })
    .await
}

/// Whether the changes of a caller are paused.
pub(super) async fn is_paused(store: &dyn StateStore, principal: Option<&str>) -> Result<bool, StoreError> {
    let record = with_timeout(store.get(&caller_key(principal))).await?;
    Ok(record.is_some_and(|record| Refusals::from_record(&record).count >= MAX_REFUSALS))
}

/// Lets all callers go on whose changes are paused. Returns how many these were.
pub async fn resume(store: &dyn StateStore) -> Result<usize, StoreError> {
    let mut resumed = 0;
    for (key, record) in with_timeout(store.list(CALLERS, MAX_CALLERS)).await? {
        resumed += usize::from(Refusals::from_record(&record).count >= MAX_REFUSALS);
        forget_at(store, &key).await?;
    }
    Ok(resumed)
}

/// The record of the request that a person refused for these destinations, unless it was approved after all.
pub(super) async fn find(store: &dyn StateStore, key: &str) -> Result<Option<TokenRecord>, StoreError> {
    let Some(refused) = with_timeout(store.get(key)).await? else { return Ok(None) };
    let record = approvals::load_token_record(store, &String::from_utf8_lossy(&refused.value)).await?;
    Ok(record.map(|(record, _)| record).filter(|record| record.state == TokenState::Denied))
}

/// Writes what `change` makes of a record, if anything.
async fn set(
    store: &dyn StateStore,
    key: &str,
    change: impl Fn(Option<&Record>) -> Option<(Vec<u8>, Duration)>,
) -> Result<(), StoreError> {
    for _ in 0..MAX_ATTEMPTS {
        let record = with_timeout(store.get(key)).await?;
        let Some((value, keep)) = change(record.as_ref()) else { return Ok(()) };
        let version = record.map(|record| record.version);
        if with_timeout(store.compare_and_set(key, version, value, keep)).await? {
            return Ok(());
        }
    }
    Err(StoreError("other processes keep changing the record".to_owned()))
}
