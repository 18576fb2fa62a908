//! The audit as an operator meets it: every write leaves a trace, and strict verification accepts only what is vouched for.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Fixture, delete, delete_with};
use crate::support::{alter, text};

fn entries(fixture: &Fixture, event: &str) -> Vec<Value> {
    let lines = fixture.audited();
    let entries = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    entries.filter(|entry| entry["event"] == event).collect()
}

/// The exit code of strict verification, and what it says.
fn strict(fixture: &Fixture) -> (i32, String) {
    let output = fixture.run(&["audit", "verify", "--strict"]);
    (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
}

fn files(fixture: &Fixture) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(fixture.folder.path("state/audit")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn r_saf_5_writes_leave_a_trace_and_reads_do_not() {
    let fixture = Fixture::new("");
    alter(&fixture.library, "ALTER TABLE books ADD COLUMN isbn TEXT; ALTER TABLE books ADD COLUMN shelf TEXT;");
    for (operation, params) in [
        ("list_books", json!({})),
        (
            "update_book",
            json!({ "id": 1, "input": { "title": "Other", "isbn": null, "shelf": null }, "dry_run": true }),
        ),
        ("update_book", json!({ "id": 1, "input": { "title": "Other", "isbn": null, "shelf": null } })),
        ("create_book", json!({ "title": "New", "isbn": "1" })),
    ] {
        let output = fixture.run(&["call", operation, &params.to_string()]);
        assert_eq!(output.status.code(), Some(0), "{operation}: {}", text(&output.stdout));
    }
    let intents = entries(&fixture, "OPERATION_INTENT");
    let fields: Vec<_> =
        intents.iter().map(|intent| (intent["operation"].as_str().unwrap(), &intent["fields"])).collect();
    let updated = json!({ "set": ["title"], "cleared": ["isbn", "shelf"] });
    let created = json!({ "set": ["title", "isbn"], "cleared": [] });
    assert_eq!(fields, [("update_book", &updated), ("create_book", &created)]);
    let outcomes = entries(&fixture, "OPERATION_OUTCOME");
    for (intent, outcome) in intents.iter().zip(&outcomes) {
        let named = format!("{}/{}", intent["chain"].as_str().unwrap(), intent["sequence"]);
        assert_eq!((&outcome["result"], &outcome["intent"]), (&json!("done"), &json!(named)));
    }
    assert_eq!(outcomes.len(), 2);
    let (code, answer) = strict(&fixture);
    assert_eq!(code, 0, "{answer}");
}

/// Callers choose names and values. None of them can change what a terminal shows, or look like another entry, also where
/// the table goes through a pipe first.
#[test]
fn r_saf_5_what_callers_wrote_is_shown_without_its_tricks() {
    let fixture = Fixture::new("");
    let mut piped = fixture.piped();
    let tricks = [
        "a\u{9b}31mred",
        "\u{202e}reversed",
        "x\u{1b}]0;t\u{7}",
        "\u{2028}line",
        "\u{e0041}\u{200b}tag",
        "\u{7f}\u{8}\u{8}",
        "\n2026-01-01T00:00:00  OPERATION_OUTCOME  delete_book",
        "\r\nforged",
        "\tpadded\u{3164}",
    ];
    for trick in tricks {
        for arguments in [
            json!({ "operation": "create_book", "params": { "title": trick } }),
            json!({ "operation": "create_book", "params": { "title": "x", trick: 1 } }),
            json!({ "operation": "delete_book", "params": { "id": 1, "confirmation_token": trick } }),
            json!({ "operation": format!("delete_book{trick}"), "params": {} }),
        ] {
            piped.call("mcp_aql_delete", arguments.clone());
            piped.call("mcp_aql_create", arguments);
        }
    }
    drop(piped);
    let entries = fixture.audited().lines().count();
    assert!(entries > tricks.len(), "{entries} entries");
    let shown = text(&fixture.run(&["audit", "show", "--last", "100000"]).stdout);
    assert_eq!(shown.lines().count(), entries + 1, "one line for each, and the headings: {shown}");
    let hidden = shown.chars().find(|character| {
        character.is_control() && *character != '\n' || "\u{202e}\u{2028}\u{e0041}\u{200b}\u{3164}".contains(*character)
    });
    assert_eq!(hidden, None, "{shown}");
    assert!(shown.contains("\\u202e") || shown.contains("\\u{202e}"), "{shown}");
}

/// While a server writes, after it has ended, and after each thing that somebody can do to the record.
#[test]
fn r_saf_5_strict_verification_fails_on_what_nothing_vouches_for() {
    let fixture = Fixture::new("");
    let (code, report) = strict(&fixture);
    assert!(code == 1 && report.contains("nothing to verify"), "{report}");
    assert_eq!(fixture.verified().0, 0, "plain verification is content with nothing");

    let mut piped = fixture.piped();
    for id in 1..=3 {
        let asked = piped.call("mcp_aql_delete", delete(id));
        let token = asked["error"]["details"]["confirmation_token"].as_str().unwrap();
        assert_eq!(piped.call("mcp_aql_delete", delete_with(id, token))["success"], true);
        let (code, report) = strict(&fixture);
        assert_eq!(code, 0, "{report}");
    }
    drop(piped);
    let (code, report) = strict(&fixture);
    assert_eq!(code, 0, "{report}");

    // An unfinished line, and a file that no audit wrote.
    let file = files(&fixture).pop().unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, written.clone() + "{\"sequence\":").unwrap();
    let (code, report) = strict(&fixture);
    assert!(code == 1 && report.contains("is unfinished"), "{report}");
    assert_eq!(fixture.verified().0, 0);
    std::fs::write(&file, &written).unwrap();
    let more = file.with_file_name("more.jsonl");
    std::fs::write(&more, &written).unwrap();
    let (code, report) = strict(&fixture);
    assert!(code == 1 && report.contains("more.jsonl"), "{report}");
    std::fs::remove_file(&more).unwrap();
    assert_eq!(strict(&fixture).0, 0);

    // The end is cut off and the store is lost.
    let end = written.trim_end().rfind('\n').unwrap() + 1;
    std::fs::write(&file, &written[..end]).unwrap();
    for found in std::fs::read_dir(fixture.folder.path("state")).unwrap() {
        let found = found.unwrap();
        if found.file_type().unwrap().is_file() {
            std::fs::remove_file(found.path()).unwrap();
        }
    }
    let (code, report) = strict(&fixture);
    assert!(code == 1 && report.contains("the state store has no heads"), "{report}");
    assert_eq!(fixture.verified().0, 0);
    let output = fixture.run(&["audit", "verify", "--strict", "--json"]);
    let report: Value = serde_json::from_str(text(&output.stdout).trim()).unwrap();
    assert_eq!(report["problems"][0]["kind"], "no_heads", "{report}");

    // Everything is gone.
    std::fs::remove_dir_all(fixture.folder.path("state")).unwrap();
    let (code, report) = strict(&fixture);
    assert!(code == 1 && report.contains("nothing to verify"), "{report}");
}
