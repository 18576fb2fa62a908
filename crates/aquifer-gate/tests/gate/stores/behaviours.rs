//! One table of behaviours for every store.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::{MAX_VALUE_BYTES, StateStore, Window};
use futures::future::{FutureExt, LocalBoxFuture, join_all};

use super::setup::{MINUTE, eventually, open_stores, with_deadline};

type Behaviour = (&'static str, fn(Arc<dyn StateStore>) -> LocalBoxFuture<'static, ()>);

const BEHAVIOURS: [Behaviour; 10] = [
    ("a record is written only over the version that was read", |store| over_the_version_read(store).boxed_local()),
    ("versions do not come again", |store| versions(store).boxed_local()),
    ("keys and values are any text and any bytes", |store| any_bytes(store).boxed_local()),
    ("records are listed by the beginning of their keys", |store| listed(store).boxed_local()),
    ("records expire, and a version from before fits nothing", |store| expiry(store).boxed_local()),
    ("a record that is too large is refused", |store| too_large(store).boxed_local()),
    ("what was spent counts", |store| spending(store).boxed_local()),
    ("what is spent becomes free", |store| freeing(store).boxed_local()),
    ("of 1,000 writers at once one wins", |store| one_winner(store).boxed_local()),
    ("1,000 spenders at once spend no more than there is", |store| spenders(store).boxed_local()),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn r_saf_6_every_store_behaves_alike() {
    for place in open_stores(None) {
        for (name, behaviour) in BEHAVIOURS {
            println!("{}: {name}", place.name);
            with_deadline(behaviour(place.store.clone())).await;
        }
    }
}

async fn over_the_version_read(store: Arc<dyn StateStore>) {
    assert_eq!(store.get("cas").await.unwrap(), None);
    assert!(!store.compare_and_set("cas", Some(1), b"0".to_vec(), MINUTE).await.unwrap());
    assert!(store.compare_and_set("cas", None, b"1".to_vec(), MINUTE).await.unwrap());
    assert!(!store.compare_and_set("cas", None, b"2".to_vec(), MINUTE).await.unwrap());
    let record = store.get("cas").await.unwrap().unwrap();
    assert_eq!(record.value, b"1");
    assert!(store.compare_and_set("cas", Some(record.version), b"2".to_vec(), MINUTE).await.unwrap());
    assert!(!store.compare_and_set("cas", Some(record.version), b"3".to_vec(), MINUTE).await.unwrap());
    assert_eq!(store.get("cas").await.unwrap().unwrap().value, b"2");
}

async fn versions(store: Arc<dyn StateStore>) {
    let (mut seen, mut version) = (HashSet::new(), None);
    for _ in 0..100 {
        assert!(store.compare_and_set("versions", version, b"the same".to_vec(), MINUTE).await.unwrap());
        let now = store.get("versions").await.unwrap().unwrap().version;
        assert!(seen.insert(now), "{now} came again");
        version = Some(now);
    }
    for old in seen {
        let wrote = store.compare_and_set("versions", Some(old), Vec::new(), MINUTE).await.unwrap();
        assert_eq!(wrote, Some(old) == version);
        version = version.filter(|_| !wrote);
    }
}

async fn any_bytes(store: Arc<dyn StateStore>) {
    let every: Vec<u8> = (0..=255).collect();
    for key in ["", " ", "any'; DROP TABLE records; --", "any\"\\*?[a-z]", "any\0nul", "änyß🦀", "any\r\nline"] {
        for value in [Vec::new(), every.clone(), vec![0; MAX_VALUE_BYTES]] {
            let version = store.get(key).await.unwrap().map(|record| record.version);
            assert!(store.compare_and_set(key, version, value.clone(), MINUTE).await.unwrap(), "{key:?}");
            assert!(store.get(key).await.unwrap().unwrap().value == value, "{key:?}");
        }
        assert_eq!(store.spend(key, 2, 10, MINUTE).await.unwrap().total, 2);
    }
}

async fn listed(store: Arc<dyn StateStore>) {
    for key in ["list/2", "list/10", "list", "list*x", "listen", "list/1", "lis[t]/1", "lis\\t"] {
        assert!(store.compare_and_set(key, None, key.into(), MINUTE).await.unwrap());
    }
    let table: [(&str, usize, &[&str]); 8] = [
        ("list/", 10, &["list/1", "list/10", "list/2"]),
        ("list/", 2, &["list/1", "list/10"]),
        ("list/", 0, &[]),
        ("list*", 10, &["list*x"]),
        ("list", 3, &["list", "list*x", "list/1"]),
        ("lis[", 10, &["lis[t]/1"]),
        ("lis\\", 10, &["lis\\t"]),
        ("list/3", 10, &[]),
    ];
    for (prefix, limit, expected) in table {
        let found = store.list(prefix, limit).await.unwrap();
        assert_eq!(found.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), expected, "{prefix}");
        for (key, record) in found {
            assert_eq!(store.get(&key).await.unwrap().unwrap(), record);
            assert_eq!(record.value, key.as_bytes());
        }
    }
}

