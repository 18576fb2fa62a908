//! Requirement ids resolve in both directions: every id that is cited is listed in `docs/requirements.md`, and every id that
//! is listed there is in the name of a test.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::documents::{read, root};

const REGISTRY: &str = "docs/requirements.md";
/// Skipped, because the examples below are not citations.
const THIS_FILE: &str = "crates/aquifer/tests/binary/requirements.rs";
const FOLDERS: &[&str] = &["bench", "crates", "docs", "examples", "fuzz", "tests", "xtask"];
const EXTENSIONS: &[&str] = &["md", "rs", "toml"];
/// Build output and installed packages.
const SKIPPED: &[&str] = &["target", "node_modules", "__pycache__"];

/// A file that may cite requirements.
struct File {
    path: String,
    text: String,
}

/// The pages at the root of the repository, and everything in its folders.
fn files() -> Vec<File> {
    let root = root();
    let list =
        |folder: &Path| std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut pending: Vec<PathBuf> = list(&root).into_iter().filter(|path| path.is_file()).collect();
    pending.extend(FOLDERS.iter().map(|folder| root.join(folder)));
    let mut files = Vec::new();
    while let Some(path) = pending.pop() {
        let name = path.file_name().unwrap().to_str().unwrap();
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        let is_skipped = name.starts_with('.') || SKIPPED.contains(&name);
        if path.is_dir() && !is_skipped {
            pending.extend(list(&path));
        } else if EXTENSIONS.contains(&extension) {
            let text = std::fs::read_to_string(&path).unwrap();
            files.push(File { path: path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned(), text });
        }
    }
    files.retain(|file| file.path != REGISTRY && file.path != THIS_FILE);
    files
}

/// `R-REQ-4a` from `["R", "REQ", "4a"]` or `["r", "req", "4a"]`.
fn id_from_parts(parts: &[&str]) -> Option<String> {
    let [mark, group, number] = parts else { return None };
    let is_group = match *mark {
        "R" => group.bytes().all(|byte| byte.is_ascii_uppercase()),
        "r" => group.bytes().all(|byte| byte.is_ascii_lowercase()),
        _ => false,
    };
    let digits = number.strip_suffix(|last: char| last.is_ascii_lowercase()).unwrap_or(number);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_group && !group.is_empty() && is_number).then(|| format!("R-{}-{number}", group.to_uppercase()))
}

/// The ids in a text: `R-REQ-4a` anywhere, and `r_req_4a` in names that begin with an id.
fn cited_ids(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_');
    let ids = words.filter(|word| word.starts_with("R-") || word.starts_with("r_")).flat_map(|word| {
        let separator = if word.starts_with("r_") { '_' } else { '-' };
        let parts: Vec<&str> = word.split(separator).collect();
        parts.windows(3).filter_map(id_from_parts).collect::<Vec<_>>()
    });
    ids.collect()
}

/// The names of test functions, and of `on_both!`, which declares one for each database.
fn test_names(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in code.lines().map(str::trim_start).filter(|line| !line.starts_with("//")) {
        if line.starts_with("#[") {
            is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
            continue;
        }
        let function = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ").filter(|_| is_test);
        let declared = function.or_else(|| line.strip_prefix("on_both!("));
        names.extend(declared.and_then(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()));
        is_test = false;
    }
    names
}

/// The cells of each row of the page: id, requirement, source.
fn rows(page: &str) -> Vec<Vec<&str>> {
    let lines = page.lines().filter(|line| line.starts_with("| R-"));
    lines.map(|line| line.trim_matches(['|', ' ']).split(" | ").collect()).collect()
}

/// Everything in which the page and the files disagree.
fn disagreements(page: &str, files: &[File]) -> Vec<String> {
    let mut cited: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    let mut tested = BTreeSet::new();
    for file in files {
        for id in cited_ids(&file.text) {
            cited.entry(id).or_default().insert(&file.path);
        }
        if file.path.ends_with(".rs") {
            tested.extend(test_names(&file.text).into_iter().flat_map(cited_ids));
        }
    }
    let (required, planned) = page.split_once("\n## Planned\n").unwrap_or((page, ""));
    let listed: BTreeSet<&str> = rows(page).iter().map(|row| row[0]).collect();
    let mut found = Vec::new();
    for (id, files) in cited.iter().filter(|(id, _)| !listed.contains(id.as_str())) {
        found.push(format!("{id} is not listed, but cited in {files:?}"));
    }
    for id in rows(required).iter().map(|row| row[0]).filter(|id| !tested.contains(*id)) {
        found.push(format!("{id} is listed, but in no test name"));
    }
    for (id, files) in rows(planned).iter().filter_map(|row| cited.get_key_value(row[0])) {
        found.push(format!("{id} is listed as planned, but cited in {files:?}"));
    }
    found
}

