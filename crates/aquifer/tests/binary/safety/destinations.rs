//! Where calls may go without a question: what a person agreed to, and what the configuration says.

use serde_json::{Value, json};

use super::Fixture;
use crate::support::{StdioServer, aquifer, server, text, token, until, with_people};

/// A library, and a server that sends mail.
fn fixture(of_mail: &str) -> Fixture {
    let fixture = Fixture::new("");
    let texts = json!({ "type": "array", "items": { "type": "string" } });
    let tools = json!([{ "name": "send_email", "description": "Send an e-mail.", "inputSchema": { "type": "object",
        "properties": { "recipients": texts, "body": { "type": "string" } }, "required": ["recipients"] } }]);
    let [program, script, tools] = server(&fixture.folder.tools("mail.json", &tools));
    let args = json!([script, tools]);
    fixture.rewrite(&format!(
        "[[source]]\nname = \"mail\"\nprefix = \"\"\ncommand = \"{program}\"\nargs = {args}\n{of_mail}\n[approvals]\nopen_page = false\n"
    ));
    fixture
}

fn serve(fixture: &Fixture) -> StdioServer {
    let mut server = StdioServer::spawn(&mut with_people(fixture.command(&["serve", "--mode", "single"])));
    server.initialize("2025-06-18");
    until("the mail server is there", || {
        let answer = send(&mut server, "", "");
        (answer["error"]["code"] == "CONFIRMATION_REQUIRED").then_some(())
    });
    server
}

fn send(server: &mut StdioServer, to: &str, confirmation: &str) -> Value {
    let mut params = json!({ "recipients": [to], "body": "Hello" });
    if !confirmation.is_empty() {
        params["confirmation_token"] = confirmation.into();
    }
    server.call("mcp_aql", json!({ "operation": "send_email", "params": params }))
}

fn asks(answer: &Value) -> bool {
    match answer["success"] == true {
        true => false,
        false if answer["error"]["code"] == "CONFIRMATION_REQUIRED" => true,
        false => panic!("{answer}"),
    }
}

#[test]
fn r_saf_8_a_person_agrees_to_a_destination_once() {
    let fixture = fixture("");
    let secret = fixture.secret();
    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "y")];
    let mut server = serve(&fixture);
    let mut agree = |to: &str, options: &[&str]| {
        let asked = send(&mut server, to, "");
        let id = asked["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}"));
        let (code, shown) = fixture.person(&talk, &[&["approvals", "approve", id], options].concat());
        assert!(code == 0 && shown.contains("Approved"), "{shown}");
        assert!(!asks(&send(&mut server, to, token(&asked).unwrap())));
        shown
    };
    assert!(agree("Bob@x.com", &[]).contains("and later ones to the same destinations?"));
    assert!(agree("carol@x.com", &["--next-time", "ask"]).contains("Allow this call once?"));
    assert!(agree("dave@y.com", &["--next-time", "domain"]).contains("anyone at the same domains?"));

    // In this process, and in another one on the same state.
    for server in [&mut server, &mut serve(&fixture)] {
        for (to, expected) in [
            ("bob@x.com", false),
            ("carol@x.com", true),
            ("erin@y.com", false),
            ("erin@mail.y.com", true),
            ("bob@x.com.evil.example", true),
        ] {
            assert_eq!(asks(&send(server, to, "")), expected, "{to}");
        }
    }
    let refused = fixture.run(&["approvals", "destinations"]);
    assert_eq!(refused.status.code(), Some(2), "only at a terminal: {}", text(&refused.stderr));
    let (code, shown) = fixture.person(&talk[..1], &["approvals", "destinations"]);
    assert!(code == 0 && shown.contains("mail: bob@x.com") && shown.contains("mail: everything at y.com"), "{shown}");
    assert!(shown.contains("2 destinations known"), "{shown}");
    let id = shown.lines().find(|line| line.contains("bob@x.com")).and_then(|line| line.split("  ").next()).unwrap();
    let (code, shown) = fixture.person(&talk[..1], &["approvals", "forget", "no-such-id"]);
    assert!(code == 2 && shown.contains("no known destination has the id"), "{shown}");
    let (code, shown) = fixture.person(&talk[..1], &["approvals", "forget", id]);
    assert!(code == 0 && shown.contains("1 destination forgotten"), "{shown}");
    assert!(asks(&send(&mut server, "bob@x.com", "")));
    assert!(!asks(&send(&mut server, "erin@y.com", "")));
    assert_eq!(fixture.person(&talk[..1], &["approvals", "forget", "--all"]).0, 0);
    assert!(asks(&send(&mut server, "erin@y.com", "")));
    let audited = fixture.audited();
    assert!(
        audited.contains("DESTINATION_FORGOTTEN") && audited.contains("bob@x.com was known until now"),
        "{audited}"
    );
}

#[test]
fn r_saf_8_the_configuration_names_known_destinations() {
    let fixture = fixture("known_destinations = [\"@ours.com\"]");
    let mut server = serve(&fixture);
    assert!(!asks(&send(&mut server, "anna@ours.com", "")));
    assert!(asks(&send(&mut server, "anna@ours.com.evil.example", "")));
    let explained = fixture.run(&["call", "send_email", r#"{"recipients": ["anna@ours.com"]}"#, "--explain"]);
    let explained: Value = serde_json::from_slice(&explained.stdout).unwrap_or_else(|_| panic!("{explained:?}"));
    assert_eq!(explained["decision"], "allow", "{explained}");

    for wrong in ["*@ours.com", "@", "https://*/*"] {
        let wrong_fixture = self::fixture(&format!("known_destinations = [\"{wrong}\"]"));
        let validate = aquifer().args(["validate", &wrong_fixture.config]).output().unwrap();
        for output in [validate, wrong_fixture.run(&["policy", "show"])] {
            let shown = text(&output.stdout) + &text(&output.stderr);
            assert!(!output.status.success() && shown.contains("is no known destination"), "{wrong}: {shown}");
        }
    }
}
