//! What the person who approves is shown, and what is on record afterwards (items 14 and 15).

use serde_json::{Value, json};

use super::{Round, World, in_every_setting, tool, with_every_client};
use crate::support::{HttpServer, HttpSession, Server, Transport, alter, text};

/// An argument of so many levels, with a word at the bottom.
fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("the bottom of it"), |inner, _| json!({ "deeper": [inner] }))
}

/// A new admin secret.
fn admin_secret(world: &World) -> String {
    let (code, shown) = world.person(&[], &["approvals", "secret"]);
    assert_eq!(code, 0, "{shown}");
    let line = shown.lines().map(str::trim).find(|line| line.len() == 64 && line.contains('-'));
    line.unwrap_or_else(|| panic!("{shown}")).to_owned()
}

#[test]
fn r_saf_3_an_approver_sees_the_whole_call() {
    let properties = json!({
        "what": { "type": "object" }, "secret_name": { "type": "string" }, "token_id": { "type": "string" },
        "password": { "type": "string" }, "recursive": { "type": "boolean", "default": true },
    });
    let script = json!({ "tools": [tool("delete_tree", properties, json!({ "destructiveHint": true }))] });
    let keys = "[gate.strength]\ndestructive = \"approval\"\n";
    let (mut earlier, mut secret) = (String::new(), String::new());
    in_every_setting(
        &Transport::BOTH,
        |setting| World::with_upstream(setting, &script, "", keys),
        |world, round| {
            if round == Round::First {
                secret = admin_secret(world);
            }
            let params = json!({ "what": nested(6), "secret_name": "prod-database", "token_id": "tok-17",
                "password": "hunter2-hunter2", "recursive": true });
            let asked = world.call("delete", "delete_tree", params);
            let id = asked["error"]["details"]["approval_id"].as_str().unwrap_or_else(|| panic!("{asked}")).to_owned();
            // After a restart, what was asked for before it is still shown.
            let ids = if round == Round::First { vec![id.clone()] } else { vec![id.clone(), earlier.clone()] };
            for id in ids {
                let (code, shown) = world.person(&[("Admin secret:", &secret)], &["approvals", "show", &id]);
                assert_eq!(code, 0, "{shown}");
                for words in ["the bottom of it", "prod-database", "tok-17", "recursive = true", "bank"] {
                    assert!(shown.contains(words), "{words}: {shown}");
                }
                assert!(!shown.contains("hunter2"), "{shown}");
            }
            assert!(world.executed("delete_tree").is_empty());
            earlier = id;
        },
    );
}

#[test]
fn r_saf_5_what_was_changed_is_on_record_and_forgery_is_found() {
    let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, phone TEXT, city TEXT);
               INSERT INTO users VALUES (1, 'Ann', '1', 'Ulm');";
    // Put together here so that no scanner takes it for a leak.
    let credential = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    with_every_client(
        |setting| World::with_database(setting, sql, "", ""),
        |world, round| {
            let input = json!({ "name": credential, "phone": null, "city": null });
            world.data("update", "update_user", json!({ "id": 1, "input": input }));
            world.data("create", "create_user", json!({ "name": "Bo" }));
            world.stop();
            let runs = if round == Round::First { 1 } else { 2 };
            let intents = world.audited("OPERATION_INTENT");
            assert_eq!((intents.len(), world.audited("OPERATION_OUTCOME").len()), (2 * runs, 2 * runs), "{intents:?}");
            let updated = world.name("update_user");
            let intent = intents.iter().find(|intent| intent["operation"] == updated.as_str()).unwrap();
            assert_eq!(intent["fields"], json!({ "set": ["name"], "cleared": ["phone", "city"] }), "{intent}");
            let strict = |world: &World| {
                let output = world.run(&["audit", "verify", "--strict"]);
                (output.status.code().unwrap(), text(&output.stdout) + &text(&output.stderr))
            };
            let (code, report) = strict(world);
            assert_eq!(code, 0, "{report}");
            let mut files: Vec<_> = std::fs::read_dir(world.folder.path("state/audit")).unwrap().collect();
            files.sort_by_key(|file| file.as_ref().unwrap().path());
            let files: Vec<_> = files.into_iter().map(|file| file.unwrap().path()).collect();
            for file in &files {
                let written = std::fs::read_to_string(file).unwrap();
                assert!(!written.contains(&credential), "{written}");
                // A line more than the head knows, a line less, and no file.
                let last = written.lines().last().unwrap();
                let cut = written.trim_end().rfind('\n').map_or(0, |end| end + 1);
                for forged in [Some(format!("{written}{last}\n")), Some(written[..cut].to_owned()), None] {
                    match &forged {
                        Some(forged) => std::fs::write(file, forged).unwrap(),
                        None => std::fs::remove_file(file).unwrap(),
                    }
                    let (code, report) = strict(world);
                    assert_eq!(code, 1, "{forged:?}: {report}");
                    std::fs::write(file, &written).unwrap();
                }
            }
            assert_eq!(strict(world).0, 0, "everything is as it was");
            if round == Round::Restarted {
                // Everything is deleted, and the store with it.
                std::fs::remove_dir_all(world.folder.path("state")).unwrap();
                assert_eq!(strict(world).0, 1);
            } else {
                alter(&world.folder.path("bank.db"), "UPDATE users SET phone = '1', city = 'Ulm' WHERE id = 1");
            }
        },
    );
}

