//! Whoever approves at a terminal is shown the whole call, page by page, and cannot approve what was not shown.

use serde_json::{Value, json};

use super::{Fixture, delete};
use crate::support::{StdioServer, token};

const RULES: &str = "[gate.strength]\ndestructive = \"approval\"\n[[gate.rule]]\neffect = \"confirm\"\n\
                     operation = \"create_book\"\nstrength = \"approval\"\n";

/// A title of so many lines that tries to look like what stands around it.
fn title(lines: usize) -> String {
    let mut title = "└ 1 parameter\nAllow this call once? [y/N] y\n\u{1b}[2J\u{202e}".to_owned();
    (0..lines).for_each(|line| title.push_str(&format!("line {line}\n")));
    title + "the end"
}

struct Waiting {
    id: String,
    token: String,
    sent: Value,
}

fn create(piped: &mut StdioServer, title: &str) -> Waiting {
    let sent = json!({ "operation": "create_book", "params": { "title": title } });
    let asked = piped.call("mcp_aql_create", sent.clone());
    let id = asked["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    Waiting { id, token: token(&asked).unwrap().to_owned(), sent }
}

impl Waiting {
    fn repeat(&self, piped: &mut StdioServer) -> Value {
        let mut sent = self.sent.clone();
        sent["params"]["confirmation_token"] = self.token.as_str().into();
        piped.call("mcp_aql_create", sent)
    }
}

#[test]
fn r_saf_3_every_page_is_shown_before_a_call_is_approved() {
    let fixture = Fixture::new(RULES);
    let secret = fixture.secret();
    let mut piped = fixture.piped();
    let title = title(60);
    let waiting = create(&mut piped, &title);
    let approve = ["approvals", "approve", &waiting.id];
    // Terminals of unknown size have 24 rows.
    let leave: &[(&str, &str)] = &[("Admin secret:", &secret), ("page 1 of 4", "q")];
    let later: &[(&str, &str)] = &[("Admin secret:", &secret), ("page 1 of 4", " "), ("page 2 of 4", "Q")];
    let interrupt: &[(&str, &str)] = &[("Admin secret:", &secret), ("page 1 of 4", "\u{3}")];
    // What is typed before it is asked for answers nothing: neither pages nor the question are skipped.
    let ahead = format!("{secret}\r \r \r \ry\ry");
    let ahead: &[(&str, &str)] = &[("Admin secret:", &ahead), ("page 1 of 4", "q")];
    let other_keys: &[(&str, &str)] = &[("Admin secret:", &secret), ("page 1 of 4", "yesq")];
    for talk in [leave, later, interrupt, ahead, other_keys] {
        let (code, shown) = fixture.person(talk, &approve);
        assert!(code == 1 && shown.contains("Nothing was done"), "{talk:?}: {shown}");
        assert!(!shown.contains("the end") && !shown.contains("pass, once? [y/N] \r"), "{talk:?}: {shown}");
        assert_eq!(waiting.repeat(&mut piped)["error"]["details"]["approval_status"], "pending", "{talk:?}");
    }
    let (secret, blank) = (("Admin secret:", secret.as_str()), "");
    let talk = [secret, ("page 1 of 4", blank), ("page 2 of 4", blank), ("page 3 of 4", blank), ("once? [y/N] ", "y")];
    let (code, shown) = fixture.person(&talk, &approve);
    assert!(code == 0 && shown.contains("Approved"), "{shown}");
    let lines: Vec<&str> = shown.split("\r\n").collect();
    for line in 1..60 {
        assert!(lines.iter().any(|shown| *shown == format!("╎ line {line}\\n")), "{line}: {shown}");
    }
    assert!(lines.contains(&"├ title = \"\\u{2514} 1 parameter\\n"), "{shown}");
    assert!(lines.contains(&"╎ \\u{1b}[2J\\u{202e}line 0\\n"), "{shown}");
    assert!(lines.contains(&"╎ the end\"") && lines.contains(&"├ dry_run = false (default)"), "{shown}");
    assert!(!shown.contains('\u{202e}') && !shown.contains("\u{1b}["), "{shown}");
    assert_eq!(shown.matches("\r\n└ ").count(), 1, "{shown}");
    assert_eq!(waiting.repeat(&mut piped)["success"], true);
    let direct = rusqlite::Connection::open(&fixture.library).unwrap();
    let stored: String = direct.query_row("SELECT title FROM books WHERE id = 51", [], |row| row.get(0)).unwrap();
    assert_eq!(stored, title);
}

/// A call that fits on one page is asked about at once, and only then.
#[test]
fn r_saf_3_a_yes_typed_before_the_question_is_none() {
    let fixture = Fixture::new(RULES);
    let secret = fixture.secret();
    let mut piped = fixture.piped();
    let asked = piped.call("mcp_aql_delete", delete(1));
    let id = asked["error"]["details"]["approval_id"].as_str().unwrap();
    let ahead = format!("{secret}\ry\ryes");
    let (code, shown) = fixture.person(&[("Admin secret:", &ahead), ("[y/N]", "n")], &["approvals", "approve", id]);
    assert!(code == 1 && shown.contains("id = 1") && shown.contains("Nothing was done"), "{shown}");
    assert_eq!(fixture.books(), 50);
}

#[test]
fn r_saf_3_the_whole_call_is_printed_also_into_a_file_and_as_json() {
    let fixture = Fixture::new(RULES);
    let secret = fixture.secret();
    let mut piped = fixture.piped();
    let title = title(3_000);
    let waiting = create(&mut piped, &title);
    let talk = [("Admin secret:", secret.as_str())];
    let (code, shown, printed) = fixture.person_into_file(&talk, &["approvals", "show", &waiting.id]);
    assert!(code == 0 && !printed.contains("Admin secret"), "{shown}{printed}");
    assert!((0..3_000).all(|line| printed.contains(&format!("line {line}\\n\n"))), "{printed}");
    assert!(printed.contains("╎ the end\"\n") && printed.contains("├ dry_run = false (default)\n"), "{printed}");
    let (code, shown) = fixture.person(&talk, &["approvals", "show", &waiting.id]);
    assert!(code == 0 && shown.contains("╎ line 2999\\n\r\n") && !shown.contains("page 1"), "{shown}");

    let (code, shown, printed) = fixture.person_into_file(&talk, &["approvals", "show", &waiting.id, "--json"]);
    assert!(code == 0 && printed.is_ascii(), "{shown}");
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(printed["call"]["params"]["title"], title);
    assert_eq!((&printed["call"]["defaults"], &printed["call"]["hidden"]), (&json!(["/dry_run"]), &json!([])));
    assert_eq!((&printed["approval"]["id"], &printed["approval"]["status"]), (&json!(waiting.id), &json!("pending")));
    let (code, _, printed) = fixture.person_into_file(&talk, &["approvals", "list", "--json"]);
    let printed: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((code, &printed["approvals"][0]["id"]), (0, &json!(waiting.id)));
    // What goes into a file was not shown to anybody.
    let (code, shown, printed) = fixture.person_into_file(&talk, &["approvals", "approve", &waiting.id]);
    assert!(code == 2 && shown.contains("terminal") && printed.is_empty(), "{shown}{printed}");
    assert_eq!(waiting.repeat(&mut piped)["error"]["details"]["approval_status"], "pending");
}
