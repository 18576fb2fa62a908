//! Reading the audit: newest first, page by page, from files and from a store.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::store::StateStore;
use aquifer_gate::audit::read::{EntryFilter, EntryPage, EntryQuery, read_files, read_store};
use aquifer_gate::audit::{AuditSettings, Entry, Event, OperationOutcome, Sink};
use jiff::Timestamp;
use serde_json::Value;

use super::support::{Folder, deletion, files, intent, lines, listed, memory, open};

/// The request of an entry. The first entry of a file has none.
fn name(entry: &Value) -> String {
    entry["request_id"].as_str().unwrap_or("start").to_owned()
}

fn names(page: &EntryPage) -> Vec<String> {
    page.entries.iter().map(|line| name(&serde_json::from_str(line).unwrap())).collect()
}

/// The names of the entries of all pages, and the number of pages.
fn walk(directory: &Path, filter: &EntryFilter, limit: usize) -> (Vec<String>, usize) {
    let (mut found, mut pages, mut before) = (Vec::new(), 0, None);
    loop {
        let query = EntryQuery { filter: filter.clone(), limit, before };
        let page = read_files(directory, &query).unwrap();
        assert!(page.entries.len() <= limit);
        found.extend(names(&page));
        pages += 1;
        // A cursor is sent to a client and back as text.
        before = match page.next {
            Some(next) => Some(next.to_string().parse().unwrap()),
            None => return (found, pages),
        };
    }
}

/// Several chains at the same time, each over several files.
async fn write_chains(directory: &Path, chains: usize, entries: usize) {
    let store = memory();
    let audits: Vec<_> = (0..chains).map(|_| open(files(directory, 2_000, 1_000), &store)).collect();
    for number in 0..entries {
        for (chain, audit) in audits.iter().enumerate() {
            audit.record(intent(&format!("{chain}/{number}"))).await.unwrap();
        }
    }
}

#[tokio::test]
async fn r_saf_5_pages_of_overlapping_chains_have_every_entry_once_newest_first() {
    let folder = Folder::new();
    write_chains(&folder.0, 3, 30).await;
    assert!(listed(&folder.0).len() > 9, "several files in each chain");
    let mut expected: Vec<(Timestamp, usize, String)> = lines(&folder.0)
        .iter()
        .enumerate()
        .map(|(index, line)| (line["timestamp"].as_str().unwrap().parse().unwrap(), index, name(line)))
        .collect();
    expected.sort();
    let expected: Vec<String> = expected.into_iter().rev().map(|(_, _, name)| name).collect();
    let count = expected.len();
    assert!(count > 90, "with the first entry of each file");
    for limit in [1, 7, count - 1, count, 1_000] {
        let (found, pages) = walk(&folder.0, &EntryFilter::default(), limit);
        assert_eq!(found, expected, "pages of {limit}");
        assert_eq!(pages, count.div_ceil(limit), "pages of {limit}");
    }
}

#[tokio::test]
async fn r_saf_5_entries_written_between_two_pages_change_nothing_about_the_second() {
    let folder = Folder::new();
    let audit = open(files(&folder.0, 2_000, 100), &memory());
    for number in 0..20 {
        audit.record(intent(&number.to_string())).await.unwrap();
    }
    let first = read_files(&folder.0, &EntryQuery::newest(5)).unwrap();
    for number in 20..40 {
        audit.record(intent(&number.to_string())).await.unwrap();
    }
    let second = read_files(&folder.0, &EntryQuery { before: first.next.clone(), ..EntryQuery::newest(100) }).unwrap();
    let mut found = [names(&first), names(&second)].concat();
    found.retain(|name| name != "start");
    let expected: Vec<String> = (0..20).rev().map(|number| number.to_string()).collect();
    assert_eq!(found, expected);
    assert_eq!(second.next, None);
}

#[tokio::test]
async fn r_saf_5_filters_select_entries() {
    let folder = Folder::new();
    let audit = open(files(&folder.0, 100_000, 10), &memory());
    let caller = |name: &str| Caller { principal: Some(name.into()), session: None };
    let entry = |event: Event, request: &str, name: &str| {
        Entry::for_operation(event, &deletion()).request(request).caller(&caller(name))
    };
    let written = [
        entry(Event::Intent, "a", "anna"),
        entry(Event::Outcome(OperationOutcome::Done), "a", "anna"),
        entry(Event::Denied, "b", "berta \"the\\quick\""),
        Entry::new(Event::Approved).operation("shop", "buy").request("c").reason("anna, k3vm7pqa"),
        entry(Event::Intent, "d", "anna").approval(Some("k3vm7pqa")),
    ];
    for entry in written {
        audit.record(entry).await.unwrap();
    }
    let find = |filter: EntryFilter| walk(&folder.0, &filter, 2).0.concat().replace("start", "");
    let text = |text: &str| Some(text.to_owned());
    let none = EntryFilter::default;
    assert_eq!(find(none()), "dcbaa");
    assert_eq!(find(EntryFilter { caller: text("anna"), ..none() }), "daa", "not where she is only mentioned");
    assert_eq!(find(EntryFilter { caller: text("berta \"the\\quick\""), ..none() }), "b");
    assert_eq!(find(EntryFilter { source: text("shop"), ..none() }), "c");
    assert_eq!(find(EntryFilter { operation: text("delete_user"), ..none() }), "dbaa");
    assert_eq!(find(EntryFilter { event: text("OPERATION_INTENT"), ..none() }), "da");
    assert_eq!(find(EntryFilter { result: text("denied"), ..none() }), "b");
    assert_eq!(find(EntryFilter { approval_id: text("k3vm7pqa"), ..none() }), "d", "not where it is only mentioned");
    assert_eq!(find(EntryFilter { request_id: text("a"), caller: text("anna"), ..none() }), "aa");
    assert_eq!(find(EntryFilter { request_id: text("a"), result: text("denied"), ..none() }), "");
    // Times include their ends.
    let times: Vec<Timestamp> = lines(&folder.0)
        .iter()
        .filter(|line| name(line) != "start")
        .map(|line| line["timestamp"].as_str().unwrap().parse().unwrap())
        .collect();
    assert_eq!(find(EntryFilter { from: Some(times[3]), ..none() }), "dc");
    assert_eq!(find(EntryFilter { to: Some(times[1]), ..none() }), "aa");
    assert_eq!(find(EntryFilter { from: Some(times[2]), to: Some(times[2]), ..none() }), "b");
    assert_eq!(find(EntryFilter { from: Some(Timestamp::MAX), ..none() }), "");
}

