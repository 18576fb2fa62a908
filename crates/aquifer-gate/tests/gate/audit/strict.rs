//! What somebody can do who writes the directory or loses the store: plain verification may be content, strict is not.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_engine::store::StateStore;
use aquifer_gate::audit::{Audit, Doubt, Heads, Report, is_being_written, verify};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::support::*;
use crate::house::Hands;

/// An audit of a process that has ended.
struct Ended {
    folder: Folder,
    store: Arc<dyn StateStore>,
    heads: Heads,
}

impl Ended {
    async fn new() -> Self {
        let (folder, store) = (Folder::new(), memory());
        let audit = open(files(&folder.0, 2600, 100), &store);
        for number in 0..12 {
            audit.record(intent(&format!("request {number}"))).await.unwrap();
        }
        Self::of(folder, store, audit).await
    }

    async fn of(folder: Folder, store: Arc<dyn StateStore>, audit: Audit) -> Self {
        drop(audit);
        let ended = async {
            while is_being_written(std::slice::from_ref(&folder.0)) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(DEADLINE, ended).await.unwrap();
        let heads = Heads::all(&*store).await.unwrap();
        Self { folder, store, heads }
    }

    fn last_file(&self) -> PathBuf {
        listed(&self.folder.0).pop().unwrap()
    }
}

fn judged_strictly(directory: &Path, heads: Option<&Heads>) -> Report {
    let paths: Vec<PathBuf> = directory.exists().then(|| directory.to_owned()).into_iter().collect();
    let mut report = verify(&paths, heads).unwrap();
    report.judge_strictly(heads, None);
    report
}

fn kinds(report: &Report) -> Vec<Doubt> {
    let mut kinds: Vec<Doubt> = report.problems.iter().map(|problem| problem.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

/// A line as the writer seals it. Anybody can.
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

/// What is done to the directory, and which heads are left afterwards.
type Attack = fn(&Ended) -> Option<Heads>;

#[tokio::test]
async fn r_saf_5_strict_verification_finds_what_a_writer_of_the_directory_can_do() {
    // (what is done, whether plain verification is content, what strict verification says)
    let table: &[(&str, Attack, bool, &[Doubt])] = &[
        ("nothing", |ended| Some(ended.heads.clone()), true, &[]),
        (
            "entries are forged after the head",
            |ended| {
                let last: Value = lines(&ended.folder.0).pop().unwrap();
                let (chain, hash) = (last["chain"].as_str().unwrap(), last["hash"].as_str().unwrap());
                let (one, hash) = forged(chain, last["sequence"].as_u64().unwrap() + 1, hash, "OPERATION_OUTCOME");
                let (two, _) = forged(chain, last["sequence"].as_u64().unwrap() + 2, &hash, "OPERATION_OUTCOME");
                append(&ended.last_file(), &(one + &two));
                Some(ended.heads.clone())
            },
            true,
            &[Doubt::BeyondHead],
        ),
        (
            "entries are forged after the head, in a file of their own",
            |ended| {
                let last: Value = lines(&ended.folder.0).pop().unwrap();
                let (chain, hash) = (last["chain"].as_str().unwrap(), last["hash"].as_str().unwrap());
                let sequence = last["sequence"].as_u64().unwrap() + 1;
                let (line, _) = forged(chain, sequence, hash, "CHAIN_CONTINUED");
                let name = format!("audit-20260131T120000Z-{chain}-{sequence:012}.jsonl");
                std::fs::write(ended.folder.0.join(name), line).unwrap();
                Some(ended.heads.clone())
            },
            true,
            &[Doubt::BeyondHead],
        ),
        (
            "a whole chain is forged",
            |ended| {
                let chain = "0123456789abcdef0123456789abcdef";
                let name = format!("audit-20260131T120000Z-{chain}-000000000001.jsonl");
                std::fs::write(ended.folder.0.join(name), forged_chain(chain, 5)).unwrap();
                Some(ended.heads.clone())
            },
            true,
            &[Doubt::NoHead],
        ),
        (
            "a chain is forged in a file of another name",
            |ended| {
                let text = forged_chain("0123456789abcdef0123456789abcdef", 5);
                std::fs::write(ended.folder.0.join("more.jsonl"), text).unwrap();
                Some(ended.heads.clone())
            },
            true,
            &[Doubt::UnknownFile],
        ),
        (
            "the end is cut and the store lost",
            |ended| {
                cut_last_line(&ended.last_file());
                Some(Heads::default())
            },
            true,
            &[Doubt::NoHeads],
        ),
        ("the store is lost", |_| Some(Heads::default()), true, &[Doubt::NoHeads]),
        ("the store was in memory", |_| None, true, &[Doubt::NoHeads]),
        (
            "one head is lost, and others are there",
            |ended| {
                let mut other = ended.heads.known[0].clone();
                other.chain = "f".repeat(32);
                other.beginning = serde_json::from_value(json!({
                    "chain": other.chain, "sequence": u64::MAX, "previous": "", "gone": true
                }))
                .unwrap();
                Some(Heads { known: vec![other], unreadable: Vec::new() })
            },
            true,
            &[Doubt::NoHead],
        ),
        (
            "all files are deleted",
            |ended| {
                listed(&ended.folder.0).iter().for_each(|file| std::fs::remove_file(file).unwrap());
                Some(ended.heads.clone())
            },
            false,
            &[],
        ),
        (
            "the directory is deleted",
            |ended| {
                std::fs::remove_dir_all(&ended.folder.0).unwrap();
                Some(ended.heads.clone())
            },
            false,
            &[],
        ),
        (
            "files and store are deleted",
            |ended| {
                std::fs::remove_dir_all(&ended.folder.0).unwrap();
                Some(Heads::default())
            },
            true,
            &[Doubt::Nothing],
        ),
        (
            "the files are emptied and the store lost",
            |ended| {
                listed(&ended.folder.0).iter().for_each(|file| std::fs::write(file, "").unwrap());
                Some(Heads::default())
            },
            true,
            &[Doubt::Nothing, Doubt::Empty],
        ),
        (
            "the last line is not whole",
            |ended| {
                append(&ended.last_file(), "{\"sequence\":99,\"time");
                Some(ended.heads.clone())
            },
            true,
            &[Doubt::Unfinished],
        ),
        (
            "a dropped chain is back",
            |ended| {
                let mut heads = ended.heads.clone();
                heads.known[0].beginning = serde_json::from_value(json!({
                    "chain": heads.known[0].chain, "sequence": u64::MAX, "previous": "", "gone": true
                }))
                .unwrap();
                Some(heads)
            },
            true,
            &[Doubt::Restored],
        ),
    ];
    for (what, attack, is_content, expected) in table {
        let ended = Ended::new().await;
        let heads = attack(&ended);
        let report = judged_strictly(&ended.folder.0, heads.as_ref());
        assert_eq!(report.is_whole(), *is_content, "{what}: {report}");
        assert_eq!(kinds(&report), *expected, "{what}: {report}");
        let is_sound = *what == "nothing";
        assert_eq!(report.is_beyond_doubt(), is_sound, "{what}: {report}");
        assert_eq!(report.to_string().lines().count() > 1, !is_sound, "{what} is told: {report}");
        // Nothing but plain facts in the object for programs.
        let told: Value = serde_json::to_value(&report).unwrap();
        assert_eq!(told["problems"].as_array().map_or(0, Vec::len), report.problems.len(), "{told}");
        let _ = std::fs::create_dir_all(&ended.folder.0);
        drop(ended.store);
    }
}

#[cfg(unix)]
#[tokio::test]
async fn r_saf_5_strict_verification_does_not_pass_over_links() {
    let ended = Ended::new().await;
    let text = forged_chain("0123456789abcdef0123456789abcdef", 3);
    let target = Folder::new();
    std::fs::write(target.0.join("text"), text).unwrap();
    let name = "audit-20260131T120000Z-0123456789abcdef0123456789abcdef-000000000001.jsonl";
    std::os::unix::fs::symlink(target.0.join("text"), ended.folder.0.join(name)).unwrap();
    let report = judged_strictly(&ended.folder.0, Some(&ended.heads));
    assert_eq!((report.is_whole(), kinds(&report)), (true, vec![Doubt::UnknownFile]), "{report}");
}

/// A chain whose file was taken away is named by the one after it, so it is missed even if its head is gone, too.
#[tokio::test]
async fn r_saf_5_a_missing_predecessor_is_missed() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1 << 20, 3), &store);
    audit.record(intent("one")).await.unwrap();
    let first = listed(&folder.0).remove(0);
    std::fs::remove_file(&first).unwrap();
    audit.record(intent("two")).await.unwrap();
    let ended = Ended::of(folder, store, audit).await;
    let report = judged_strictly(&ended.folder.0, Some(&ended.heads));
    assert!(!report.is_whole(), "the head of the first chain is known: {report}");
    let mut heads = ended.heads.clone();
    heads.known.retain(|head| !first.to_string_lossy().contains(&head.chain));
    let report = judged_strictly(&ended.folder.0, Some(&heads));
    assert_eq!((report.is_whole(), kinds(&report)), (true, vec![Doubt::MissingPredecessor]), "{report}");
}

