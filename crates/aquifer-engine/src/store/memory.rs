//! A store in the memory of this process.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use jiff::Timestamp;
use parking_lot::Mutex;

use super::{MAX_VALUE_BYTES, Record, SpendResult, StateStore, StoreError, Window, milliseconds};
use crate::clock::SharedClock;

/// The maximum size of all records together.
const MAX_TOTAL_BYTES: usize = 64 << 20;

/// A store in the memory of this process, lost with it. When it is full, the records that expire first are dropped.
pub struct MemoryStore {
    clock: SharedClock,
    max_records: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    records: BTreeMap<String, StoredRecord>,
    bytes: usize,
    versions: u64,
    /// By the bucket width of the window, of which there are few, and by key.
    spent: BTreeMap<u64, HashMap<String, Buckets>>,
}

/// The amount spent in each bucket, in ascending order.
type Buckets = Vec<(u64, u64)>;

struct StoredRecord {
    record: Record,
    until: Timestamp,
}

impl MemoryStore {
    /// Creates a store with at most `max_records` records, and as many keys for spending. Records expire by this clock.
    /// Use a [`SteadyClock`](crate::clock::SteadyClock): with a clock that is set back, expired records would come
    /// back.
    pub fn new(clock: SharedClock, max_records: usize) -> Self {
        Self { clock, max_records, inner: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner, Timestamp) -> T) -> T {
        let now = self.clock.now();
        // A panic cannot leave a record half written: every change is a single insert.
        let mut inner = self.inner.lock();
        act(&mut inner, now)
    }
}

impl Inner {
    fn live_record(&self, key: &str, now: Timestamp) -> Option<&Record> {
        self.records.get(key).filter(|stored| stored.until > now).map(|stored| &stored.record)
    }

    fn remove(&mut self, key: &str) {
        if let Some(stored) = self.records.remove(key) {
            self.bytes = self.bytes.saturating_sub(record_bytes(key, &stored.record.value));
        }
    }

    /// Makes room for a record. An eighth of the store is cleared at once, so that a full store is not searched for
    /// every new record.
    fn make_room(&mut self, max: usize, bytes: usize, now: Timestamp) {
        if self.records.len() < max && self.bytes.saturating_add(bytes) <= MAX_TOTAL_BYTES {
            return;
        }
        let mut order: Vec<(Timestamp, String)> =
            self.records.iter().map(|(key, stored)| (stored.until, key.clone())).collect();
        order.sort_unstable();
        let (fewer, lighter) = (seven_eighths(max), seven_eighths(MAX_TOTAL_BYTES).saturating_sub(bytes));
        for (until, key) in order {
            if until > now && self.records.len() <= fewer && self.bytes <= lighter {
                return;
            }
            self.remove(&key);
        }
    }

    /// Makes room for a key. The keys that stop counting first are dropped.
    fn make_room_to_spend(&mut self, max: usize, now: u64) {
        if self.spend_key_count() < max {
            return;
        }
        let expiry_of = |width: u64, buckets: &[(u64, u64)]| {
            buckets.last().map_or(0, |(bucket, _)| Window::from_width(width).expiry(*bucket))
        };
        for (width, spent) in &mut self.spent {
            spent.retain(|_, buckets| expiry_of(*width, buckets) > now);
        }
        let surplus = self.spend_key_count().saturating_sub(seven_eighths(max));
        let of_width = |(width, spent): (&u64, &HashMap<String, Buckets>)| -> Vec<_> {
            spent.iter().map(|(key, buckets)| (expiry_of(*width, buckets), *width, key.clone())).collect()
        };
        let mut order: Vec<_> = self.spent.iter().flat_map(of_width).collect();
        order.sort_unstable();
        for (_, width, key) in order.into_iter().take(surplus) {
            self.spent.entry(width).and_modify(|spent| drop(spent.remove(&key)));
        }
        self.spent.retain(|_, spent| !spent.is_empty());
    }

    fn spend_key_count(&self) -> usize {
        self.spent.values().map(HashMap::len).sum()
    }

    fn spend(&mut self, key: &str, amount: u64, limit: u64, window: Window, now: u64, keys: usize) -> SpendResult {
        if let Some(buckets) = self.spent.get_mut(&window.width()).and_then(|spent| spent.get_mut(key)) {
            let result = window.check(buckets, now, amount, limit);
            if amount > 0 && result.accepted {
                add(buckets, window, now, amount);
            }
            return result;
        }
        let result = window.check(&[], now, amount, limit);
        if amount > 0 && result.accepted {
            self.make_room_to_spend(keys, now);
            let spent = self.spent.entry(window.width()).or_default();
            spent.insert(key.to_owned(), vec![(window.bucket(now), amount)]);
        }
        result
    }
}

/// Adds to the current bucket, usually the last one, and drops expired buckets, usually none.
fn add(buckets: &mut Buckets, window: Window, now: u64, amount: u64) {
    let (bucket, living) = (window.bucket(now), window.live_buckets(now));
    let ends = [buckets.first(), buckets.last()];
    if ends.into_iter().flatten().any(|(bucket, _)| !living.contains(bucket)) {
        buckets.retain(|(bucket, _)| living.contains(bucket));
    }
    match buckets.iter_mut().rfind(|(existing, _)| *existing == bucket) {
        Some((_, spent)) => *spent += amount,
        None => {
            let at = buckets.partition_point(|(existing, _)| *existing < bucket);
            buckets.insert(at, (bucket, amount));
        }
    }
}

fn record_bytes(key: &str, value: &[u8]) -> usize {
    key.len() + value.len()
}

/// Seven eighths of the maximum, and at least one less.
fn seven_eighths(max: usize) -> usize {
    max.saturating_sub((max / 8).max(1))
}

impl StateStore for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let record = self.with(|inner, now| inner.live_record(key, now).cloned());
        std::future::ready(Ok(record)).boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        if value.len() > MAX_VALUE_BYTES {
            return std::future::ready(Err(StoreError::too_large(value.len()))).boxed();
        }
        let is_written = self.with(|inner, now| {
            if inner.live_record(key, now).map(|record| record.version) != expected {
                return false;
            }
            inner.remove(key);
            let bytes = record_bytes(key, &value);
            inner.make_room(self.max_records, bytes, now);
            inner.versions += 1;
            inner.bytes += bytes;
            let record = Record { value, version: inner.versions };
            let until = now.saturating_add(keep).unwrap_or(Timestamp::MAX);
            inner.records.insert(key.to_owned(), StoredRecord { record, until });
            true
        });
        std::future::ready(Ok(is_written)).boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        let records = self.with(|inner, now| {
            inner
                .records
                .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
                .take_while(|(key, _)| key.starts_with(prefix))
                .filter(|(_, stored)| stored.until > now)
                .take(limit)
                .map(|(key, stored)| (key.clone(), stored.record.clone()))
                .collect()
        });
        std::future::ready(Ok(records)).boxed()
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        let window = Window::new(window);
        let spent =
            self.with(|inner, now| inner.spend(key, amount, limit, window, milliseconds(now), self.max_records));
        std::future::ready(Ok(spent)).boxed()
    }
}
