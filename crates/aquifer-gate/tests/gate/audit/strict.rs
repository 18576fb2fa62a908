//! What somebody who can write the directory or delete the store can do: plain verification may accept it, strict
//! verification does not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_engine::store::StateStore;
use aquifer_gate::audit::{Audit, Heads, ProblemKind, Report, is_being_written, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::support::*;
use crate::harness::ManualClock;
use crate::stores::setup::eventually;

/// The audit of a process that has ended.
struct StoppedAudit {
    folder: Folder,
    store: Arc<dyn StateStore>,
    heads: Heads,
}

impl StoppedAudit {
    async fn new() -> Self {
        let (folder, store) = (Folder::new(), memory());
        let audit = open(files(&folder.0, 2600, 100), &store);
        for number in 0..12 {
            audit.record(intent(&format!("request {number}"))).await.unwrap();
        }
        Self::stop(folder, store, audit).await
    }

    async fn stop(folder: Folder, store: Arc<dyn StateStore>, audit: Audit) -> Self {
        drop(audit);
        eventually("the writer has ended", async || !is_being_written(std::slice::from_ref(&folder.0))).await;
        let heads = Heads::load(&*store).await.unwrap();
        Self { folder, store, heads }
    }

    fn last_file(&self) -> PathBuf {
        listed(&self.folder.0).pop().unwrap()
    }
}

fn verify_strictly(directory: &Path, heads: Option<&Heads>) -> Report {
    let paths: Vec<PathBuf> = directory.exists().then(|| directory.to_owned()).into_iter().collect();
    let mut report = verify(&paths, heads).unwrap();
    report.check_strictly(heads, None);
    report
}

fn kinds(report: &Report) -> Vec<ProblemKind> {
    let mut kinds: Vec<ProblemKind> = report.problems.iter().map(|problem| problem.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// A forged line, sealed like the writer's. Anybody can do this.
fn forged(chain: &str, sequence: u64, previous: &str, event: &str) -> (String, String) {
    let time = jiff::Timestamp::now();
    let body = format!(
        r#"{{"sequence":{sequence},"timestamp":"{time}","chain":"{chain}","event":"{event}","previous":"{previous}""#
    );
    let digest = Sha256::digest(format!("{body}}}").as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    (format!("{body},\"hash\":\"{hash}\"}}\n"), hash)
}

fn forged_chain(chain: &str, length: u64) -> String {
    let (mut text, mut previous) = (String::new(), "0".repeat(64));
    for sequence in 1..=length {
        let event = if sequence == 1 { "CHAIN_STARTED" } else { "OPERATION_INTENT" };
        let (line, hash) = forged(chain, sequence, &previous, event);
        text.push_str(&line);
        previous = hash;
    }
    text
}

fn append(file: &Path, text: &str) {
    use std::io::Write as _;
    std::fs::OpenOptions::new().append(true).open(file).unwrap().write_all(text.as_bytes()).unwrap();
}

fn cut_last_line(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap();
    let end = text.trim_end().rfind('\n').map_or(0, |end| end + 1);
    std::fs::write(file, &text[..end]).unwrap();
}

/// An attack on the directory. Returns the remaining heads.
type Attack = fn(&StoppedAudit) -> Option<Heads>;

#[tokio::test]
async fn r_saf_5_strict_verification_detects_tampering_by_a_writer_of_the_directory() {
    // (attack, whether plain verification accepts it, problems of strict verification)
    let table: &[(&str, Attack, bool, &[ProblemKind])] = &[
        ("nothing", |stopped| Some(stopped.heads.clone()), true, &[]),
        (
            "entries are forged after the head",
            |stopped| {
                let last: Value = lines(&stopped.folder.0).pop().unwrap();
                let (chain, hash) = (last["chain"].as_str().unwrap(), last["hash"].as_str().unwrap());
                let (one, hash) = forged(chain, last["sequence"].as_u64().unwrap() + 1, hash, "OPERATION_OUTCOME");
                let (two, _) = forged(chain, last["sequence"].as_u64().unwrap() + 2, &hash, "OPERATION_OUTCOME");
                append(&stopped.last_file(), &(one + &two));
                Some(stopped.heads.clone())
            },
            true,
            &[ProblemKind::BeyondHead],
        ),
        (
            "entries are forged after the head, in a file of their own",
            |stopped| {
                let last: Value = lines(&stopped.folder.0).pop().unwrap();
                let (chain, hash) = (last["chain"].as_str().unwrap(), last["hash"].as_str().unwrap());
                let sequence = last["sequence"].as_u64().unwrap() + 1;
                let (line, _) = forged(chain, sequence, hash, "CHAIN_CONTINUED");
                let name = format!("audit-20260131T120000Z-{chain}-{sequence:012}.jsonl");
                std::fs::write(stopped.folder.0.join(name), line).unwrap();
                Some(stopped.heads.clone())
            },
            true,
            &[ProblemKind::BeyondHead],
        ),
        (
            "a whole chain is forged",
            |stopped| {
                let chain = "0123456789abcdef0123456789abcdef";
                let name = format!("audit-20260131T120000Z-{chain}-000000000001.jsonl");
                std::fs::write(stopped.folder.0.join(name), forged_chain(chain, 5)).unwrap();
                Some(stopped.heads.clone())
            },
            true,
            &[ProblemKind::NoHead],
        ),
        (
            "a chain is forged in a file of another name",
            |stopped| {
                let text = forged_chain("0123456789abcdef0123456789abcdef", 5);
                std::fs::write(stopped.folder.0.join("more.jsonl"), text).unwrap();
                Some(stopped.heads.clone())
            },
            true,
            &[ProblemKind::UnknownFile],
        ),
        (
            "the end is cut and the store lost",
            |stopped| {
                cut_last_line(&stopped.last_file());
                Some(Heads::default())
            },
            true,
            &[ProblemKind::NoHeads],
        ),
        ("the store is lost", |_| Some(Heads::default()), true, &[ProblemKind::NoHeads]),
        ("the store was in memory", |_| None, true, &[ProblemKind::NoHeads]),
        (
            "one head is lost, and others are there",
            |stopped| {
                let mut other = stopped.heads.known[0].clone();
                other.chain = "f".repeat(32);
                other.beginning = serde_json::from_value(json!({
                    "chain": other.chain, "sequence": u64::MAX, "previous": "", "gone": true
                }))
                .unwrap();
                Some(Heads { known: vec![other], unreadable: Vec::new() })
            },
            true,
            &[ProblemKind::NoHead],
        ),
        (
            "all files are deleted",
            |stopped| {
                listed(&stopped.folder.0).iter().for_each(|file| std::fs::remove_file(file).unwrap());
                Some(stopped.heads.clone())
            },
            false,
            &[],
        ),
        (
            "the directory is deleted",
            |stopped| {
                std::fs::remove_dir_all(&stopped.folder.0).unwrap();
                Some(stopped.heads.clone())
            },
            false,
            &[],
        ),
        (
            "files and store are deleted",
            |stopped| {
                std::fs::remove_dir_all(&stopped.folder.0).unwrap();
                Some(Heads::default())
            },
            true,
            &[ProblemKind::Nothing],
        ),
        (
            "the files are emptied and the store lost",
            |stopped| {
                listed(&stopped.folder.0).iter().for_each(|file| std::fs::write(file, "").unwrap());
                Some(Heads::default())
            },
            true,
            &[ProblemKind::Nothing, ProblemKind::Empty],
        ),
        (
            "the last line is unfinished",
            |stopped| {
                append(&stopped.last_file(), "{\"sequence\":99,\"time");
                Some(stopped.heads.clone())
            },
            true,
            &[ProblemKind::Unfinished],
        ),
        (
            "a dropped chain is back",
            |stopped| {
                let mut heads = stopped.heads.clone();
                heads.known[0].beginning = serde_json::from_value(json!({
                    "chain": heads.known[0].chain, "sequence": u64::MAX, "previous": "", "gone": true
                }))
                .unwrap();
                Some(heads)
            },
            true,
            &[ProblemKind::Restored],
        ),
    ];
    for (what, attack, is_content, expected) in table {
        let stopped = StoppedAudit::new().await;
        let heads = attack(&stopped);
        let report = verify_strictly(&stopped.folder.0, heads.as_ref());
        assert_eq!(report.is_intact(), *is_content, "{what}: {report}");
        assert_eq!(kinds(&report), *expected, "{what}: {report}");
        let is_sound = *what == "nothing";
        assert_eq!(report.is_proven(), is_sound, "{what}: {report}");
        assert_eq!(report.to_string().lines().count() > 1, !is_sound, "{what} is told: {report}");
        // The JSON report has the same problems.
        let serialized: Value = serde_json::to_value(&report).unwrap();
        assert_eq!(serialized["problems"].as_array().map_or(0, Vec::len), report.problems.len(), "{serialized}");
        let _ = std::fs::create_dir_all(&stopped.folder.0);
        drop(stopped.store);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn r_saf_5_strict_verification_reports_symbolic_links() {
    let stopped = StoppedAudit::new().await;
    let text = forged_chain("0123456789abcdef0123456789abcdef", 3);
    let target = Folder::new();
    std::fs::write(target.0.join("text"), text).unwrap();
    let name = "audit-20260131T120000Z-0123456789abcdef0123456789abcdef-000000000001.jsonl";
    std::os::unix::fs::symlink(target.0.join("text"), stopped.folder.0.join(name)).unwrap();
    let report = verify_strictly(&stopped.folder.0, Some(&stopped.heads));
    assert_eq!((report.is_intact(), kinds(&report)), (true, vec![ProblemKind::UnknownFile]), "{report}");
}

/// A chain names the chain before it, so a missing chain is detected even if its head is gone.
#[tokio::test]
async fn r_saf_5_a_missing_predecessor_is_detected() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    audit.record(intent("one")).await.unwrap();
    let first = listed(&folder.0).remove(0);
    std::fs::remove_file(&first).unwrap();
    audit.record(intent("two")).await.unwrap();
    let stopped = StoppedAudit::stop(folder, store, audit).await;
    let report = verify_strictly(&stopped.folder.0, Some(&stopped.heads));
    assert!(!report.is_intact(), "the head of the first chain is known: {report}");
    let mut heads = stopped.heads.clone();
    heads.known.retain(|head| !first.to_string_lossy().contains(&head.chain));
    let report = verify_strictly(&stopped.folder.0, Some(&heads));
    assert_eq!((report.is_intact(), kinds(&report)), (true, vec![ProblemKind::MissingPredecessor]), "{report}");
}

/// Dropped files are no gap.
#[tokio::test]
async fn r_saf_5_dropped_files_pass_strict_verification() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1500, 2), &store);
    audit.record(intent("first")).await.unwrap();
    // A chain that names its predecessor, which is dropped later.
    append(&listed(&folder.0)[0], "more\n");
    for number in 0..40 {
        audit.record(intent(&format!("request {number}"))).await.unwrap();
    }
    let stopped = StoppedAudit::stop(folder, store, audit).await;
    assert!(events(&stopped.folder.0).contains(&"FILES_DROPPED".to_owned()));
    let report = verify_strictly(&stopped.folder.0, Some(&stopped.heads));
    assert!(report.is_proven(), "{report}");
}

#[tokio::test]
async fn r_saf_5_a_clock_that_goes_back_is_reported() {
    // (seconds, whether it is reported)
    for (seconds, is_noticed) in [(-30, false), (-3600, true), (3600, false)] {
        let (folder, store, clock) = (Folder::new(), memory(), ManualClock::new());
        let audit = Audit::open(files(&folder.0, 1 << 20, 3), clock.steady.clone(), store.clone()).unwrap();
        audit.record(intent("one")).await.unwrap();
        clock.set_wall(seconds);
        audit.record(intent("two")).await.unwrap();
        audit.record(intent("three")).await.unwrap();
        let stopped = StoppedAudit::stop(folder, store, audit).await;
        let report = verify_strictly(&stopped.folder.0, Some(&stopped.heads));
        let expected: &[ProblemKind] = if is_noticed { &[ProblemKind::ClockWentBack] } else { &[] };
        assert_eq!((report.is_intact(), kinds(&report).as_slice()), (true, expected), "{seconds}: {report}");
    }
}

/// While servers write, there are always entries after the heads. A moment later the heads have caught up.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_strict_verification_can_run_while_servers_write() {
    let (folder, store) = (Folder::new(), memory());
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..2)
        .map(|_| {
            let (audit, is_over) = (open(files(&folder.0, 20_000, 100), &store), is_over.clone());
            tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    audit.record(intent("again")).await.unwrap();
                }
            })
        })
        .collect();
    let sound = async {
        let (mut earlier, mut sound) = (None, 0);
        while sound < 5 {
            let heads = Heads::load(&*store).await.unwrap();
            if heads.known.is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            }
            let mut report = verify(std::slice::from_ref(&folder.0), Some(&heads)).unwrap();
            report.check_strictly(Some(&heads), earlier.as_ref());
            assert!(report.is_proven() || report.may_be_transient(), "{report}");
            sound += usize::from(report.is_proven() && report.intact_entries() > 0);
            earlier = Some(report);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        earlier
    };
    let settled = tokio::time::timeout(DEADLINE, sound).await;
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    assert!(settled.is_ok(), "the record was never beyond doubt");
}