#[test]
fn cited_ids_are_listed_and_listed_ids_are_tested() {
    let found = disagreements(&read(REGISTRY), &files());
    assert!(found.is_empty(), "{REGISTRY} and the repository disagree:\n{}", found.join("\n"));
}

#[test]
fn every_row_has_an_id_of_its_own_a_sentence_and_a_source() {
    let page = read(REGISTRY);
    let mut seen = BTreeSet::new();
    for row in rows(&page) {
        let [id, sentence, source] = row[..] else { panic!("three cells: {row:?}") };
        assert!(seen.insert(id), "{id} is listed twice");
        assert_eq!(cited_ids(id), BTreeSet::from([id.to_owned()]));
        assert!(sentence.ends_with('.') && !source.is_empty(), "{row:?}");
        let section = page.split("\n## ").find(|section| section.contains(&format!("\n| {id} |"))).unwrap();
        let group = &id[..id.rfind('-').unwrap()];
        assert!(section.starts_with(group) || section.starts_with("Planned"), "{id} is in another group");
    }
    assert!(seen.len() > 60, "{} rows", seen.len());
}

#[test]
fn ids_are_found_in_text_and_in_names() {
    for (text, ids) in [
        ("//! The limits (R-REQ-7, R-REQ-4a): what holds.", &["R-REQ-4a", "R-REQ-7"][..]),
        ("R-END-2 to R-END-5", &["R-END-2", "R-END-5"]),
        ("fn r_req_7_and_r_req_8_hold_on_pipes() {", &["R-REQ-7", "R-REQ-8"]),
        ("r_dis_7_a_server, r_saf_5", &["R-DIS-7", "R-SAF-5"]),
        ("r_dis_7a_a_server", &["R-DIS-7a"]),
        ("\"audit::faults::r_saf_5_full\"", &["R-SAF-5"]),
        ("YOUR-PROJECT-7 R-END- R--6 R-End-6 r_end for_r_end_6 R-END-6xy r_END_6 8601", &[]),
    ] {
        assert_eq!(cited_ids(text).iter().collect::<Vec<_>>(), ids, "{text}");
    }
}

#[test]
fn only_declared_tests_count() {
    for (code, names) in [
        ("#[test]\nfn r_req_1_x() {", &["r_req_1_x"][..]),
        ("    #[tokio::test(flavor = \"multi_thread\")]\n    /// Why.\n    async fn r_req_1_x() {", &["r_req_1_x"]),
        ("#[test]\n#[ignore]\nfn one() {}\n#[test]\nfn two() {}", &["one", "two"]),
        ("on_both!(r_req_1_x, check, A, B);", &["r_req_1_x"]),
        ("#[test]\nfn one() {}\nfn r_req_1_x() {}", &["one"]),
        ("fn r_req_1_x() {}\n#[cfg(test)]\nfn r_req_2_x() {}", &[]),
        ("// #[test]\n// fn r_req_1_x() {\n// on_both!(r_req_2_x, check, A, B);", &[]),
        ("const TEST: &str = \"r_req_1_x\";", &[]),
    ] {
        assert_eq!(test_names(code), names, "{code}");
    }
}

#[test]
fn every_kind_of_disagreement_is_found() {
    const PAGE: &str = "| R-REQ-1 | One. | ours |\n\n## Planned\n\n| R-EXT-1 | Later. | ours |\n";
    const TESTED: &str = "#[test]\nfn r_req_1_x() {}\n";
    for (text, found) in [
        (TESTED.to_owned(), vec![]),
        ("// R-REQ-1\n".to_owned(), vec!["R-REQ-1 is listed, but in no test name"]),
        (format!("{TESTED}// R-REQ-2"), vec!["R-REQ-2 is not listed, but cited in {\"a.rs\"}"]),
        (format!("{TESTED}#[test]\nfn r_req_2_x() {{}}"), vec!["R-REQ-2 is not listed, but cited in {\"a.rs\"}"]),
        (format!("{TESTED}// R-EXT-1"), vec!["R-EXT-1 is listed as planned, but cited in {\"a.rs\"}"]),
    ] {
        let file = File { path: "a.rs".to_owned(), text };
        assert_eq!(disagreements(PAGE, &[file]), found);
    }
}
