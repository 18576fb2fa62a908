//! Failures around the audit: reported quickly, and over as soon as the cause is.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::StateStore;
use aquifer_gate::audit::{AuditError, AuditSettings, FaultKind, Heads, Sink, verify, verify_store};

use super::support::*;

#[tokio::test]
async fn r_saf_5_a_deleted_directory_is_detected_and_recreated() {
    let (folder, store) = (Folder::new(), memory());
    let directory = folder.0.join("audit");
    let audit = open(files(&directory, 1 << 20, 3), &store);
    audit.record(intent("before")).await.unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    // A file that was deleted no longer counts, so this goes into a new one.
    audit.record(intent("after")).await.unwrap();
    let lines = lines(&directory);
    assert_eq!(lines.last().unwrap()["request_id"], "after");
    assert!(lines[0]["after"].is_string(), "the new chain does not say which it follows");
    let report = verify_directory(&directory, &store).await;
    assert_eq!((report.chains.len(), report.intact_chains()), (2, 1), "{report}");
    assert_eq!(report.faults().next().unwrap().kind, FaultKind::Removed);

    // Something else is in the directory's place.
    std::fs::remove_dir_all(&directory).unwrap();
    std::fs::write(&directory, "in the way").unwrap();
    let error = audit.record(intent("nowhere")).await.unwrap_err();
    assert!(matches!(error, AuditError::File { .. }), "{error}");
    assert!(audit.is_required());
    std::fs::remove_file(&directory).unwrap();
    audit.record(intent("again")).await.unwrap();
    assert_eq!(super::support::lines(&directory).last().unwrap()["request_id"], "again");
}

#[tokio::test]
async fn r_saf_5_a_file_that_others_changed_is_left_as_evidence() {
    let store = memory();
    for (what, change) in [
        ("cut", (|text: &str| text[..text.len() / 2].to_owned()) as fn(&str) -> String),
        ("emptied", |_| String::new()),
        ("added to", |text| format!("{text}more\n")),
    ] {
        let folder = Folder::new();
        let audit = open(files(&folder.0, 1 << 20, 3), &store);
        audit.record(intent("one")).await.unwrap();
        audit.record(intent("two")).await.unwrap();
        let file = listed(&folder.0).remove(0);
        let changed = change(&std::fs::read_to_string(&file).unwrap());
        std::fs::write(&file, &changed).unwrap();
        audit.record(intent("three")).await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), changed, "{what}");
        assert_eq!(listed(&folder.0).len(), 2, "{what}");
        let chain = Heads::load(&*store).await.unwrap().known;
        let here: Vec<_> = chain
            .into_iter()
            .filter(|head| listed(&folder.0).iter().any(|file| file.to_string_lossy().contains(&head.chain)))
            .collect();
        let heads = Heads { known: here, unreadable: Vec::new() };
        let report = verify(std::slice::from_ref(&folder.0), Some(&heads)).unwrap();
        assert_eq!((report.intact_chains(), report.faults().count()), (1, 1), "{what}: {report}");
    }
}

#[tokio::test]
async fn r_saf_5_a_copy_in_place_of_the_file_is_not_written_to() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    audit.record(intent("one")).await.unwrap();
    let file = listed(&folder.0).remove(0);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::rename(&file, folder.0.join("elsewhere")).unwrap();
    std::fs::write(&file, &text).unwrap();
    audit.record(intent("two")).await.unwrap();
    for file in [&file, &folder.0.join("elsewhere")] {
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
    let report = verify_directory(&folder.0, &store).await;
    assert!(report.is_intact() && report.chains.len() == 2, "{report}");
}

#[tokio::test]
async fn r_saf_5_an_entry_without_its_head_is_not_recorded() {
    let folder = Folder::new();
    let scripted = ScriptedStore::new();
    let store: Arc<dyn StateStore> = scripted.clone();
    let mut settings = files(&folder.0, 1 << 20, 3);
    settings.timeout = Duration::from_secs(2);
    let audit = open(settings, &store);
    audit.record(intent("one")).await.unwrap();
    scripted.set_mode(StoreMode::Down);
    let error = audit.record(intent("two")).await.unwrap_err();
    assert!(error.to_string().contains("it is down"), "{error}");
    scripted.set_mode(StoreMode::Silent);
    let error = tokio::time::timeout(DEADLINE, audit.record(intent("three"))).await.unwrap().unwrap_err();
    assert!(matches!(error, AuditError::Store(_) | AuditError::Busy), "{error}");
    scripted.set_mode(StoreMode::Well);
    record_soon(&audit, "four").await;
    let report = verify_directory(&folder.0, &store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains[0].beyond_head, 0);
}

/// Records as soon as the writer is free again.
async fn record_soon(audit: &aquifer_gate::audit::Audit, mark: &str) {
    let recorded = async {
        while audit.record(intent(mark)).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, recorded).await.unwrap();
}

#[tokio::test]
async fn r_saf_5_lines_that_the_store_missed_are_written_later() {
    for with_files in [true, false] {
        let folder = Folder::new();
        let scripted = ScriptedStore::new();
        let store: Arc<dyn StateStore> = scripted.clone();
        let mut settings = AuditSettings { timeout: Duration::from_secs(2), ..files(&folder.0, 1 << 20, 3) };
        if !with_files {
            settings.sinks.clear();
        }
        settings.sinks.push(Sink::Store { keep: Duration::from_secs(3600) });
        let audit = open(settings, &store);
        audit.record(intent("one")).await.unwrap();
        scripted.set_mode(StoreMode::Down);
        audit.record(intent("two")).await.unwrap_err();
        audit.record(intent("three")).await.unwrap_err();
        scripted.set_mode(StoreMode::Well);
        audit.record(intent("four")).await.unwrap();
        let heads = Heads::load(&*store).await.unwrap();
        let report = verify_store(&*store, &heads).await.unwrap();
        assert!(report.is_intact(), "{report}");
        assert_eq!(report.intact_entries(), 5);
    }
}

