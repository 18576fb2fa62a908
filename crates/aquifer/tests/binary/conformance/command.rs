//! The command itself: exit codes, formats, and who gets stdout.

use serde_json::Value;

use super::{conformance, rendered};
use crate::support::{Folder, HttpServer, aquifer, text, with_people};

#[test]
fn r_con_1_bad_usage_and_servers_that_are_not_there_are_three() {
    let folder = Folder::new();
    folder.file("notes.txt", "hello");
    folder.file("evidence.json", r#"{"introspection": {}}"#);
    for (arguments, words) in [
        (&[][..], "name a server: its URL, or the command that starts it after --"),
        (&["--level", "3", "--", "x"], "3 is not in 1..=2"),
        (&["--format", "xml", "--", "x"], "use text, json, markdown or junit"),
        (&["--timeout", "0", "--", "x"], "use a number of seconds"),
        (&["--bogus"], "unexpected argument '--bogus'"),
        (&["http://127.0.0.1:1/mcp", "--", "x"], "cannot be used with"),
        (&["--single-url", "http://127.0.0.1:1/mcp", "--", "x"], "cannot be used with"),
        (&["http://127.0.0.1:1/mcp", "--header", "hunter2"], "write it as NAME=VALUE"),
        (&["http://127.0.0.1:1/mcp", "--header", "A=${AQUIFER_NOT_SET}"], "AQUIFER_NOT_SET"),
        (&["http://127.0.0.1:1/mcp"], "cannot check http://127.0.0.1:1/mcp: "),
        (&["--", "/nowhere/adapter", "--stdio"], "cannot check /nowhere/adapter --stdio: "),
        (&["--", "true"], "cannot check true: "),
        (&["report"], "<FILE>"),
        (&["report", "nowhere.json"], "cannot read nowhere.json"),
        (&["report", "notes.txt"], "notes.txt is not JSON: "),
        (&["report", "evidence.json"], "evidence.json is an evidence bundle, not a report. "),
    ] {
        let output = conformance(&folder, arguments);
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {}", text(&output.stderr));
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        let printed = text(&output.stderr);
        assert!(printed.contains(words), "{arguments:?}: {printed}");
        assert!(!printed.contains("panicked"), "{printed}");
    }
}

#[test]
fn r_con_1_without_writes_no_level_is_granted() {
    let folder = Folder::new();
    let arguments = ["--evidence", "evidence.json", "--", "aquifer", "serve", "tasks:"];
    let output = conformance(&folder, &arguments);
    let (report, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{report}{stderr}");
    assert!(report.contains("No level is granted: level 1 is withheld, and level 2 needs it."), "{report}");
    assert!(
        report.contains("\n  - Round-Trip Integrity: Create-read cycles preserve submitted fields (SKIP): "),
        "{report}"
    );
    assert!(stderr.contains("Use --allow-writes"), "{stderr}");
    assert!(!report.contains("img.shields.io"), "no level, no badge");
    assert!(stderr.contains("evidence.json was not written: nothing was recorded for round_trip_tests, "), "{stderr}");
    assert!(!std::path::Path::new(&folder.path("evidence.json")).exists());
}

#[test]
fn r_con_1_a_run_shows_progress_and_writes_the_requested_files() {
    let folder = Folder::new();
    let arguments = [
        "--level",
        "2",
        "--allow-writes",
        "--format",
        "json",
        "-o",
        "result.json",
        "--evidence",
        "evidence.json",
        "--",
        "aquifer",
        "serve",
        "tasks:",
    ];
    let output = conformance(&folder, &arguments);
    let printed = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{printed}");
    assert_eq!(text(&output.stdout), "", "results went to the file");
    assert!(
        printed.contains("connected: semantic over stdio\n") && printed.ends_with("wrote evidence.json\n"),
        "{printed}"
    );
    assert!(!printed.contains('\u{1b}'), "nothing moves where nobody looks: {printed}");

    let result = folder.path("result.json");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&result).unwrap()).unwrap();
    assert_eq!(report["command"], "aquifer conformance --level 2 --allow-writes -- aquifer serve tasks:");
    assert_eq!(report["conformanceLevel"], 2);

    let page = rendered(&folder, &result, "text");
    assert!(
        page.contains("Level 2 is granted.\n\nMCP-AQL Level 2 Conformant (specification 1.0.0-draft)\n![MCP-AQL"),
        "{page}"
    );
    let page = rendered(&folder, &result, "markdown");
    assert!(page.contains("\naquifer conformance --level 2 --allow-writes -- aquifer serve tasks:\n"), "{page}");
    assert_eq!(page.matches("<details>").count(), 1, "nothing failed: {page}");
    let page = rendered(&folder, &result, "junit");
    assert!(page.contains("<testsuite name=\"Round-Trip Integrity\"") && page.contains("failures=\"0\""), "{page}");
    assert_eq!(serde_json::from_str::<Value>(&rendered(&folder, &result, "json")).unwrap(), report);

    let evidence: Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path("evidence.json")).unwrap()).unwrap();
    assert_eq!(evidence["endpoint_modes"], serde_json::json!(["crude", "single"]));
    assert_eq!(evidence["capabilities"], serde_json::json!({"field_selection": true, "batch_operations": true}));
    for (name, at_least) in [("error_tests", 10), ("round_trip_tests", 1), ("constraint_tests", 1)] {
        let cases = evidence[name].as_array().unwrap().len();
        assert!(cases >= at_least, "{name}: {cases}");
    }
}

#[test]
fn secrets_of_a_run_stay_out_of_its_report() {
    let folder = Folder::new();
    let served = HttpServer::spawn(with_people(aquifer()).args(["serve", "tasks:", "--http", "127.0.0.1:0"]));
    let url = format!("http://{}/mcp", served.authority);
    let arguments = [&url, "--level", "1", "--format", "markdown", "--header", "X-Secret=hunter2"];
    let output = conformance(&folder, &arguments);
    let page = text(&output.stdout);
    assert!(page.contains("--header X-Secret=…"), "{page}");
    assert!(!page.contains("hunter2") && !text(&output.stderr).contains("hunter2"));
}
