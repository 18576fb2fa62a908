//! Approvals: a yes that only a person outside can give.

use serde_json::{Value, json};

use super::{Fixture, delete, delete_with};
use crate::support::{StdioServer, text, token, until};

const APPROVAL: &str = "[gate.strength]\ndestructive = \"approval\"\n";

fn asked(piped: &mut StdioServer, id: i64) -> (String, String) {
    let asked = piped.call("mcp_aql_delete", delete(id));
    let approval = asked["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
    (token(&asked).unwrap().to_owned(), approval)
}

#[test]
fn r_saf_3_only_a_person_at_a_terminal_with_the_secret_approves() {
    let fixture = Fixture::new(APPROVAL);
    let mut piped = fixture.piped();
    let (token, id) = asked(&mut piped, 1);
    let approve = ["approvals", "approve", &id];
    let (code, shown) = fixture.person(&[], &approve);
    assert!(code == 2 && shown.contains("aquifer approvals secret"), "{shown}");
    let own = "sixteen letters or more";
    let (code, shown) = fixture.person_with(own, &[("Admin secret:", own)], &["approvals", "list"]);
    assert!(code == 0 && shown.contains(&id), "{shown}");
    let secret = fixture.secret();
    // Whoever has no terminal is turned away, with the secret or without.
    for arguments in [
        &approve[..],
        &["approvals", "list"],
        &["approvals", "secret"],
        &["approvals", "deny", &id],
        &["approvals", "show", &id],
    ] {
        let mut command = fixture.command(arguments);
        let output = command.env("AQUIFER_ADMIN_SECRET", &secret).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(text(&output.stderr).contains("terminal"), "{}", text(&output.stderr));
    }
    let (code, shown) = fixture.person(&[("Admin secret:", "not-it")], &approve);
    assert!(code == 2 && shown.contains("not the admin secret"), "{shown}");
    let pending = piped.call("mcp_aql_delete", delete_with(1, &token));
    assert_eq!(pending["error"]["details"]["approval_status"], "pending", "{pending}");

    let (code, shown) = fixture.person(&[("Admin secret:", &secret)], &["approvals", "list"]);
    assert!(code == 0 && shown.contains(&id) && shown.contains("delete_book"), "{shown}");
    let (code, shown) = fixture.person(&[("Admin secret:", &secret), ("[y/N]", "n")], &approve);
    assert!(code == 1 && shown.contains("Nothing was done"), "{shown}");
    // However the name is typed, what it stands for is shown and asked about: where it goes, and what is sent.
    let typed = format!("{}-{}", id[..4].to_uppercase(), &id[4..]);
    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "y")];
    let (code, shown) = fixture.person(&talk, &["approvals", "approve", &typed]);
    assert!(code == 0 && shown.contains("Approved"), "{shown}");
    // Lines too long for the terminal are continued behind a mark.
    let shown = shown.replace("\r\n╎ ", "");
    assert!(shown.contains("id = 1") && shown.contains(&format!("which is sqlite:{}", fixture.library)), "{shown}");
    assert!(!shown.contains(&secret), "what is typed is not shown: {shown}");
    assert_eq!(piped.call("mcp_aql_delete", delete_with(1, &token))["success"], true);
    assert_eq!(fixture.books(), 49);
    // It is over.
    let (code, shown) = fixture.person(&[("Admin secret:", &secret), ("[y/N]", "y")], &approve);
    assert!(code == 2 && shown.contains("used"), "{shown}");
    assert_eq!(piped.call("mcp_aql_delete", delete_with(1, &token))["error"]["code"], "TOKEN_ALREADY_USED");

    let (token, id) = asked(&mut piped, 2);
    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "yes")];
    let too_long = "x".repeat(501);
    assert_eq!(fixture.person(&[], &["approvals", "deny", &id, "--reason", &too_long]).0, 2);
    assert_eq!(fixture.person(&talk, &["approvals", "deny", &id, "--reason", "Wrong book\u{1b}[2J"]).0, 0);
    let denied = piped.call("mcp_aql_delete", delete_with(2, &token));
    assert_eq!(denied["error"]["code"], "PERMISSION_DENIED");
    assert_eq!(denied["error"]["details"]["decision_reason"], r"Wrong book\u{1b}[2J", "{denied}");
    let (_, shown) = fixture.person(&[("Admin secret:", &secret)], &["approvals", "list"]);
    assert!(shown.contains(r"decided by admin (command line): Wrong book\u{1b}[2J"), "{shown}");
    assert_eq!(fixture.books(), 49);
    let audit = fixture.audited();
    assert!(audit.contains("APPROVAL_GRANTED") && audit.contains("APPROVAL_DECLINED"), "{audit}");
    assert_eq!(fixture.verified().0, 0);
    // The secret is nowhere: its hash is.
    let key = std::fs::read(fixture.folder.path("state/admin.key")).unwrap();
    assert_eq!(key.len(), 32);
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &std::fs::metadata(fixture.folder.path("state/admin.key")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    // Another one is made only by who has this one.
    // Whoever chooses the environment does not choose the secret.
    let (code, shown) = fixture.person_with(own, &[("Admin secret:", own)], &["approvals", "list"]);
    assert!(code == 2 && shown.contains("not the admin secret"), "{shown}");
    let (code, shown) = fixture.person(&[("Admin secret:", "no")], &["approvals", "secret"]);
    assert!(code == 2 && !shown.contains("shown only once"), "{shown}");
}