#[tokio::test]
async fn r_saf_5_lines_that_are_no_entries_are_skipped() {
    let folder = Folder::new();
    open(files(&folder.0, 100_000, 10), &memory()).record(intent("x")).await.unwrap();
    let damaged: [&[u8]; 6] = [
        b"",
        b"\n\n\n",
        b"not JSON\n{\"timestamp\":\"2024-01-01T00:00:00Z\"\n\xff\xfe\n",
        b"{\"request_id\":\"no time\"}\n{\"timestamp\":5,\"request_id\":\"no time\"}\n[]\n",
        &vec![b'{'; 1_000_000],
        b"{\"timestamp\":\"2024-01-01T00:00:00Z\",\"request_id\":\"old\"}\n{\"timestamp\":\"2024-01-02T0",
    ];
    for (number, content) in damaged.iter().enumerate() {
        std::fs::write(folder.0.join(format!("{number}.jsonl")), content).unwrap();
    }
    std::fs::write(folder.0.join("other.txt"), b"{\"timestamp\":\"2024-01-01T00:00:00Z\"}\n").unwrap();
    std::fs::create_dir(folder.0.join("directory.jsonl")).unwrap();
    assert_eq!(walk(&folder.0, &EntryFilter::default(), 10), (["x", "start", "old"].map(str::to_owned).to_vec(), 1));
}

/// If the clock is set back, pages still have every entry once.
#[test]
fn r_saf_5_entries_of_a_clock_that_was_set_back_are_on_one_page_each() {
    let folder = Folder::new();
    for (file, minutes) in [("one", [10, 40, 20, 30]), ("two", [15, 5, 35, 25])] {
        let line = |minute: &i32| {
            format!("{{\"timestamp\":\"2024-01-01T00:{minute:02}:00Z\",\"request_id\":\"{file} {minute}\"}}\n")
        };
        let content: String = minutes.iter().map(line).collect();
        std::fs::write(folder.0.join(format!("{file}.jsonl")), content).unwrap();
    }
    for limit in [1, 2, 3, 8] {
        let (found, _) = walk(&folder.0, &EntryFilter::default(), limit);
        let expected = ["one 30", "two 25", "two 35", "one 20", "one 40", "one 10", "two 5", "two 15"];
        assert_eq!(found, expected, "pages of {limit}");
    }
}

#[tokio::test]
async fn r_saf_5_a_directory_that_cannot_be_read_is_an_error() {
    let folder = Folder::new();
    assert!(read_files(&folder.0.join("nowhere"), &EntryQuery::newest(1)).is_err());
}

#[tokio::test]
async fn r_saf_5_a_store_is_read_like_files() {
    let store = memory();
    let sinks = vec![Sink::Store { keep: Duration::from_secs(3_600) }];
    let settings = AuditSettings { sinks, ..AuditSettings::default() };
    let audits = [open(settings.clone(), &store), open(settings, &store)];
    for number in 0..10 {
        for (chain, audit) in audits.iter().enumerate() {
            audit.record(intent(&format!("{chain}/{number}"))).await.unwrap();
        }
    }
    let expected: Vec<String> =
        (0..10).rev().flat_map(|number| [format!("1/{number}"), format!("0/{number}")]).collect();
    for limit in [1, 3, 22, 100] {
        let mut found = walk_store(&store, EntryFilter::default(), limit).await;
        found.retain(|name| name != "start");
        assert_eq!(found, expected, "pages of {limit}");
    }
    let wanted = EntryFilter { request_id: Some("0/3".to_owned()), ..EntryFilter::default() };
    assert_eq!(walk_store(&store, wanted, 5).await, ["0/3"]);
    let empty = read_store(&*memory(), &EntryQuery::newest(5)).await.unwrap();
    assert!(empty.entries.is_empty() && empty.next.is_none());
}

async fn walk_store(store: &Arc<dyn StateStore>, filter: EntryFilter, limit: usize) -> Vec<String> {
    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = read_store(&**store, &EntryQuery { filter: filter.clone(), limit, before }).await.unwrap();
        found.extend(names(&page));
        before = match page.next {
            Some(next) => Some(next),
            None => return found,
        };
    }
}
