//! The seam to state that outlives a request.
//!
//! Expiry is part of the record, so that "never existed", "expired" and "already used" stay distinguishable; a store's
//! own expiry only collects garbage. Several processes on one store behave as one.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use jiff::Timestamp;

use crate::clock::SharedClock;

/// A small store of small records.
pub trait StateStore: Send + Sync + 'static {
    /// The record under this key, with the version it has now.
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>>;

    /// Writes the record if the key still has the expected version (`None`: does not exist). Says whether it did.
    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>>;

    /// Counts one more under this key and says how many there were within the window, this one included.
    fn count<'a>(&'a self, key: &'a str, window: Duration) -> BoxFuture<'a, Result<u64, StoreError>>;

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
    /// Changes with every write.
    pub version: u64,
}

/// The store cannot be used now.
#[derive(Debug, Clone, thiserror::Error)]
#[error("state store unavailable: {0}")]
pub struct StoreError(pub String);

/// State in this process, lost with it. Bounded: when full, what expires first goes first.
pub struct MemoryStore {
    clock: SharedClock,
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    records: HashMap<String, (Record, Timestamp)>,
    counts: HashMap<String, Vec<Timestamp>>,
    versions: u64,
}

impl MemoryStore {
    /// A store of at most this many records.
    pub fn new(clock: SharedClock, most: usize) -> Self {
        Self { clock, most, inner: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner, Timestamp) -> T) -> T {
        let now = self.clock.now();
        // A panic while holding the lock cannot leave a record half written: every change is a single insert.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(&mut inner, now)
    }
}

impl Inner {
    fn make_room(&mut self, most: usize, now: Timestamp) {
        if self.records.len() + self.counts.len() < most {
            return;
        }
        self.records.retain(|_, (_, until)| *until > now);
        if self.records.len() + self.counts.len() >= most {
            let first = self.records.iter().min_by_key(|(_, (_, until))| *until).map(|(key, _)| key.clone());
            match first {
                Some(key) => drop(self.records.remove(&key)),
                None => self.counts.clear(),
            }
        }
    }
}

impl StateStore for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let found = self.with(|inner, now| {
            inner.records.get(key).filter(|(_, until)| *until > now).map(|(record, _)| record.clone())
        });
        std::future::ready(Ok(found)).boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let done = self.with(|inner, now| {
            let present = inner.records.get(key).filter(|(_, until)| *until > now).map(|(record, _)| record.version);
            if present != expected {
                return false;
            }
            inner.make_room(self.most, now);
            inner.versions += 1;
            let record = Record { value, version: inner.versions };
            inner.records.insert(key.to_owned(), (record, now.saturating_add(keep).unwrap_or(Timestamp::MAX)));
            true
        });
        std::future::ready(Ok(done)).boxed()
    }

    fn count<'a>(&'a self, key: &'a str, window: Duration) -> BoxFuture<'a, Result<u64, StoreError>> {
        let count = self.with(|inner, now| {
            inner.make_room(self.most, now);
            let since = now.saturating_sub(window).unwrap_or(Timestamp::MIN);
            let times = inner.counts.entry(key.to_owned()).or_default();
            times.retain(|time| *time > since);
            if times.len() < self.most {
                times.push(now);
            }
            times.len() as u64
        });
        std::future::ready(Ok(count)).boxed()
    }
}
