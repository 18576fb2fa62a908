//! The memory store: versions, expiry, windows, limits.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::store::{MAX_VALUE_BYTES, MemoryStore, SpendResult, StateStore};
use jiff::Timestamp;
use parking_lot::Mutex;

struct ManualClock(Mutex<Timestamp>);

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock()
    }
}

impl ManualClock {
    fn pass(&self, seconds: i64) {
        let mut now = self.0.lock();
        *now += jiff::SignedDuration::from_secs(seconds);
    }
}

fn store(most: usize) -> (Arc<ManualClock>, MemoryStore) {
    let clock = Arc::new(ManualClock(Mutex::new(Timestamp::UNIX_EPOCH)));
    (clock.clone(), MemoryStore::new(clock, most))
}

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_record_is_written_only_over_the_version_that_was_read() {
    let (_, store) = store(10);
    assert!(store.compare_and_set("k", None, b"1".to_vec(), MINUTE).await.unwrap());
    assert!(!store.compare_and_set("k", None, b"2".to_vec(), MINUTE).await.unwrap());
    let record = store.get("k").await.unwrap().unwrap();
    assert_eq!(record.value, b"1");
    assert!(store.compare_and_set("k", Some(record.version), b"2".to_vec(), MINUTE).await.unwrap());
    assert!(!store.compare_and_set("k", Some(record.version), b"3".to_vec(), MINUTE).await.unwrap());
    assert_eq!(store.get("k").await.unwrap().unwrap().value, b"2");
}

#[tokio::test]
async fn records_and_counts_pass_away() {
    let (clock, store) = store(10);
    store.compare_and_set("k", None, Vec::new(), MINUTE).await.unwrap();
    assert_eq!(store.spend("c", 1, 2, MINUTE).await.unwrap().total, 1);
    assert_eq!(store.spend("c", 1, 2, MINUTE).await.unwrap().total, 2);
    let refused = store.spend("c", 1, 2, MINUTE).await.unwrap();
    assert_eq!(refused, SpendResult { accepted: false, total: 2, retry_after: Duration::from_millis(60_500) });
    clock.pass(61);
    assert_eq!(store.get("k").await.unwrap(), None);
    assert_eq!(store.spend("c", 1, 2, MINUTE).await.unwrap().total, 1);
}

#[tokio::test]
async fn a_full_store_forgets_what_would_expire_first() {
    let (clock, store) = store(3);
    for key in ["a", "b", "c", "d"] {
        clock.pass(1);
        assert!(store.compare_and_set(key, None, Vec::new(), MINUTE).await.unwrap());
    }
    assert_eq!(store.get("a").await.unwrap(), None);
    assert!(store.get("d").await.unwrap().is_some());
}

#[tokio::test]
async fn a_full_store_forgets_what_stops_counting_first() {
    let (clock, store) = store(8);
    for key in 0..100 {
        clock.pass(2);
        assert!(store.spend(&format!("k{key}"), 1, 1, MINUTE).await.unwrap().accepted);
    }
    assert!(!store.spend("k99", 1, 1, MINUTE).await.unwrap().accepted, "the last still counts");
    assert!(store.spend("k90", 1, 1, MINUTE).await.unwrap().accepted, "an earlier one was forgotten");
}

#[tokio::test]
async fn records_together_weigh_no_more_than_the_store_may() {
    let (clock, store) = store(1_000);
    for key in 0..100 {
        clock.pass(1);
        assert!(
            store.compare_and_set(&format!("{key:03}"), None, vec![0; MAX_VALUE_BYTES], MINUTE * 60).await.unwrap()
        );
    }
    let left = store.list("", 1_000).await.unwrap();
    assert!((50..64).contains(&left.len()), "{} MiB are left", left.len());
    assert_eq!(left.last().unwrap().0, "099");
    assert!(store.compare_and_set("x", None, vec![0; MAX_VALUE_BYTES + 1], MINUTE).await.is_err());
}

#[tokio::test]
async fn records_are_listed_by_what_their_keys_begin_with() {
    let (clock, store) = store(10);
    store.compare_and_set("a/gone", None, Vec::new(), MINUTE).await.unwrap();
    clock.pass(61);
    for key in ["a/2", "b/1", "a/1", "a", "a/3", "a0"] {
        assert!(store.compare_and_set(key, None, key.into(), MINUTE).await.unwrap());
    }
    let keys = async |prefix: &str, most: usize| -> Vec<String> {
        store.list(prefix, most).await.unwrap().into_iter().map(|(key, _)| key).collect()
    };
    assert_eq!(keys("a/", 10).await, ["a/1", "a/2", "a/3"]);
    assert_eq!(keys("a/", 2).await, ["a/1", "a/2"]);
    assert_eq!(keys("", 2).await, ["a", "a/1"]);
    assert!(keys("c", 10).await.is_empty());
}
