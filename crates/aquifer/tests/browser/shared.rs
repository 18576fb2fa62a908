//! Approvals on one state store: of two servers and the command line, and across restarts.

use crate::server::Configured;
use crate::{NOTES, flow, restart};
use crate::{hold, process::Process};

/// Adding a note needs an approval, so that every run of the call leaves one more.
const CREATE: &str = "
    [[gate.rule]]
    name = \"new notes\"
    effect = \"confirm\"
    strength = \"approval\"
    operation = \"create_note\"\n";

/// A configuration that keeps its state in Redis, under keys of its own.
fn on_redis(name: &str) -> Configured {
    let url = std::env::var("AQUIFER_TEST_REDIS").expect("AQUIFER_TEST_REDIS is set by: cargo xtask test");
    let prefix = format!("aquifer-test-browser-{name}-{}:", std::process::id());
    let keys = format!("store = \"${{STORE}}\"\nredis_prefix = {prefix:?}\n{CREATE}");
    Configured::new(name, NOTES, &keys).variable("STORE", &url)
}

/// How many notes have this text.
fn count(configured: &Configured, text: &str) -> i64 {
    let database = rusqlite::Connection::open(configured.path("data.db")).unwrap();
    database.query_row("SELECT count(*) FROM notes WHERE text = ?", [text], |row| row.get(0)).unwrap()
}

fn approvals_survive(configured: &Configured) {
    let server = configured.start(0);
    let mut page = flow("restart", &[&server.link()]);
    let server = restart(&mut page, configured, server, || ());
    let _server = restart(&mut page, configured, server, || ());
    page.passes();
    for text in ["approved before", "approved after"] {
        assert_eq!(count(configured, text), 1, "{text}");
    }
}

#[test]
fn an_approval_survives_restarts_on_a_file() {
    approvals_survive(&Configured::new("restart", NOTES, CREATE));
}

#[test]
fn an_approval_survives_restarts_on_redis() {
    approvals_survive(&on_redis("restart-redis"));
}

/// Waits for the id of a call that waits, and until the page holds.
fn asked(page: &mut Process) -> String {
    let id = page.line("a call waits", |line| line.strip_prefix("asked ").map(str::to_owned));
    hold(page);
    id
}

#[test]
fn two_servers_and_the_command_line_decide_about_the_same_calls() {
    let configured = on_redis("shared");
    let (first, second) = (configured.start(0), configured.start(0));
    let mut page = flow("servers", &[&first.link(), &second.link()]);
    let id = asked(&mut page);
    let (code, shown) = configured.run_as_admin(&[], &["approvals", "list"]);
    assert!(code == Some(0) && shown.contains(&format!("{id}  pending  create_note")), "{shown}");
    assert!(shown.contains("1 of 1 request waiting for a decision."), "{shown}");
    page.release();
    // The person at the second server has approved it; the command line is too late, before and after its use.
    for status in ["approved", "used"] {
        hold(&mut page);
        let (code, shown) = configured.run_as_admin(&[("[y/N]", "y")], &["approvals", "approve", &id]);
        assert!(code == Some(2) && shown.contains(&format!("no longer open: it is {status}")), "{shown}");
        let (_, shown) = configured.run_as_admin(&[], &["approvals", "list"]);
        assert!(shown.contains("decided by admin (explorer)"), "{shown}");
        page.release();
    }
    let id = asked(&mut page);
    let (code, shown) = configured.run_as_admin(&[("[y/N]", "y")], &["approvals", "approve", &id]);
    assert!(code == Some(0) && shown.contains("Approved."), "{shown}");
    page.release();
    page.passes();
    for text in ["by everybody", "by command", "at once 0", "at once 4"] {
        assert_eq!(count(&configured, text), 1, "{text}");
    }
    assert_eq!(count(&configured, "split"), 0);
}
