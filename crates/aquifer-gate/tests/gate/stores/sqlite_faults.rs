//! Failures of the file during use: each is an immediate error, and the store recovers without a restart.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use aquifer_engine::store::StateStore;
use futures::future::join_all;
use rusqlite::Connection;

use super::setup::{Folder, MINUTE, Process, is_mounted, rerun_test, with_deadline, with_small_disk};
use super::sqlite_file::{open, put};

#[tokio::test]
async fn r_saf_6_a_locked_file() {
    let folder = Folder::new();
    let store = open(&folder.file());
    assert!(put(&store, "before").await.unwrap());
    let other = Connection::open(folder.file()).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let error = with_deadline(put(&store, "k")).await.unwrap_err();
    assert!(error.contains("locked by another process"), "{error}");
    assert!(store.get("before").await.unwrap().is_some(), "reading goes on");
    let refused = with_deadline(join_all((0..20).map(|key| put(&store, if key % 2 == 0 { "k" } else { "l" })))).await;
    assert!(refused.iter().all(Result::is_err));
    other.execute_batch("ROLLBACK").unwrap();
    assert!(put(&store, "k").await.unwrap());
}

#[tokio::test]
async fn r_saf_6_a_deleted_file_is_recreated() {
    // Deleted together with it.
    for endings in [&[""] as &[&str], &["", "-wal"], &["", "-shm"], &["", "-wal", "-shm", "-lock"]] {
        let folder = Folder::new();
        let (one, other) = (open(&folder.file()), open(&folder.file()));
        assert!(put(&one, "before").await.unwrap());
        assert!(!put(&other, "before").await.unwrap());
        let old = one.get("before").await.unwrap().unwrap().version;
        for ending in endings {
            std::fs::remove_file(folder.0.join(format!("state.db{ending}"))).unwrap();
        }
        // Both use the new file, and agree again.
        assert_eq!(one.get("before").await.unwrap(), None, "{endings:?}");
        assert!(put(&one, "before").await.unwrap());
        assert!(!put(&other, "before").await.unwrap(), "{endings:?}");
        for store in [&one, &other] {
            assert!(!store.compare_and_set("before", Some(old), Vec::new(), MINUTE).await.unwrap(), "an old version");
        }
        for key in 0..50 {
            let key = format!("k{key}");
            let (mine, theirs) = tokio::join!(put(&one, &key), put(&other, &key));
            assert!(mine.unwrap() != theirs.unwrap(), "{endings:?}: one of them wins");
        }
        drop(other);
        assert_eq!(open(&folder.file()).list("k", 100).await.unwrap().len(), 50);
        let check: String =
            Connection::open(folder.file()).unwrap().query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok", "{endings:?}");
    }
}

#[tokio::test]
async fn r_saf_6_many_stores_make_one_file() {
    for _ in 0..10 {
        let folder = Folder::new();
        let stores: Vec<_> = (0..8).map(|_| open(&folder.file())).collect();
        let won = with_deadline(join_all(stores.iter().map(|store| put(store, "k")))).await;
        assert_eq!(won.into_iter().map(Result::unwrap).filter(|won| *won).count(), 1);
    }
}

#[tokio::test]
async fn r_saf_6_a_damaged_file() {
    let folder = Folder::new();
    let store = open(&folder.file());
    for round in 0..3 {
        assert!(put(&store, "k").await.unwrap(), "round {round}");
        // Overwrites the file in place.
        std::fs::write(folder.file(), vec![b'?'; 20_000]).unwrap();
        for ending in ["-wal", "-shm"] {
            let _ = std::fs::remove_file(folder.0.join(format!("state.db{ending}")));
        }
        let error = with_deadline(put(&open(&folder.file()), "l")).await.unwrap_err();
        assert!(error.contains("damaged"), "{error}");
        std::fs::remove_file(folder.file()).unwrap();
    }
}

/// Whatever the file contains, a store answers or fails, and does so soon.
#[tokio::test]
async fn r_saf_6_random_corruption_is_an_error_or_harmless() {
    let sample = Folder::new();
    let store = open(&sample.file());
    for key in 0..200 {
        assert!(put(&store, &format!("k{key}")).await.unwrap());
        store.spend(&format!("s{key}"), 1, 1, MINUTE * 60).await.unwrap();
    }
    drop(store);
    Connection::open(sample.file()).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let bytes = std::fs::read(sample.file()).unwrap();
    let (mut seed, mut failed) = (0x2545_F491_4F6C_DD1D_u64, 0);
    let mut next = |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        (seed % below as u64) as usize
    };
    for round in 0..60 {
        let folder = Folder::new();
        let mut bytes = bytes.clone();
        for _ in 0..200 {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        std::fs::write(folder.file(), &bytes[..bytes.len() - next(bytes.len() / 2) * (round % 2)]).unwrap();
        let store = open(&folder.file());
        for key in ["k1", "k150", "new"] {
            let answers = (
                with_deadline(store.get(key)).await.is_err(),
                with_deadline(put(&store, key)).await.is_err(),
                with_deadline(store.spend(key, 1, 2, MINUTE)).await.is_err(),
                with_deadline(store.list("", 1_000)).await.is_err(),
            );
            failed += usize::from(answers.0 || answers.1 || answers.2 || answers.3);
        }
        std::fs::remove_file(folder.file()).unwrap();
        assert!(put(&store, "k").await.unwrap(), "it recovers with a new file");
    }
    assert!(failed > 0, "no damage was noticed");
}

