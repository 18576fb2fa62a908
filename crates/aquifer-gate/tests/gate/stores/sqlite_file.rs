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

/// What other programs use, such as a device, is not taken from them.
#[tokio::test]
async fn only_a_regular_file_is_a_state_file() {
    let folder = Folder::new();
    let _socket = std::os::unix::net::UnixListener::bind(folder.file()).unwrap();
    std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let error = put(&open(&folder.file()), "k").await.unwrap_err();
    assert!(error.contains("not a regular file"), "{error}");
    assert_eq!(mode(&folder.file()), 0o666);
}

#[tokio::test]
async fn a_store_that_is_only_read_stays_as_it_is() {
    let folder = Folder::new();
    let clock = ManualClock::new();
    let store = SqliteStore::new(folder.file(), clock.steady.clone()).unwrap();
    assert!(put(&store, "k").await.unwrap());
    drop(store);
    std::fs::set_permissions(folder.file(), std::fs::Permissions::from_mode(0o644)).unwrap();
    let contents = || {
        let file = Connection::open(folder.file()).unwrap();
        let rows = "SELECT key, hex(value), version, until FROM records ORDER BY key";
        let mut rows = file.prepare(rows).unwrap();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?))
        };
        rows.query_map([], row).unwrap().map(Result::unwrap).collect::<Vec<_>>()
    };
    let before = contents();
    // A store that may be written notes the time when it is read.
    clock.pass(60_000);

    let reader = SqliteStore::read_only(folder.file(), clock.steady.clone()).unwrap();

    assert_eq!(reader.list("k", 5).await.unwrap().len(), 1);
    assert!(put(&reader, "new").await.unwrap_err().contains("only read"));
    assert!(reader.spend("s", 1, 5, MINUTE).await.is_err());
    assert!(reader.spend("s", 0, 5, MINUTE).await.unwrap().accepted);
    assert_eq!((contents(), mode(&folder.file())), (before, 0o644));
}

/// Emptied, shortened, without the log that holds its tables, and replaced by an empty database. None of them is new.
#[tokio::test]
async fn r_saf_6_an_emptied_or_shortened_file_is_not_a_new_store() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 5] = [
        ("emptied", |file| std::fs::write(file, "").unwrap()),
        ("emptied while its log was kept", |file| {
            std::fs::write(file.with_extension("db-wal"), vec![7; 100]).unwrap();
            std::fs::write(file, "").unwrap();
        }),
        ("shortened", |file| {
            let bytes = std::fs::read(file).unwrap();
            std::fs::write(file, &bytes[..4096]).unwrap();
        }),
        ("cut inside its header", |file| std::fs::write(file, &std::fs::read(file).unwrap()[..50]).unwrap()),
        ("replaced by an empty database", |file| {
            std::fs::remove_file(file).unwrap();
            Connection::open(file).unwrap().execute_batch("PRAGMA journal_mode = WAL; VACUUM").unwrap();
        }),
    ];
    for (what, damage) in damages {
        let folder = Folder::new();
        let (file, log) = (folder.file(), folder.0.join("state.db-wal"));
        assert!(put(&open(&file), "k").await.unwrap());
        // The store is closed when its thread ends; the log is then part of the file.
        while log.exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        damage(&file);
        let left = (std::fs::read(&file).unwrap(), std::fs::read(&log).ok());
        let reader = SqliteStore::read_only(&file, system_clock()).unwrap();
        for store in [reader, open(&file), open(&file)] {
            let error = store.get("k").await.unwrap_err().to_string();
            let is_named = error.contains("was emptied or shortened") || error.contains("damaged");
            assert!(is_named && put(&store, "l").await.is_err(), "{what}: {error}");
            assert_eq!(
                (std::fs::read(&file).unwrap(), std::fs::read(&log).ok()),
                left,
                "{what}: nothing is overwritten"
            );
        }
        // Removing it is a decision of the operator.
        std::fs::remove_file(&file).unwrap();
        assert!(put(&open(&file), "k").await.unwrap(), "{what}");
    }
    let reader = SqliteStore::read_only(Folder::new().file(), system_clock()).unwrap();
    assert!(reader.get("k").await.is_err(), "a missing file is not created");
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
