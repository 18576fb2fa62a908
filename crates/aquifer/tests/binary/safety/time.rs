//! The time that the state store has kept binds every process that uses it: a clock that is behind does not revive what
//! has expired (R-SAF-3).

use serde_json::json;

use super::{Fixture, delete, delete_with};

const TWENTY_MINUTES: i64 = 20 * 60 * 1000;

/// As a process does whose clock is ahead: seen from there, ours was set back.
fn use_it_later(fixture: &Fixture) {
    let file = rusqlite::Connection::open(fixture.folder.path("state/state.sqlite")).unwrap();
    file.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    let time: i64 = file
        .query_row("SELECT version FROM records WHERE key = 'clock/high_water'", [], |row| row.get(0))
        .expect("the time is kept with every token");
    let changed = file.execute(
        "UPDATE records SET value = ?1, version = ?2 WHERE key = 'clock/high_water'",
        rusqlite::params![(time + TWENTY_MINUTES).to_string().into_bytes(), time + TWENTY_MINUTES],
    );
    assert_eq!(changed.unwrap(), 1);
}

#[test]
fn r_saf_3_a_process_whose_clock_is_behind_does_not_revive_a_token() {
    let fixture = Fixture::new(
        "[gate.strength]\ndestructive = \"token\"\n[[gate.rate_limit]]\nname = \"a\"\nlimit = 2\nwindow = \"month\"\n\
         operation = \"get_book\"\n",
    );
    let mut piped = fixture.piped();
    let token = |answer: serde_json::Value| {
        answer["error"]["details"]["confirmation_token"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let (old, used) = (token(piped.call("mcp_aql_delete", delete(1))), token(piped.call("mcp_aql_delete", delete(2))));
    assert_eq!(piped.call("mcp_aql_delete", delete_with(2, &used))["success"], true);
    let get = || json!({ "operation": "get_book", "params": { "id": 3 } });
    assert_eq!(piped.call("mcp_aql_read", get())["success"], true);
    use_it_later(&fixture);
    let late = piped.call("mcp_aql_delete", delete_with(1, &old));
    assert_eq!(late["error"]["code"], "TOKEN_EXPIRED", "{late}");
    piped.says("the system clock is behind the latest time in the state store");
    drop(piped);
    // After a restart our clock is still behind, and the store still knows better.
    let mut piped = fixture.piped();
    let late = piped.call("mcp_aql_delete", delete_with(1, &old));
    // A session is a connection: whoever asks now is somebody else, and a token says no more than that.
    assert_ne!(late["success"], true, "{late}");
    assert_eq!(piped.call("mcp_aql_read", get())["success"], true);
    assert_eq!(piped.call("mcp_aql_read", get())["error"]["code"], "RATE_LIMIT_EXCEEDED");
    let new = token(piped.call("mcp_aql_delete", delete(1)));
    assert_eq!(piped.call("mcp_aql_delete", delete_with(1, &new))["success"], true, "time goes on");
    piped.close();
    assert_eq!(fixture.books(), 48);
    let audited = fixture.audited();
    assert!(audited.contains("\"gate_time\":"), "the audit has both times: {audited}");
    let (code, report) = fixture.verified();
    assert_eq!(code, 0, "{report}");
}

/// Commands are one caller, so that a token of one can be used in the next.
#[test]
fn r_saf_3_commands_on_one_store_agree_about_the_time() {
    let fixture = Fixture::new("[gate.strength]\ndestructive = \"token\"\n");
    let call = |params: serde_json::Value| -> serde_json::Value {
        serde_json::from_slice(&fixture.run(&["call", "delete_book", &params.to_string()]).stdout).unwrap()
    };
    let token = call(json!({ "id": 1 }))["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    use_it_later(&fixture);
    let late = call(json!({ "id": 1, "confirmation_token": token }));
    assert_eq!(late["error"]["code"], "TOKEN_EXPIRED", "{late}");
    let token = call(json!({ "id": 1 }))["error"]["details"]["confirmation_token"].as_str().unwrap().to_owned();
    let done = call(json!({ "id": 1, "confirmation_token": token }));
    assert_eq!((&done["success"], fixture.books()), (&json!(true), 49), "{done}");
}
