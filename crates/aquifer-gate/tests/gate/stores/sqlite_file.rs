//! The state file: its owner, its permissions and its lifetime.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use aquifer_engine::store::StateStore;
use aquifer_gate::store::SqliteStore;
use rusqlite::Connection;

use super::setup::{Folder, MINUTE};
use crate::harness::{ManualClock, system_clock};

pub(super) fn open(path: &Path) -> SqliteStore {
    SqliteStore::new(path, system_clock()).unwrap()
}

pub(super) async fn put(store: &SqliteStore, key: &str) -> Result<bool, String> {
    let written = store.compare_and_set(key, None, b"value".to_vec(), MINUTE * 60).await;
    written.map_err(|error| error.to_string())
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn r_saf_6_the_file_survives_and_is_private_to_its_owner() {
    let folder = Folder::new();
    let store = open(&folder.file());
    assert!(put(&store, "k").await.unwrap());
    assert!(store.spend("s", 3, 5, MINUTE * 60).await.unwrap().accepted);
    for ending in ["", "-wal", "-shm", "-lock"] {
        let path = folder.0.join(format!("state.db{ending}"));
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
    drop(store);
    std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let store = open(&folder.file());
    assert!(!put(&store, "k").await.unwrap());
    assert_eq!(store.get("k").await.unwrap().unwrap().value, b"value");
    assert_eq!(store.spend("s", 3, 5, MINUTE * 60).await.unwrap().total, 3);
    assert_eq!(mode(&folder.file()), 0o600);
}

#[tokio::test]
async fn r_saf_6_expired_records_are_swept() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = SqliteStore::new(folder.file(), clock.steady.clone()).unwrap();
    for key in 0..2_500 {
        store.compare_and_set(&format!("k{key}"), None, vec![0; 100], Duration::from_secs(30)).await.unwrap();
        store.spend(&format!("s{key}"), 1, 1, Duration::from_secs(30)).await.unwrap();
    }
    store.compare_and_set("stays", None, Vec::new(), MINUTE * 60).await.unwrap();
    let rows = |table: &str| -> u32 {
        let file = Connection::open(folder.file()).unwrap();
        file.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((rows("records"), rows("spent")), (2_502, 2_500));
    clock.pass(11 * 60_000);
    for _ in 0..3 {
        store.spend("more", 1, 10, MINUTE).await.unwrap();
    }
    assert_eq!((rows("records"), rows("spent")), (2, 1), "a thousand of each, whenever something is written");
}

#[tokio::test]
async fn foreign_databases_are_not_touched() {
    let folder = Folder::new();
    let theirs = Connection::open(folder.file()).unwrap();
    theirs.execute_batch("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);").unwrap();
    drop(theirs);
    let before = std::fs::read(folder.file()).unwrap();
    let store = open(&folder.file());
    assert!(put(&store, "k").await.unwrap_err().contains("is another application's database"));
    assert!(store.get("k").await.is_err());
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
}

#[tokio::test]
async fn newer_schema_versions_are_not_opened() {
    let folder = Folder::new();
    assert!(put(&open(&folder.file()), "k").await.unwrap());
    Connection::open(folder.file()).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert!(put(&open(&folder.file()), "l").await.unwrap_err().contains("newer version"));
}