/// A limit on the file size stands in for a full disk, because it does not need root. The shell that starts us ignores
/// the signal that comes with it.
#[cfg(unix)]
#[tokio::test]
async fn r_saf_5_when_the_disk_is_full() {
    let Some(directory) = in_child() else {
        let folder = Folder::new();
        let program = again("audit::faults::r_saf_5_when_the_disk_is_full", &folder.0);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\""]).arg(program.get_program()).args(program.get_args());
        for (name, value) in program.get_envs() {
            shell.env(name, value.unwrap());
        }
        return passes(shell);
    };
    let store = memory();
    let audit = open(files(&directory, 1 << 20, 3), &store);
    audit.record(intent("before")).await.unwrap();
    // In the middle of the next line, or of the one after it.
    for room in [0, 1, 100, 700] {
        let good = std::fs::metadata(&listed(&directory)[0]).unwrap().len();
        limit_files(Some(good + room));
        let failed: Vec<_> = futures::future::join_all((0..4).map(|_| audit.record(intent("lost")))).await;
        assert!(failed.iter().any(|result| matches!(result, Err(AuditError::File { .. }))), "{room}: {failed:?}");
        // Written one at a time some may fit, but never more than there is room for.
        let mut fitted = 0;
        while audit.record(intent("perhaps")).await.is_ok() {
            fitted += 1;
            assert!(fitted * 400 < room, "{fitted} fitted into {room} bytes");
        }
        audit.record(intent("lost")).await.unwrap_err();
        limit_files(None);
        audit.record(intent(&format!("after {room}"))).await.unwrap();
        let report = verify_directory(&directory, &store).await;
        assert!(report.is_intact(), "{room}: {report}");
        assert_eq!((report.chains.len(), report.chains[0].beyond_head), (1, 0), "{report}");
    }
    println!("{CHILD_DONE}");
}

#[cfg(unix)]
fn limit_files(limit: Option<u64>) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Fsize).maximum;
    setrlimit(Resource::Fsize, Rlimit { current: limit.or(maximum), maximum }).unwrap();
}

#[cfg(unix)]
const CHILD_DONE: &str = "the child has come to its end";

/// The child reached its end.
#[cfg(unix)]
fn passes(mut command: std::process::Command) {
    let done = command.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success() && out.contains(CHILD_DONE), "{out}{err}");
}

/// A separate file system: first full, then read-only. Needs a mount namespace, which root has and others may get from
/// the kernel.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn r_saf_5_on_a_file_system_that_is_full_or_read_only() {
    use std::process::Command;
    let Some(directory) = in_child() else {
        let folder = Folder::new();
        let program = again("audit::faults::r_saf_5_on_a_file_system_that_is_full_or_read_only", &folder.0);
        let script = "mount -t tmpfs -o size=256k none \"$1\" && shift && exec \"$0\" \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["--map-root-user", "--mount", "sh", "-c", script]).arg(program.get_program()).arg(&folder.0);
        command.args(program.get_args());
        for (name, value) in program.get_envs() {
            command.env(name, value.unwrap());
        }
        return passes(command);
    };
    let remount = |how: &str| {
        assert!(Command::new("mount").args(["-o", how]).arg(&directory).status().unwrap().success(), "{how}");
    };
    let store = memory();
    let audit = open(files(&directory, 16 << 20, 3), &store);
    // Read-only before there is a file.
    remount("remount,ro");
    let error = audit.record(intent("lost")).await.unwrap_err();
    assert!(error.to_string().contains("ead-only"), "{error}");
    aquifer_gate::audit::Audit::open(files(&directory, 1000, 3), clock(), store.clone()).unwrap_err();
    remount("remount,rw");
    audit.record(intent("first")).await.unwrap();
    // Full.
    let ballast = directory.join("ballast");
    let mut filled = 0;
    while std::fs::write(directory.join(format!("ballast-{filled}")), vec![0; 4096]).is_ok() {
        filled += 1;
        assert!(filled < 1000);
    }
    let mut lost = None;
    // The last page of the file may have room for some.
    for _ in 0..100 {
        if let Err(error) = audit.record(intent("perhaps")).await {
            lost = Some(error);
            break;
        }
    }
    let error = lost.unwrap();
    assert!(error.to_string().contains("space"), "{error}");
    audit.record(intent("lost")).await.unwrap_err();
    let report = verify_directory(&directory, &store).await;
    assert!(report.faults().next().is_none(), "{report}");
    for number in 0..=filled {
        let _ = std::fs::remove_file(ballast.with_file_name(format!("ballast-{number}")));
    }
    audit.record(intent("again")).await.unwrap();
    let report = verify_directory(&directory, &store).await;
    assert!(report.is_intact(), "{report}");
    assert_eq!((report.chains.len(), report.chains[0].unfinished.as_ref()), (1, None), "{report}");
    assert_eq!(lines(&directory).last().unwrap()["request_id"], "again");
    println!("{CHILD_DONE}");
}