/// After three denials, changes wait for a person at a terminal, in whatever process they are made.
#[test]
fn r_saf_7_a_person_ends_the_pause_that_three_denials_began() {
    let fixture = Fixture::new(APPROVAL);
    let mut piped = fixture.piped();
    let secret = fixture.secret();
    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "y")];
    for id in 1..=3 {
        let (_, approval) = asked(&mut piped, id);
        assert_eq!(fixture.person(&talk, &["approvals", "deny", &approval]).0, 0);
    }
    let rename = json!({ "operation": "update_book", "params": { "id": 9, "input": { "title": "Renamed" } } });
    let is_paused = |answer: &Value| answer["error"]["details"]["changes_paused"] == true;
    // A server that was asked within the last second may not know yet.
    until("changes are paused", || is_paused(&piped.call("mcp_aql_update", rename.clone())).then_some(()));
    let mut other = fixture.piped();
    for server in [&mut piped, &mut other] {
        for (tool, call) in [("mcp_aql_update", rename.clone()), ("mcp_aql_delete", delete(4))] {
            let refused = server.call(tool, call);
            assert!(is_paused(&refused), "{refused}");
        }
        let read = server.call("mcp_aql_read", json!({ "operation": "get_book", "params": { "id": 9 } }));
        assert_eq!(read["success"], true, "{read}");
    }
    let (code, shown) = fixture.person(&talk[..1], &["approvals", "list"]);
    assert!(code == 0 && shown.contains("are paused") && shown.contains("approvals resume"), "{shown}");
    let refused = fixture.run(&["approvals", "resume"]);
    assert_eq!(refused.status.code(), Some(2), "only at a terminal: {}", text(&refused.stderr));
    let no = [("Admin secret:", secret.as_str()), ("[y/N]", "n")];
    assert_eq!(fixture.person(&no, &["approvals", "resume"]).0, 1);
    assert!(is_paused(&piped.call("mcp_aql_update", rename.clone())));
    let (code, shown) = fixture.person(&talk, &["approvals", "resume"]);
    assert!(code == 0 && shown.contains("no longer paused"), "{shown}");
    assert_eq!(other.call("mcp_aql_update", rename)["success"], true);
    let (code, shown) = fixture.person(&talk[..1], &["approvals", "resume"]);
    assert!(code == 0 && shown.contains("No changes are paused"), "{shown}");
    assert!(fixture.audited().contains("CHANGES_RESUMED"), "{}", fixture.audited());
}

/// The secret of one directory is none for the approvals of another place.
#[test]
fn r_saf_3_a_directory_of_ones_own_is_no_way_in() {
    let fixture = Fixture::new("");
    let elsewhere = format!("[state]\nstore = \"sqlite:{}\"\n", fixture.folder.path("shared.sqlite"));
    fixture.folder.file("aquifer.toml", &elsewhere);
    let own = fixture.folder.path("own");
    let (code, shown) = fixture.person(&[], &["approvals", "list", "--state", &own]);
    assert!(code == 2 && shown.contains("Leave out --state"), "{shown}");
}

#[test]
fn r_saf_3_with_memory_approvals_say_what_is_needed() {
    let fixture = Fixture::new("store = \"memory\"\n");
    let (code, shown) = fixture.person(&[], &["approvals", "list"]);
    assert!(code == 2 && shown.contains("state.store"), "{shown}");
}