/// A person logs in to the explorer of a server and approves what waits there.
fn approve_in_explorer(world: &World, served: &HttpServer, secret: &str, id: &str) {
    let url = format!("http://{}", served.authority);
    let (code, shown) = world.person(&[("Admin secret:", secret)], &["explorer", "link", "--url", &url]);
    assert_eq!(code, 0, "{shown}");
    let (_, token) = shown.split_once("/login#").unwrap_or_else(|| panic!("{shown}"));
    let token = token.split_whitespace().next().unwrap();
    let send = |session: &str, method: &str, path: &str, body: Value| {
        let headers = [("content-type", "application/json"), ("x-aquifer-session", session)];
        let answer = served.send(method, path, &headers, body.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{method} {path}: {}", answer.body);
        answer.json()
    };
    let begun = send("", "POST", "/api/session", json!({ "token": token }));
    let session = begun["secret"].as_str().unwrap_or_else(|| panic!("{begun}"));
    let path = format!("/api/approvals/{id}");
    let digest = send(session, "GET", &path, json!(null))["digest"].clone();
    send(session, "POST", &path, json!({ "decision": "approve", "digest": digest }));
}

#[test]
fn r_saf_5_the_record_says_who_or_what_confirmed() {
    let tables = ["plain", "elicited", "typed", "clicked"];
    let table = |name: &str| {
        format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO {name} VALUES (1, 'x'), (2, 'y');")
    };
    let sql: String = tables.map(table).concat();
    let rule = |(name, strength)| {
        format!(
            "[[gate.rule]]\neffect = \"confirm\"\ntable = {name:?}\ndanger = \"destructive\"\nstrength = {strength:?}\n"
        )
    };
    let keys = "[gate.strength]\ndestructive = \"token\"\n".to_owned()
        + &[("elicited", "elicit"), ("typed", "approval"), ("clicked", "approval")].map(rule).concat();
    let mut secret = String::new();
    with_every_client(
        |setting| {
            let mut world = World::with_database(setting, &sql, "", &keys);
            world.capabilities = json!({ "elicitation": {} });
            world
        },
        |world, round| {
            if round == Round::First {
                secret = admin_secret(world);
            }
            let rounds = if round == Round::First { 1 } else { 2 };
            let params = json!({ "id": rounds });
            // The model sends back the token that it was given.
            assert_eq!(world.confirmed("delete", "delete_plain", params.clone()).0["success"], true);
            let (plain, intents) = (world.name("delete_plain"), world.audited("OPERATION_INTENT"));
            let last = intents.iter().rfind(|entry| entry["operation"] == plain.as_str()).unwrap();
            assert_eq!(last["confirmed_by"], "caller", "{last}");
            // The person at the client answers a question of the call.
            let arguments = json!({ "operation": world.name("delete_elicited"), "params": params });
            let capabilities = world.capabilities.clone();
            let accept = |message: &Value| {
                let result = json!({ "action": "accept", "content": {} });
                let is_question = message["method"] == "elicitation/create";
                is_question.then(|| json!({ "jsonrpc": "2.0", "id": message["id"], "result": result }))
            };
            let (answer, asked) = match world.server() {
                Server::Stdio(piped) => piped.call_answering("mcp_aql_delete", arguments, accept),
                Server::Http(served) => {
                    HttpSession::new(served, &capabilities).call_answering("mcp_aql_delete", arguments, accept)
                }
            };
            assert_eq!((&answer["success"], asked.len()), (&json!(true), 1), "{answer}");
            // A person approves at a terminal, and one in the explorer, of this server or of another on the same state.
            for operation in ["delete_typed", "delete_clicked"] {
                let waits = world.call("delete", operation, params.clone());
                let details = &waits["error"]["details"];
                let id = details["approval_id"].as_str().unwrap_or_else(|| panic!("{operation}: {waits}"));
                let mut params = params.clone();
                params["confirmation_token"] = details["confirmation_token"].clone();
                let early = world.call("delete", operation, params.clone());
                assert_eq!(early["error"]["details"]["approval_status"], "pending", "{operation}: {early}");
                if operation == "delete_typed" {
                    let talk = [("Admin secret:", secret.as_str()), ("[y/N]", "y")];
                    let (code, shown) = world.person(&talk, &["approvals", "approve", id]);
                    assert_eq!(code, 0, "{shown}");
                } else if let Some(Server::Http(served)) = &world.server {
                    approve_in_explorer(world, served, &secret, id);
                } else {
                    let served = HttpServer::spawn(world.serve().args(["--http", "127.0.0.1:0"]));
                    approve_in_explorer(world, &served, &secret, id);
                }
                let done = world.call("delete", operation, params);
                assert_eq!(done["success"], true, "{operation}: {done}");
            }
            // What was recorded before a restart says the same after it.
            for event in ["CONFIRMATION_GRANTED", "OPERATION_INTENT", "OPERATION_OUTCOME"] {
                let entries = world.audited(event);
                for (operation, confirmed_by, decided_by) in [
                    ("delete_plain", "caller", None),
                    ("delete_elicited", "elicitation", None),
                    ("delete_typed", "approval", Some("admin (command line)")),
                    ("delete_clicked", "approval", Some("admin (explorer)")),
                ] {
                    let operation = world.name(operation);
                    let of = entries.iter().filter(|entry| entry["operation"] == operation.as_str());
                    let confirmers: Vec<_> =
                        of.map(|entry| json!([entry["confirmed_by"], entry["decided_by"]])).collect();
                    let expected = vec![json!([confirmed_by, decided_by]); rounds];
                    assert_eq!(confirmers, expected, "{event} {operation}: {entries:?}");
                }
            }
            let shown = text(&world.run(&["audit", "show"]).stdout);
            assert!(shown.contains("the model confirmed its own call"), "{shown}");
        },
    );
}
