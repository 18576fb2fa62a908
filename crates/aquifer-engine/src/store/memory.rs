//! State in this process, lost with it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use jiff::Timestamp;

use super::{MAX_VALUE_BYTES, Record, Spent, StateStore, StoreError, Window, milliseconds};
use crate::clock::SharedClock;

/// What all records together may weigh.
const MAX_BYTES: usize = 64 << 20;

/// State in this process, lost with it. Bounded: when full, what expires first goes first.
pub struct MemoryStore {
    clock: SharedClock,
    most: usize,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    records: BTreeMap<String, Kept>,
    bytes: usize,
    versions: u64,
    /// By width of the window's buckets, of which there are few, and by key.
    spent: BTreeMap<u64, HashMap<String, Buckets>>,
}

/// What was spent in each bucket, in ascending order.
type Buckets = Vec<(u64, u64)>;

struct Kept {
    record: Record,
    until: Timestamp,
}

impl MemoryStore {
    /// A store of at most this many records, and of what was spent under at most this many keys. Records expire by this
    /// clock: if that can be set back, they come back with it, so give it a [`SteadyClock`](crate::clock::SteadyClock).
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
    fn living(&self, key: &str, now: Timestamp) -> Option<&Record> {
        self.records.get(key).filter(|kept| kept.until > now).map(|kept| &kept.record)
    }

    fn remove(&mut self, key: &str) {
        if let Some(kept) = self.records.remove(key) {
            self.bytes = self.bytes.saturating_sub(weight(key, &kept.record.value));
        }
    }

    /// Makes room for one more record. An eighth of the store is cleared at once, so that a full store is not searched
    /// for every new record.
    fn make_room(&mut self, most: usize, weight: usize, now: Timestamp) {
        if self.records.len() < most && self.bytes.saturating_add(weight) <= MAX_BYTES {
            return;
        }
        let mut order: Vec<(Timestamp, String)> =
            self.records.iter().map(|(key, kept)| (kept.until, key.clone())).collect();
        order.sort_unstable();
        let (fewer, lighter) = (below(most), below(MAX_BYTES).saturating_sub(weight));
        for (until, key) in order {
            if until > now && self.records.len() <= fewer && self.bytes <= lighter {
                return;
            }
            self.remove(&key);
        }
    }

    /// As for records: what stops counting first goes first.
    fn make_room_to_spend(&mut self, most: usize, now: u64) {
        if self.keys_spent_under() < most {
            return;
        }
        let gone = |width: u64, buckets: &[(u64, u64)]| {
            buckets.last().map_or(0, |(bucket, _)| Window::of_width(width).gone(*bucket))
        };
        for (width, spent) in &mut self.spent {
            spent.retain(|_, buckets| gone(*width, buckets) > now);
        }
        let surplus = self.keys_spent_under().saturating_sub(below(most));
        let of_width = |(width, spent): (&u64, &HashMap<String, Buckets>)| -> Vec<_> {
            spent.iter().map(|(key, buckets)| (gone(*width, buckets), *width, key.clone())).collect()
        };
        let mut order: Vec<_> = self.spent.iter().flat_map(of_width).collect();
        order.sort_unstable();
        for (_, width, key) in order.into_iter().take(surplus) {
            self.spent.entry(width).and_modify(|spent| drop(spent.remove(&key)));
        }
        self.spent.retain(|_, spent| !spent.is_empty());
    }

    fn keys_spent_under(&self) -> usize {
        self.spent.values().map(HashMap::len).sum()
    }

    fn spend(&mut self, key: &str, amount: u64, most: u64, window: Window, now: u64, keys: usize) -> Spent {
        if let Some(buckets) = self.spent.get_mut(&window.width()).and_then(|spent| spent.get_mut(key)) {
            let judged = window.judge(buckets, now, amount, most);
            if amount > 0 && judged.accepted {
                add(buckets, window, now, amount);
            }
            return judged;
        }
        let judged = window.judge(&[], now, amount, most);
        if amount > 0 && judged.accepted {
            self.make_room_to_spend(keys, now);
            let spent = self.spent.entry(window.width()).or_default();
            spent.insert(key.to_owned(), vec![(window.bucket(now), amount)]);
        }
        judged
    }
}

/// Adds to the bucket of now, most often the last one, and forgets those that count no more, most often none.
fn add(buckets: &mut Buckets, window: Window, now: u64, amount: u64) {
    let (bucket, living) = (window.bucket(now), window.living(now));
    let ends = [buckets.first(), buckets.last()];
    if ends.into_iter().flatten().any(|(bucket, _)| !living.contains(bucket)) {
        buckets.retain(|(bucket, _)| living.contains(bucket));
    }
    match buckets.iter_mut().rfind(|(known, _)| *known == bucket) {
        Some((_, spent)) => *spent += amount,
        None => {
            let at = buckets.partition_point(|(known, _)| *known < bucket);
            buckets.insert(at, (bucket, amount));
        }
    }
}

fn weight(key: &str, value: &[u8]) -> usize {
    key.len() + value.len()
}

/// Seven eighths, or at least one less.
fn below(most: usize) -> usize {
    most.saturating_sub((most / 8).max(1))
}

impl StateStore for MemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let found = self.with(|inner, now| inner.living(key, now).cloned());
        std::future::ready(Ok(found)).boxed()
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
        let done = self.with(|inner, now| {
            if inner.living(key, now).map(|record| record.version) != expected {
                return false;
            }
            inner.remove(key);
            let weight = weight(key, &value);
            inner.make_room(self.most, weight, now);
            inner.versions += 1;
            inner.bytes += weight;
            let record = Record { value, version: inner.versions };
            let until = now.saturating_add(keep).unwrap_or(Timestamp::MAX);
            inner.records.insert(key.to_owned(), Kept { record, until });
            true
        });
        std::future::ready(Ok(done)).boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        let found = self.with(|inner, now| {
            inner
                .records
                .range::<str, _>((Bound::Included(prefix), Bound::Unbounded))
                .take_while(|(key, _)| key.starts_with(prefix))
                .filter(|(_, kept)| kept.until > now)
                .take(most)
                .map(|(key, kept)| (key.clone(), kept.record.clone()))
                .collect()
        });
        std::future::ready(Ok(found)).boxed()
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        most: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<Spent, StoreError>> {
        let window = Window::new(window);
        let spent = self.with(|inner, now| inner.spend(key, amount, most, window, milliseconds(now), self.most));
        std::future::ready(Ok(spent)).boxed()
    }
}