/// Everything that a model could do with what it has: the tools, their answers, and as many tries as it likes.
#[test]
fn r_saf_3_whatever_a_model_does_nothing_is_deleted_until_a_person_approves() {
    let fixture = Fixture::new(APPROVAL);
    let secret = fixture.secret();
    let (mut piped, mut elsewhere) = (fixture.piped(), fixture.piped());
    let mut single = StdioServer::spawn(&mut fixture.command(&["serve", "--mode", "single"]));
    single.initialize("2025-11-25");
    let mut direct = StdioServer::spawn(&mut fixture.command(&["serve", "--mode", "all"]));
    direct.initialize("2025-03-26");
    let (token, id) = asked(&mut piped, 1);
    let (other, _) = asked(&mut piped, 2);
    let mut tries: Vec<Value> = vec![
        delete_with(1, &token),
        delete_with(1, &other),
        delete_with(2, &token),
        delete_with(1, ""),
        delete_with(1, &id),
        delete_with(1, &format!("conf_{}", "A".repeat(43))),
        delete_with(1, &token.replace("conf_", "quota_continue_")),
        delete_with(1, &token.to_uppercase()),
        json!({ "operation": "delete_book", "params": { "id": 1, "_confirmation": token } }),
        json!({ "operation": "delete_book", "_confirmation": token, "params": { "id": 1 } }),
        json!({ "operation": "delete_book", "id": 1, "confirmation_token": token }),
        json!({ "operation": "delete_book", "params": { "id": 1, "confirmation_token": [token] } }),
        json!({ "operation": "delete_book", "params": { "id": 1, "confirmation_token": true } }),
        json!({ "operation": "delete_book", "params": { "id": 1, "approved": true } }),
        json!({ "operation": "delete_book", "params": { "id": 1, "approval_id": id } }),
        json!({ "operation": "delete_book", "params": { "id": 1 }, "inputResponses": { "x": { "action": "accept" } } }),
        json!({ "operation": "delete_book ", "params": { "id": 1 } }),
        json!({ "operation": "DELETE_BOOK", "params": { "id": 1 } }),
        json!({ "operation": "approve", "params": { "id": id } }),
        json!({ "operation": "confirm_operation", "params": { "token": token } }),
    ];
    let twice = json!([delete_with(1, &token), delete_with(1, &token), delete(1)]);
    tries.push(json!({ "operations": twice }));
    let mut count = 0;
    for attempt in &tries {
        for tool in ["mcp_aql_delete", "mcp_aql_execute", "mcp_aql_read", "mcp_aql_update", "mcp_aql_create"] {
            for client in [&mut piped, &mut elsewhere] {
                client.request("tools/call", json!({ "name": tool, "arguments": attempt }));
                count += 1;
            }
        }
        for client in [&mut single, &mut direct] {
            for tool in ["mcp_aql", "mcp_aql_delete"] {
                client.request("tools/call", json!({ "name": tool, "arguments": attempt }));
                count += 1;
            }
        }
        for form in ["task", "progressToken"] {
            let meta = json!({ "name": "mcp_aql_delete", "arguments": attempt, "_meta": { form: 1 } });
            piped.request("tools/call", meta);
            count += 1;
        }
    }
    for name in ["delete_book", "approvals", "mcp_aql_approve"] {
        direct.request("tools/call", json!({ "name": name, "arguments": { "id": 1, "confirmation_token": token } }));
    }
    for arguments in [["approvals", "approve", &id], ["approvals", "deny", &id]] {
        assert_eq!(fixture.run(&arguments).status.code(), Some(2), "a shell tool has no terminal");
    }
    assert!(count > 300, "{count}");
    assert_eq!(fixture.books(), 50, "nothing is deleted");

    // The approval made outside lets exactly that one call through, for the caller who asked. Too many wrong tokens were
    // tried here for any to be heard this minute, so somebody else asks.
    let mut patient = fixture.piped();
    let (token, id) = asked(&mut patient, 9);
    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "y")];
    let (code, shown) = fixture.person(&talk, &["approvals", "approve", &id]);
    assert_eq!(code, 0, "{shown}");
    for client in [&mut elsewhere, &mut single, &mut direct] {
        for tool in ["mcp_aql", "mcp_aql_delete"] {
            client.request("tools/call", json!({ "name": tool, "arguments": delete_with(10, &token) }));
        }
    }
    assert_eq!(fixture.books(), 50, "it is for another call");
    assert_ne!(patient.call("mcp_aql_delete", delete_with(8, &token))["success"], true);
    assert_eq!(patient.call("mcp_aql_delete", delete_with(9, &token))["success"], true);
    assert_eq!(patient.call("mcp_aql_delete", delete_with(9, &token))["error"]["code"], "TOKEN_ALREADY_USED");
    assert_eq!(fixture.books(), 49);
    assert_eq!(fixture.verified().0, 0);
    let done = fixture.audited().lines().filter(|line| line.contains("\"result\":\"done\"")).count();
    assert_eq!(done, 1);
}
