//! Every kind of change to the files, and where it is detected.

use std::path::PathBuf;
use std::sync::OnceLock;

use aquifer_gate::audit::{Fault, FaultKind, Heads, Report, verify};
use proptest::prelude::*;

use super::support::*;

/// Three files of one chain, and its head.
struct Original {
    files: Vec<(String, Vec<u8>)>,
    heads: Heads,
}

fn original() -> &'static Original {
    static ORIGINAL: OnceLock<Original> = OnceLock::new();
    ORIGINAL
        .get_or_init(|| std::thread::spawn(|| tokio::runtime::Runtime::new().unwrap().block_on(make())).join().unwrap())
}

async fn make() -> Original {
    let (folder, store) = (Folder::new(), memory());
    let audit = open(files(&folder.0, 2600, 100), &store);
    for number in 0..12 {
        audit.record(intent(&format!("request {number}"))).await.unwrap();
    }
    let read = |path: PathBuf| (path.file_name().unwrap().to_str().unwrap().to_owned(), std::fs::read(&path).unwrap());
    let files: Vec<_> = listed(&folder.0).into_iter().map(read).collect();
    assert!(files.len() >= 3, "{} files", files.len());
    Original { files, heads: Heads::load(&*store).await.unwrap() }
}

/// Writes the files to a temporary directory and verifies them.
fn check(files: &[(String, Vec<u8>)], with_heads: bool) -> Report {
    let folder = Folder::new();
    for (name, bytes) in files {
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    verify(std::slice::from_ref(&folder.0), with_heads.then_some(&original().heads)).unwrap()
}

fn name_of(fault: &Fault) -> String {
    fault.spot.file.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Asserts that there is exactly this fault.
fn expect(report: &Report, kinds: &[FaultKind], file: &str, line: usize) {
    let faults: Vec<&Fault> = report.faults().collect();
    assert_eq!(faults.len(), 1, "{report}");
    let fault = faults[0];
    assert!(kinds.contains(&fault.kind), "{:?}: {report}", fault.kind);
    assert_eq!((name_of(fault).as_str(), fault.spot.line), (file, line as u64), "{report}");
    assert!(!report.is_intact());
}

fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

/// Every line: its file and number, counted from 0.
fn line_positions() -> Vec<(usize, usize)> {
    let counted = original().files.iter().enumerate();
    counted.flat_map(|(file, (_, bytes))| (0..split(bytes).len()).map(move |line| (file, line))).collect()
}

/// The files with the lines of one of them changed.
fn changed(file: usize, change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<(String, Vec<u8>)> {
    let mut files = original().files.clone();
    let mut lines = split(&files[file].1);
    change(&mut lines);
    files[file].1 = lines.concat();
    files
}

#[test]
fn r_saf_5_untouched_files_are_intact() {
    for with_heads in [true, false] {
        let report = check(&original().files, with_heads);
        assert!(report.is_intact(), "{report}");
        assert_eq!(report.chains.len(), 1);
        assert_eq!(report.intact_entries() as usize, line_positions().len());
        assert_eq!(report.chains[0].has_head, with_heads);
        assert_eq!((report.chains[0].beyond_head, report.chains[0].unfinished.as_ref()), (0, None));
    }
}

#[test]
fn r_saf_5_a_removed_line_is_located() {
    let original = original();
    for (file, line) in line_positions() {
        let files = changed(file, |lines| drop(lines.remove(line)));
        let report = check(&files, true);
        let lines = split(&original.files[file].1).len();
        if line + 1 < lines {
            expect(&report, &[FaultKind::Removed], &original.files[file].0, line + 1);
        } else if file + 1 < original.files.len() {
            expect(&report, &[FaultKind::Removed], &original.files[file + 1].0, 1);
        } else {
            expect(&report, &[FaultKind::CutOff], &original.files[file].0, line + 1);
        }
    }
}

#[test]
fn r_saf_5_swapped_lines_are_found() {
    for (file, line) in line_positions() {
        let count = split(&original().files[file].1).len();
        for other in line + 1..count {
            let files = changed(file, |lines| lines.swap(line, other));
            expect(&check(&files, true), &[FaultKind::Reordered], &original().files[file].0, line + 1);
        }
    }
}

#[test]
fn r_saf_5_a_duplicated_line_is_detected() {
    let original = original();
    for (file, line) in line_positions() {
        let count = split(&original.files[file].1).len();
        for to in line + 1..=count {
            let files = changed(file, |lines| lines.insert(to, lines[line].clone()));
            expect(&check(&files, true), &[FaultKind::Duplicated], &original.files[file].0, to + 1);
        }
    }
}

#[test]
fn r_saf_5_every_cut_between_lines_is_found() {
    let original = original();
    for (file, line) in line_positions() {
        let report = check(&changed(file, |lines| lines.truncate(line)), true);
        if file + 1 < original.files.len() {
            expect(&report, &[FaultKind::Removed], &original.files[file + 1].0, 1);
        } else if line > 0 {
            expect(&report, &[FaultKind::CutOff], &original.files[file].0, line + 1);
        } else {
            let before = &original.files[file - 1];
            expect(&report, &[FaultKind::CutOff], &before.0, split(&before.1).len() + 1);
        }
    }
}

#[test]
fn r_saf_5_a_deleted_file_is_detected() {
    let original = original();
    for gone in 0..original.files.len() {
        let mut files = original.files.clone();
        files.remove(gone);
        let report = check(&files, true);
        assert_eq!(report.faults().count(), 1, "{report}");
        match original.files.get(gone + 1) {
            Some((next, _)) => expect(&report, &[FaultKind::Removed], next, 1),
            None => {
                let (before, bytes) = &original.files[gone - 1];
                expect(&report, &[FaultKind::CutOff], before, split(bytes).len() + 1);
            }
        }
    }
    let report = check(&[], true);
    expect(&report, &[FaultKind::Removed], original.heads.known[0].file.as_ref().unwrap(), 1);
}

#[test]
fn r_saf_5_a_rewritten_chain_does_not_match_its_head() {
    let (text, mut previous) = (String::from_utf8(original().files[0].1.clone()).unwrap(), "0".repeat(64));
    let mut forged = String::new();
    let count = line_positions().len();
    // As many lines as the chain has, with correct hashes.
    let line = text.lines().next().unwrap();
    for sequence in 1..=count {
        let body =
            line.split(",\"event\"").next().unwrap().replacen("\"sequence\":1", &format!("\"sequence\":{sequence}"), 1);
        let body = format!("{body},\"event\":\"NOTHING_HAPPENED\",\"previous\":\"{previous}\"");
        previous = sha256(&format!("{body}}}"));
        forged.push_str(&format!("{body},\"hash\":\"{previous}\"}}\n"));
    }
    let files = [(original().files[0].0.clone(), forged.into_bytes())];
    assert!(check(&files, false).is_intact());
    expect(&check(&files, true), &[FaultKind::Altered], &files[0].0, count);
}

#[test]
fn r_saf_5_a_rewritten_line_does_not_match_the_next() {
    for (file, line) in line_positions() {
        let anew = |lines: &mut Vec<Vec<u8>>| {
            let text = String::from_utf8(lines[line].clone()).unwrap();
            let body = text.rsplit_once(",\"hash\":").unwrap().0.replacen("Z\"", "+00:00\"", 1);
            lines[line] = format!("{body},\"hash\":\"{}\"}}\n", sha256(&format!("{body}}}"))).into_bytes();
        };
        let report = check(&changed(file, anew), true);
        let position = line_positions().iter().position(|place| *place == (file, line)).unwrap();
        let (next_file, next_line) = line_positions().get(position + 1).copied().unwrap_or((file, line));
        expect(&report, &[FaultKind::Altered], &original().files[next_file].0, next_line + 1);
    }
}

/// As documented: SHA-256 over the line without its hash.
pub(super) fn sha256(text: &str) -> String {
    use sha2::Digest as _;
    sha2::Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn r_saf_5_hashes_are_computed_as_documented() {
    let mut previous = "0".repeat(64);
    for (_, bytes) in &original().files {
        for line in String::from_utf8(bytes.clone()).unwrap().lines() {
            let (body, tail) = line.rsplit_once(",\"hash\":\"").unwrap();
            let parsed: serde_json::Value = serde_json::from_str(line).unwrap();
            assert_eq!(parsed["previous"], previous.as_str());
            previous = sha256(&format!("{body}}}"));
            assert_eq!(tail, format!("{previous}\"}}"));
        }
    }
}

#[test]
fn r_saf_5_chains_are_verified_independently() {
    let other = tokio::runtime::Runtime::new().unwrap().block_on(make());
    let mut heads = original().heads.clone();
    heads.known.extend(other.heads.known.clone());
    let folder = Folder::new();
    for (name, bytes) in original().files.iter().chain(&other.files) {
        std::fs::write(folder.0.join(name), bytes).unwrap();
    }
    let paths = [folder.0.clone()];
    assert!(verify(&paths, Some(&heads)).unwrap().is_intact());
    // One of them is altered.
    let (name, bytes) = &other.files[1];
    let text = String::from_utf8(bytes.clone()).unwrap().replacen("delete_user", "update_user", 1);
    std::fs::write(folder.0.join(name), text).unwrap();
    let report = verify(&paths, Some(&heads)).unwrap();
    assert_eq!((report.chains.len(), report.intact_chains()), (2, 1), "{report}");
    let fault = report.faults().next().unwrap();
    assert_eq!((name_of(fault), fault.kind), (name.clone(), FaultKind::Altered));
    let whole = report.chains.iter().find(|chain| chain.fault.is_none()).unwrap();
    assert_eq!(whole.chain, original().heads.known[0].chain);
    assert_eq!(whole.entries as usize, line_positions().len());

    // All lines in one file with another name, interleaved: the chains are still verified independently.
    let (mut mixed, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for (_, bytes) in &original().files {
        left.extend(split(bytes));
    }
    for (_, bytes) in &other.files {
        right.extend(split(bytes));
    }
    for (one, another) in left.iter().zip(&right) {
        mixed.extend([one.clone(), another.clone()]);
    }
    let one = Folder::new();
    let file = one.0.join("collected.log");
    std::fs::write(&file, mixed.concat()).unwrap();
    let report = verify(std::slice::from_ref(&file), Some(&heads)).unwrap();
    assert!(report.is_intact(), "{report}");
    assert_eq!(report.intact_chains(), 2);
    // The first line is invalid: it is attributed to the chain of the next line.
    mixed[0] = b"{}\n".to_vec();
    std::fs::write(&file, mixed.concat()).unwrap();
    let report = verify(&[file], Some(&heads)).unwrap();
    assert!(report.faults().any(|fault| fault.spot.line == 1 && fault.kind == FaultKind::Altered), "{report}");
}

#[test]
fn r_saf_5_a_forged_chain_cannot_excuse_missing_lines() {
    let original = original();
    let chain = &original.heads.known[0].chain;
    let body = format!(
        "{{\"sequence\":1,\"timestamp\":\"2026-01-01T00:00:00Z\",\"chain\":\"{}\",\"event\":\"FILES_DROPPED\",\"files\":[],\
         \"beginnings\":[{{\"chain\":\"{chain}\",\"sequence\":1000,\"gone\":true}}],\"previous\":\"{}\"",
        "f".repeat(32),
        "0".repeat(64)
    );
    let forged = format!("{body},\"hash\":\"{}\"}}\n", sha256(&format!("{body}}}")));
    let mut files = original.files.clone();
    files.remove(0);
    let next = files[0].0.clone();
    files.push((format!("audit-20260101T000000Z-{}-000000000001.jsonl", "f".repeat(32)), forged.into_bytes()));
    let report = check(&files, true);
    expect(&report, &[FaultKind::Removed], &next, 1);
    assert!(report.chains.iter().any(|chain| !chain.has_head && chain.fault.is_none()), "{report}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn r_saf_5_any_byte_changed_is_found(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut files = original().files.clone();
        let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        let mut at = at.index(total);
        let file = files.iter().position(|(_, bytes)| {
            let here = at < bytes.len();
            if !here { at -= bytes.len(); }
            here
        }).unwrap();
        let (name, bytes) = &mut files[file];
        prop_assume!(bytes[at] != to);
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        bytes[at] = to;
        let name = name.clone();
        expect(&check(&files, true), &[FaultKind::Altered, FaultKind::CutOff], &name, line);
    }

    #[test]
    fn r_saf_5_any_cut_inside_a_line_is_found(place in any::<prop::sample::Index>(), at in any::<prop::sample::Index>()) {
        let places = line_positions();
        let (file, line) = places[place.index(places.len())];
        let files = changed(file, |lines| {
            lines.truncate(line + 1);
            let keep = 1 + at.index(lines[line].len() - 1);
            lines[line].truncate(keep);
        });
        expect(&check(&files, true), &[FaultKind::CutOff], &original().files[file].0, line + 1);
    }

    #[test]
    fn r_saf_5_nothing_in_a_file_makes_verification_fail(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut files = original().files.clone();
        let clean = bytes.is_empty();
        files[1].1.extend(bytes);
        prop_assert_eq!(check(&files, true).is_intact(), clean);
    }
}

#[test]
fn overlong_lines_are_skipped_and_reported() {
    let files = changed(0, |lines| lines[1] = [vec![b'x'; 300_000], vec![b'\n']].concat());
    expect(&check(&files, true), &[FaultKind::Altered], &original().files[0].0, 2);
}

#[test]
fn stray_lines_and_unreadable_heads_are_reported() {
    let folder = Folder::new();
    let file = folder.0.join("something.log");
    std::fs::write(&file, "hello\n").unwrap();
    let heads = Heads { known: Vec::new(), unreadable: vec!["abc".to_owned()] };
    let report = verify(std::slice::from_ref(&file), Some(&heads)).unwrap();
    let kinds: Vec<FaultKind> = report.stray.iter().map(|fault| fault.kind).collect();
    assert_eq!(kinds, [FaultKind::Altered, FaultKind::Head], "{report}");
    assert_eq!(report.stray[0].spot.file, file);
    verify(&[folder.0.join("nowhere.log")], None).unwrap_err();
}

/// Runs the documented script, which needs nothing of ours.
#[cfg(target_os = "linux")]
#[test]
fn r_saf_5_a_shell_can_verify_the_chain() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md")).unwrap();
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(script.contains("audit-….jsonl"));
    let run = |text: &str| {
        let folder = Folder::new();
        std::fs::write(folder.0.join("file"), text).unwrap();
        let script = script.replace("audit-….jsonl", "file");
        let done = std::process::Command::new("sh").args(["-c", &script]).current_dir(&folder.0).output().unwrap();
        assert!(done.status.success() && done.stderr.is_empty(), "{done:?}");
        String::from_utf8(done.stdout).unwrap()
    };
    let text = String::from_utf8(original().files[0].1.clone()).unwrap();
    assert_eq!(run(&text), "");
    assert!(run(&text.replacen("request 1", "request 2", 1)).starts_with("broken: {\"sequence\":3,"));
    let without: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    assert!(run(&without).starts_with("broken: {\"sequence\":2,"));
}