#[tokio::test]
async fn r_saf_6_a_missing_folder() {
    let folder = Folder::new();
    let path = folder.0.join("later/state.db");
    let store = open(&path);
    assert!(put(&store, "k").await.unwrap_err().contains("cannot be created"));
    std::fs::create_dir(folder.0.join("later")).unwrap();
    assert!(put(&store, "k").await.unwrap());
    std::fs::remove_dir_all(folder.0.join("later")).unwrap();
    assert!(store.get("k").await.is_err());
    std::fs::create_dir(folder.0.join("later")).unwrap();
    assert!(put(&store, "k").await.unwrap());
}

const WHERE: &str = "AQUIFER_TEST_FAULT_AT";

/// Runs as a user to whom permissions apply: root may write everything.
#[tokio::test]
async fn r_saf_6_a_file_that_cannot_be_written() {
    if let Ok(path) = std::env::var(WHERE) {
        return with_deadline(cannot_be_written(Path::new(&path))).await;
    }
    let folder = Folder::new();
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.0.join("tests");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let mut command = rerun_test(&program, "stores::sqlite_faults::r_saf_6_a_file_that_cannot_be_written");
    command.env(WHERE, folder.0.join("own")).current_dir("/");
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0) {
        command.uid(65_534).gid(65_534);
    }
    Process(command.spawn().unwrap()).succeeds();
}

async fn cannot_be_written(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    let file = folder.join("state.db");
    let set = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    assert!(put(&open(&file), "before").await.unwrap());
    // The file alone, then the directory alone, so that its log cannot be created, then both.
    for (of_file, of_folder) in [(0o400, 0o700), (0o600, 0o500), (0o400, 0o500)] {
        Connection::open(&file).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        // The previous store is closed when its thread ends. While its log exists, it can be written.
        while folder.join("state.db-wal").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        set(&file, of_file);
        set(folder, of_folder);
        let store = open(&file);
        for _ in 0..3 {
            assert!(put(&store, "k").await.is_err(), "{of_file:o} {of_folder:o}");
            assert!(store.spend("s", 1, 10, MINUTE).await.is_err(), "{of_file:o} {of_folder:o}");
        }
        set(folder, 0o700);
        set(&file, 0o600);
        let key = format!("{of_file:o} {of_folder:o}");
        assert!(put(&store, &key).await.unwrap(), "{key}");
        assert!(store.get("before").await.unwrap().is_some());
    }
}

/// On a real full file system if we may mount one; else with a limit on the file size.
#[tokio::test]
async fn r_saf_6_a_full_disk() {
    const TEST: &str = "stores::sqlite_faults::r_saf_6_a_full_disk";
    if let Ok(path) = std::env::var(WHERE) {
        return with_deadline(full_disk(PathBuf::from(path))).await;
    }
    let folder = Folder::new();
    let mut command = with_small_disk(&folder.0, "2m", "ulimit -S -f 600;", TEST);
    Process(command.env(WHERE, &folder.0).spawn().unwrap()).succeeds();
}

async fn full_disk(folder: PathBuf) {
    let mounted = is_mounted();
    let ballast = folder.join("ballast");
    if mounted {
        std::fs::write(&ballast, vec![0; 1_500_000]).unwrap();
    }
    let store = open(&folder.join("state.db"));
    let mut won = Vec::new();
    let mut error = None;
    for key in 0..2_000 {
        let key = format!("k{key}");
        match store.compare_and_set(&key, None, vec![b'x'; 10_000], MINUTE * 60).await {
            Ok(done) => {
                assert!(done);
                won.push(key);
            }
            Err(full) => {
                error = Some(full.to_string());
                break;
            }
        }
    }
    let error = error.expect("the disk was never full");
    println!("after {} records: {error}", won.len());
    assert!(error.contains(if mounted { "has no room" } else { "cannot be read or written" }), "{error}");
    assert!(won.len() > 5, "{error}");
    for _ in 0..5 {
        let full = store.compare_and_set("more", None, vec![b'x'; 400_000], MINUTE).await;
        assert!(full.is_err(), "the disk is still full");
    }
    for key in &won {
        assert_eq!(store.get(key).await.unwrap().unwrap().value.len(), 10_000, "{key} can still be read");
    }
    if mounted {
        std::fs::remove_file(&ballast).unwrap();
    } else {
        let own = std::process::id().to_string();
        assert!(Command::new("prlimit").args(["--pid", &own, "--fsize=unlimited"]).status().unwrap().success());
    }
    assert!(store.compare_and_set("more", None, vec![b'x'; 400_000], MINUTE).await.unwrap());
    for key in &won {
        assert!(!put(&store, key).await.unwrap(), "{key} is still there");
    }
    drop(store);
    let check: String = Connection::open(folder.join("state.db"))
        .unwrap()
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}