async fn expiry(store: Arc<dyn StateStore>) {
    assert!(store.compare_and_set("short", None, b"1".to_vec(), MINUTE).await.unwrap());
    let before = store.get("short").await.unwrap().unwrap().version;
    assert!(store.compare_and_set("short", Some(before), b"2".to_vec(), Duration::from_millis(500)).await.unwrap());
    let short = store.get("short").await.unwrap().unwrap().version;
    assert!(store.compare_and_set("for ever", None, Vec::new(), Duration::MAX).await.unwrap());
    eventually("the record expires", async || store.get("short").await.unwrap().is_none()).await;
    assert!(store.list("short", 10).await.unwrap().is_empty());
    assert!(!store.compare_and_set("short", Some(short), b"3".to_vec(), MINUTE).await.unwrap());
    assert!(store.compare_and_set("short", None, b"4".to_vec(), MINUTE).await.unwrap());
    for old in [before, short] {
        assert!(!store.compare_and_set("short", Some(old), b"5".to_vec(), MINUTE).await.unwrap());
    }
    assert!(store.get("for ever").await.unwrap().is_some());
}

async fn too_large(store: Arc<dyn StateStore>) {
    assert!(store.compare_and_set("large", None, vec![0; MAX_VALUE_BYTES + 1], MINUTE).await.is_err());
    assert_eq!(store.get("large").await.unwrap(), None);
}

async fn spending(store: Arc<dyn StateStore>) {
    // An hour, so that nothing leaves the window meanwhile.
    let hour = MINUTE * 60;
    // (amount, limit, accepted, total)
    let table = [
        (0, 0, true, 0),
        (6, 5, false, 0),
        (2, 5, true, 2),
        (0, 1, false, 2),
        (3, 5, true, 5),
        (1, 5, false, 5),
        (1, 6, true, 6),
        (0, 6, true, 6),
        (u64::MAX, u64::MAX, false, 6),
        (Window::MAX_AMOUNT - 6, u64::MAX, true, Window::MAX_AMOUNT),
        (1, u64::MAX, false, Window::MAX_AMOUNT),
    ];
    for (amount, limit, accepted, total) in table {
        let spent = store.spend("spend", amount, limit, hour).await.unwrap();
        assert_eq!((spent.accepted, spent.total), (accepted, total), "{amount} of {limit}");
        match accepted {
            true => assert_eq!(spent.retry_after, Duration::ZERO),
            false if amount > limit.min(Window::MAX_AMOUNT) => assert_eq!(spent.retry_after, Duration::MAX),
            false => assert!(spent.retry_after > MINUTE && spent.retry_after < hour * 2, "{:?}", spent.retry_after),
        }
    }
    assert_eq!(store.spend("spend", 1, 5, hour * 24).await.unwrap().total, 1, "another window counts for itself");
    assert_eq!(store.spend("spend else", 1, 5, hour).await.unwrap().total, 1, "another key counts for itself");
}

async fn freeing(store: Arc<dyn StateStore>) {
    let window = Duration::from_secs(1);
    assert!(store.spend("frees", 5, 5, window).await.unwrap().accepted);
    eventually("the limit is free again", async || store.spend("frees", 5, 5, window).await.unwrap().accepted).await;
    eventually("all is free", async || store.spend("frees", 0, 5, window).await.unwrap().total == 0).await;
}

async fn one_winner(store: Arc<dyn StateStore>) {
    let mut version = None;
    for round in 0..3 {
        let writers = (0..1_000_u32).map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                store.compare_and_set("race", version, writer.to_le_bytes().to_vec(), MINUTE).await.unwrap()
            })
        });
        let won: Vec<bool> = join_all(writers).await.into_iter().map(Result::unwrap).collect();
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "round {round}");
        let winner = won.iter().position(|won| *won).unwrap() as u32;
        let record = store.get("race").await.unwrap().unwrap();
        assert_eq!(record.value, winner.to_le_bytes());
        version = Some(record.version);
    }
}

async fn spenders(store: Arc<dyn StateStore>) {
    let spenders = (0..1_000).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.spend("spenders", 3, 300, MINUTE * 60).await.unwrap() })
    });
    let spent: Vec<_> = join_all(spenders).await.into_iter().map(Result::unwrap).collect();
    let mut totals: Vec<u64> = spent.iter().filter(|spent| spent.accepted).map(|spent| spent.total).collect();
    totals.sort_unstable();
    assert_eq!(totals, (1..=100).map(|nth| nth * 3).collect::<Vec<_>>());
}
