//! State in memory: versions, expiry, windows, bounds.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use aquifer_engine::clock::Clock;
use aquifer_engine::store::{MemoryStore, StateStore};
use jiff::Timestamp;

struct HandClock(Mutex<Timestamp>);

impl Clock for HandClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

impl HandClock {
    fn pass(&self, seconds: i64) {
        let mut now = self.0.lock().unwrap();
        *now += jiff::SignedDuration::from_secs(seconds);
    }
}

fn store(most: usize) -> (Arc<HandClock>, MemoryStore) {
    let clock = Arc::new(HandClock(Mutex::new(Timestamp::UNIX_EPOCH)));
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
    assert_eq!(store.count("c", MINUTE).await.unwrap(), 1);
    assert_eq!(store.count("c", MINUTE).await.unwrap(), 2);
    clock.pass(61);
    assert_eq!(store.get("k").await.unwrap(), None);
    assert_eq!(store.count("c", MINUTE).await.unwrap(), 1);
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
