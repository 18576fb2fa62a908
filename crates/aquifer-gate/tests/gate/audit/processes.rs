//! Processes that are killed, and processes whose standard error nobody reads.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use aquifer_gate::audit::{AuditError, AuditSettings, Head, Heads, Sink, verify};

use super::support::*;
use crate::stores::setup::eventually;

/// Killed when its test ends.
struct ChildProcess(Child);

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(test: &str, folder: &std::path::Path, stderr: Stdio) -> (ChildProcess, BufReader<ChildStdout>) {
    let mut child = again(test, folder).stdout(Stdio::piped()).stderr(stderr).spawn().unwrap();
    let out = BufReader::new(child.stdout.take().unwrap());
    (ChildProcess(child), out)
}

/// Several processes write into one directory as fast as they can and are killed. They print the head after each entry,
/// so the last printed head is the stored one, or one before it.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_a_killed_writer_leaves_an_intact_chain() {
    const TEST: &str = "audit::processes::r_saf_5_a_killed_writer_leaves_an_intact_chain";
    if let Some(directory) = in_child() {
        return write_for_ever(&directory).await;
    }
    let folder = Folder::new();
    let mut heads = Heads::default();
    let mut reported_heads = Vec::new();
    for round in 0..4 {
        let mut both: Vec<_> = (0..2).map(|_| start(TEST, &folder.0, Stdio::null())).collect();
        for (_, out) in &mut both {
            for line in out.by_ref().lines().map_while(Result::ok) {
                if let Some(head) = line.strip_prefix("head ") {
                    reported_heads.push(serde_json::from_str::<Head>(head).unwrap());
                    if reported_heads.len() % (50 + round * 37) == 0 {
                        break;
                    }
                }
            }
        }
        for (running, _) in &mut both {
            // SIGKILL.
            running.0.kill().unwrap();
            running.0.wait().unwrap();
        }
        for (_, out) in &mut both {
            let rest = out.lines().map_while(Result::ok);
            reported_heads
                .extend(rest.filter_map(|line| serde_json::from_str::<Head>(line.strip_prefix("head ")?).ok()));
        }
    }
    for head in reported_heads {
        heads.known.retain(|known| known.chain != head.chain);
        heads.known.push(head);
    }
    assert_eq!(heads.known.len(), 8);
    let report = verify(std::slice::from_ref(&folder.0), Some(&heads)).unwrap();
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.chains.len(), 8, "{report}");
    let vouched: u64 = heads.known.iter().map(|head| head.sequence).sum();
    assert!(vouched > 300 && report.intact_entries() >= vouched, "{vouched}: {report}");
    // A line cut by a kill is distinguished from one that a person cut.
    let last =
        listed(&folder.0).into_iter().find(|file| file.to_string_lossy().contains(&heads.known[0].chain)).unwrap();
    let whole = report.chains.iter().find(|chain| chain.chain == heads.known[0].chain).unwrap().clone();
    let mut bytes = std::fs::read(&last).unwrap();
    bytes.extend_from_slice(b"{\"sequence\":9999,\"timest");
    std::fs::write(&last, &bytes).unwrap();
    let report = verify(std::slice::from_ref(&folder.0), Some(&heads)).unwrap();
    let now = report.chains.iter().find(|chain| chain.chain == whole.chain).unwrap();
    assert!(report.is_intact() && now.unfinished.is_some() && now.entries == whole.entries, "{report}");
}

async fn write_for_ever(directory: &std::path::Path) {
    let store = memory();
    let audit = open(files(directory, 64 << 20, 3), &store);
    let deadline = std::time::Instant::now() + DEADLINE;
    while std::time::Instant::now() < deadline {
        let many = (0..5).map(|_| audit.record(intent("again and again")));
        futures::future::join_all(many).await.into_iter().for_each(|noted| drop(noted.unwrap()));
        let heads = Heads::load(&*store).await.unwrap();
        println!("head {}", serde_json::to_string(&heads.known[0]).unwrap());
    }
}

/// Standard error is a pipe that nobody reads: entries fail instead of waiting for ever, and succeed again later.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_unread_stderr_does_not_block_callers_forever() {
    const TEST: &str = "audit::processes::r_saf_5_unread_stderr_does_not_block_callers_forever";
    if in_child().is_some() {
        return write_to_stderr().await;
    }
    let folder = Folder::new();
    let (mut running, mut out) = start(TEST, &folder.0, Stdio::piped());
    let mut line = String::new();
    while !line.contains("stuck") {
        line.clear();
        assert!(out.read_line(&mut line).unwrap() > 0, "the child ended early");
    }
    // Now somebody reads it.
    let mut err = running.0.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        err.read_to_string(&mut text).unwrap();
        text
    });
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(running.0.wait().unwrap().success() && rest.contains("free"), "{rest}");
    let text = reader.join().unwrap();
    let file = folder.0.join("collected");
    let lines: String =
        text.lines().filter(|line| line.starts_with("{\"sequence\"")).map(|line| format!("{line}\n")).collect();
    std::fs::write(&file, lines).unwrap();
    let report = verify(&[file], None).unwrap();
    assert!(report.is_intact() && report.intact_entries() > 10, "{report}");
}

/// If there are files as well, lines that nobody reads are lost, and the files have all of them.
#[tokio::test(flavor = "multi_thread")]
async fn r_saf_5_files_do_not_wait_for_stderr() {
    const TEST: &str = "audit::processes::r_saf_5_files_do_not_wait_for_stderr";
    if let Some(directory) = in_child() {
        let store = memory();
        let mut settings = files(&directory, 16 << 20, 3);
        settings.sinks.push(Sink::Stderr);
        let audit = open(settings, &store);
        let long = "reason ".repeat(60);
        for _ in 0..2000 {
            audit.record(intent("x").reason(&long)).await.unwrap();
        }
        assert!(verify_directory(&directory, &store).await.is_intact());
        println!("all of them");
        return;
    }
    let folder = Folder::new();
    let (mut running, mut out) = start(TEST, &folder.0, Stdio::piped());
    let mut text = String::new();
    out.read_to_string(&mut text).unwrap();
    assert!(running.0.wait().unwrap().success() && text.contains("all of them"), "{text}");
    assert_eq!(lines(&folder.0).len(), 2001);
}

async fn write_to_stderr() {
    let settings =
        AuditSettings { sinks: vec![Sink::Stderr], timeout: Duration::from_millis(500), ..AuditSettings::default() };
    let audit = open(settings, &memory());
    let long = "reason ".repeat(60);
    let entry = || intent("x").reason(&long);
    // A pipe holds some of them.
    let mut failed = None;
    for _ in 0..100_000 {
        if let Err(error) = audit.record(entry()).await {
            failed = Some(error);
            break;
        }
    }
    assert_eq!(failed, Some(AuditError::Busy));
    // From now on nothing waits for it.
    for _ in 0..1000 {
        assert_eq!(audit.record(entry()).await, Err(AuditError::Busy));
    }
    println!("stuck");
    eventually("entries are recorded again", async || audit.record(entry()).await.is_ok()).await;
    println!("free");
}
