//! Asked, confirmed, done, on record; and across a restart.

use serde_json::{Value, json};

use super::{Fixture, delete, delete_with};
use crate::support::token;

#[test]
fn r_saf_3_asked_confirmed_done_once_and_on_record() {
    let fixture = Fixture::new("");
    let mut piped = fixture.piped();
    let asked = piped.call("mcp_aql_delete", delete(1));
    let token = token(&asked).unwrap().to_owned();
    assert!(token.starts_with("conf_"), "{asked}");
    assert_eq!(asked["error"]["details"]["danger_level"], "destructive");
    assert_eq!(fixture.books(), 50);
    // Another book is another call, and the token stays good for its own.
    let other = piped.call("mcp_aql_delete", delete_with(2, &token));
    assert_eq!(other["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{other}");
    assert_eq!(piped.call("mcp_aql_delete", delete_with(1, &token))["success"], true);
    assert_eq!(fixture.books(), 49);
    let again = piped.call("mcp_aql_delete", delete_with(1, &token));
    assert_eq!(again["error"]["code"], "TOKEN_ALREADY_USED", "{again}");
    let log = piped.last_words();
    let audit = fixture.audited();
    for event in
        ["CONFIRMATION_REQUIRED", "TOKEN_REJECTED", "CONFIRMATION_GRANTED", "OPERATION_INTENT", "OPERATION_OUTCOME"]
    {
        assert!(audit.contains(&format!("\"event\":\"{event}\"")), "{event}: {audit}");
    }
    assert_eq!(fixture.verified().0, 0);
    // Nobody who reads the log, the audit or the state has the token.
    assert!(
        log.contains("CONFIRMATION_REQUIRED") && log.contains("DELETE FROM"),
        "there was something to look through: {log}"
    );
    let leaked =
        std::process::Command::new("grep").args(["-rac", &token, &fixture.folder.path("state")]).output().unwrap();
    let found: usize = String::from_utf8_lossy(&leaked.stdout)
        .lines()
        .filter_map(|line| line.rsplit(':').next()?.parse::<usize>().ok())
        .sum();
    assert_eq!(found, 0, "{}", String::from_utf8_lossy(&leaked.stdout));
    assert!(!log.contains(&token) && !audit.contains(&token));
}

#[test]
fn r_saf_6_a_token_is_redeemed_once_across_a_restart() {
    let fixture = Fixture::new("");
    // The command line is one caller, however many processes it is.
    let call = |params: Value| -> Value {
        let output = fixture.run(&["call", "delete_book", &params.to_string()]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", crate::support::text(&output.stderr)))
    };
    let asked = call(json!({ "id": 7 }));
    let with = json!({ "id": 7, "confirmation_token": token(&asked).unwrap() });
    assert_eq!(call(with.clone())["success"], true);
    assert_eq!(call(with.clone())["error"]["code"], "TOKEN_ALREADY_USED");
    // A server is another caller.
    let mut piped = fixture.piped();
    let stranger = piped.call("mcp_aql_delete", json!({ "operation": "delete_book", "params": with }));
    assert_eq!(stranger["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{stranger}");
    assert_eq!(fixture.books(), 49);
    assert_eq!(fixture.verified().0, 0);
}

#[test]
fn r_saf_4_limits_hold_across_processes_and_are_reported() {
    let fixture = Fixture::new(
        "[[gate.rate_limit]]\nname = \"reads\"\nlimit = 3\nwindow = \"hour\"\ncategory = \"READ\"\nper = [\"source\"]\n",
    );
    for _ in 0..3 {
        assert_eq!(fixture.run(&["call", "list_books"]).status.code(), Some(0));
    }
    let stopped = crate::support::text(&fixture.run(&["call", "list_books"]).stdout);
    assert!(stopped.contains("RATE_LIMIT_EXCEEDED") && stopped.contains("\"limit_name\":\"reads\""), "{stopped}");
    let explained = crate::support::text(&fixture.run(&["call", "list_books", "--explain"]).stdout);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    assert_eq!((&explained["decision"], &explained["limits"][0]["status"]), (&json!("allow"), &json!("exhausted")));
}

#[test]
fn r_saf_5_tampering_shows_with_its_place() {
    let fixture = Fixture::new("");
    for id in 1..=3 {
        let asked = fixture.run(&["call", "delete_book", &format!("{{\"id\": {id}}}")]);
        assert_eq!(asked.status.code(), Some(1));
    }
    let (code, report) = fixture.verified();
    assert!(code == 0 && report.contains("6 entries and 3 of 3 chains are intact."), "{report}");
    let directory = fixture.folder.path("state/audit");
    let file = std::fs::read_dir(&directory).unwrap().next().unwrap().unwrap().path();
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, written.replace("delete_book", "delete_nook")).unwrap();
    let (code, report) = fixture.verified();
    assert!(code == 1 && report.contains(&format!("{}:2:", file.display())), "{report}");
    // Cut off at its end, only the head in the store knows.
    std::fs::write(&file, written.lines().next().unwrap().to_owned() + "\n").unwrap();
    assert_eq!(fixture.verified().0, 1);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(fixture.verified().0, 1, "a whole chain is gone");
    assert_eq!(fixture.run(&["audit", "verify", "/nowhere"]).status.code(), Some(2));
}
