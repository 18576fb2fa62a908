//! The interface to state that outlives a request.
//!
//! Expiry is part of the record, so that "never existed", "expired" and "already used" stay distinguishable. The expiry of
//! the store only collects garbage. Several processes with one store behave as one, also regarding the time: see
//! [`HIGH_WATER`].

mod high_water;
mod memory;
mod window;

use std::time::Duration;

use futures::future::BoxFuture;
use jiff::Timestamp;

pub use high_water::HIGH_WATER;
pub use high_water::HighWater;
pub use memory::MemoryStore;
pub use window::Window;

/// The maximum size of a value. Stores hold small records; larger ones are refused.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// A small store of small records.
pub trait StateStore: Send + Sync + 'static {
    /// The record under this key, with its current version.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Writes the record if the key still has the expected version (`None`: does not exist). Returns whether it was
    /// written. The store keeps the record for at least `keep`.
    ///
    /// After an error the record may or may not have been written: check with [`get`](Self::get).
    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The records whose keys begin with `prefix`: the first `limit` in the order of their keys.
    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>>;

    /// Spends `amount` under this key, unless the total within the sliding window would exceed `limit`. An amount of zero
    /// only reads the total.
    ///
    /// After an error the amount may or may not have been spent.
    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>>;

    /// Whether records outlive this process or are visible to others. If not, there is no need to store what the process
    /// has in memory anyway.
    fn outlives_process(&self) -> bool {
        true
    }
}

/// A record and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The bytes.
    pub value: Vec<u8>,
    /// Changes with every write, and is never reused under the same key.
    pub version: u64,
}

/// The result of an attempt to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendResult {
    /// Whether the amount was spent. For an amount of zero, whether the total is within the limit.
    pub accepted: bool,
    /// The total within the window, including this amount if it was accepted.
    pub total: u64,
    /// How long until the amount would be accepted, if nothing else is spent. Zero if it was accepted; [`Duration::MAX`]
    /// if it exceeds the limit and will never be accepted.
    pub retry_after: Duration,
}

/// The store is unavailable.
#[derive(Debug, Clone, thiserror::Error)]
#[error("state store unavailable: {0}")]
pub struct StoreError(pub String);

impl StoreError {
    /// The error for a value that is too large.
    pub fn too_large(bytes: usize) -> Self {
        Self(format!("a record of {bytes} bytes is larger than {MAX_VALUE_BYTES}"))
    }
}

/// Milliseconds since the epoch; zero for earlier times.
pub fn milliseconds(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}