/// Files that were dropped on purpose are no gap.
#[tokio::test]
async fn r_saf_5_dropped_files_are_beyond_doubt() {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 1500, 2), &store);
    audit.record(intent("first")).await.unwrap();
    // A chain that names its predecessor, which is dropped later.
    append(&listed(&folder.0)[0], "more\n");
    for number in 0..40 {
        audit.record(intent(&format!("request {number}"))).await.unwrap();
    }
    let ended = Ended::of(folder, store, audit).await;
    assert!(events(&ended.folder.0).contains(&"FILES_DROPPED".to_owned()));
    let report = judged_strictly(&ended.folder.0, Some(&ended.heads));
    assert!(report.is_beyond_doubt(), "{report}");
}

#[tokio::test]
async fn r_saf_5_a_clock_that_goes_back_is_told() {
    // (seconds, whether it is noticed)
    for (seconds, is_noticed) in [(-30, false), (-3600, true), (3600, false)] {
        let (folder, store, clock) = (Folder::new(), memory(), Hands::new());
        let audit = Audit::open(files(&folder.0, 1 << 20, 3), clock.steady.clone(), store.clone()).unwrap();
        audit.record(intent("one")).await.unwrap();
        clock.set_wall(seconds);
        audit.record(intent("two")).await.unwrap();
        audit.record(intent("three")).await.unwrap();
        let ended = Ended::of(folder, store, audit).await;
        let report = judged_strictly(&ended.folder.0, Some(&ended.heads));
        let expected: &[Doubt] = if is_noticed { &[Doubt::ClockWentBack] } else { &[] };
        assert_eq!((report.is_whole(), kinds(&report).as_slice()), (true, expected), "{seconds}: {report}");
    }
}

/// While servers write, there are always entries that their heads do not vouch for yet. They do a moment later.
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
            let heads = Heads::all(&*store).await.unwrap();
            if heads.known.is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
                continue;
            }
            let mut report = verify(std::slice::from_ref(&folder.0), Some(&heads)).unwrap();
            report.judge_strictly(Some(&heads), earlier.as_ref());
            assert!(report.is_beyond_doubt() || report.may_settle(), "{report}");
            sound += usize::from(report.is_beyond_doubt() && report.whole_entries() > 0);
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
