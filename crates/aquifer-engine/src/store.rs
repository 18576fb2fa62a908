//! The seam to state that outlives a request.
//!
//! Expiry is part of the record, so that "never existed", "expired" and "already used" stay distinguishable; a store's
//! own expiry only collects garbage. Several processes on one store behave as one, also about the time: see [`HIGH_WATER`].

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

/// The largest value a record may have. Stores are for small things; what is larger is refused.
pub const MAX_VALUE_BYTES: usize = 1 << 20;

/// A small store of small records.
pub trait StateStore: Send + Sync + 'static {
    /// The record under this key, with the version it has now.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Writes the record if the key still has the expected version (`None`: does not exist). Says whether it did. The
    /// record is kept at least so long; when it goes after that is the store's business.
    ///
    /// After an error the record may or may not have been written: ask [`get`](Self::get).
    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// The records whose keys begin so: the first `most` of them in the order of their keys.
    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>>;

    /// Spends `amount` under this key unless more than `most` would then have been spent within the sliding window. An
    /// amount of zero only looks.
    ///
    /// After an error the amount may or may not have been spent.
    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>>;

    /// Whether records outlive this process, or others see them. If not, there is no point in writing down what the
    /// process has in its memory anyway.
    fn outlives_process(&self) -> bool {
        true
    }
}

/// A record and its version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The bytes.
    pub value: Vec<u8>,
    /// Changes with every write, and does not come again under the same key.
    pub version: u64,
}

/// What became of an attempt to spend.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpendResult {
    /// Whether the amount was spent; of an amount of zero, whether the limit is kept.
    pub accepted: bool,
    /// What has been spent within the window, this included if it was accepted.
    pub total: u64,
    /// Until the amount would be accepted, if nothing else is spent. Zero when it was accepted; [`Duration::MAX`] when
    /// it never will be, since it is more than the limit.
    pub retry_after: Duration,
}

/// The store cannot be used now.
#[derive(Debug, Clone, thiserror::Error)]
#[error("state store unavailable: {0}")]
pub struct StoreError(pub String);

impl StoreError {
    /// The value is more than a record can hold.
    pub fn too_large(bytes: usize) -> Self {
        Self(format!("a record of {bytes} bytes is larger than {MAX_VALUE_BYTES}"))
    }
}

/// A moment as stores count it: milliseconds since the epoch, and none before it.
pub fn milliseconds(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}
