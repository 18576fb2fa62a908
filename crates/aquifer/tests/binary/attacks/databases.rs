//! What a database keeps to itself, and dry runs (items 12 and 19).

use serde_json::json;

use super::{World, with_every_client};
use crate::support::{Transport, text};

const USERS: &str = "
    CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT, notes TEXT, password_hash TEXT, ssn TEXT, api_key TEXT);
    INSERT INTO users VALUES (1, 'Ann', 'hunterzz', 'hunterzz', 'hunterzz', 'hunterzz');
    CREATE VIRTUAL TABLE users_words USING fts5(name, notes, content='users', content_rowid='id');
    INSERT INTO users_words(users_words) VALUES ('rebuild');";

#[test]
fn r_ext_6_a_hidden_column_is_neither_shown_nor_searched() {
    with_every_client(
        |setting| World::with_database(setting, USERS, "tables.users.hide = [\"notes\"]\n", ""),
        |world, _| {
            let listed = world.data("read", "list_users", json!({ "fields": "full" }));
            assert_eq!(listed["items"], json!([{ "id": 1, "name": "Ann" }]));
            let mut answers = String::new();
            for word in ["hunterzz", "hunter*", "notes:hunterzz", "hunter"] {
                let answer = world.call("read", "search_users", json!({ "query": word }));
                assert!(answer["data"]["items"].as_array().is_none_or(Vec::is_empty), "{word}: {answer}");
            }
            for column in ["notes", "password_hash", "ssn", "api_key", "NOTES"] {
                for params in [
                    json!({ "fields": [column] }),
                    json!({ "filter": { column: { "eq": "hunterzz" } } }),
                    json!({ "sort": [{ "field": column }] }),
                    json!({ "group_by": [column] }),
                ] {
                    let answer = world.call("read", "list_users", params.clone());
                    answers += &answer.to_string().replace(&params.to_string(), "");
                    assert!(!answer["data"].to_string().contains("hunterzz"), "{params}: {answer}");
                }
                let change = json!({ "id": 1, "input": { column: "x" } });
                assert_ne!(world.call("update", "update_user", change)["success"], true, "{column}");
            }
            assert!(!answers.contains("\"hunterzz\""), "{answers}");
            // What was left out without being told to is said.
            let described = world.described("list_users").to_string() + &world.described("create_user").to_string();
            assert!(described.contains("password_hash") || described.contains("left out"), "{described}");
        },
    );
    // What would not hide is refused at the start, whoever is beside it.
    for client in Transport::BOTH {
        for has_several_sources in [false, true] {
            for (hide, words) in
                [("Notes", "Did you mean 'notes'?"), ("id", "part of its key"), ("nots", "not a column")]
            {
                let setting = super::Setting { client, upstream: Transport::Stdio, has_several_sources };
                let hide = format!("tables.users.hide = [{hide:?}]\n");
                let world = World::with_database(setting, USERS, &hide, "");
                let mut serve = world.serve();
                if client == Transport::Http {
                    serve.args(["--http", "127.0.0.1:0"]);
                }
                let refused = serve.stdin(std::process::Stdio::null()).output().unwrap();
                let printed = text(&refused.stderr);
                assert!(refused.status.code() == Some(2) && printed.contains(words), "{setting:?} {hide}: {printed}");
            }
        }
    }
}

#[test]
fn r_req_9_a_dry_run_changes_nothing_and_asks_nobody() {
    let keys = "[gate.strength]\ndestructive = \"approval\"\n";
    with_every_client(
        |setting| World::with_database(setting, USERS, "", keys),
        |world, _| {
            let before = std::fs::read(world.folder.path("bank.db")).unwrap();
            for (family, operation, params) in [
                ("create", "create_user", json!({ "name": "Bo", "dry_run": true })),
                ("update", "update_user", json!({ "id": 1, "input": { "name": "Bo" }, "dry_run": true })),
                ("delete", "delete_user", json!({ "id": 1, "dry_run": true })),
                ("delete", "delete_user", json!({ "id": 1, "dryRun": true })),
            ] {
                let answer = world.call(family, operation, params);
                assert_eq!(answer["data"]["dry_run"], true, "{operation}: {answer}");
            }
            assert_eq!(std::fs::read(world.folder.path("bank.db")).unwrap(), before);
            assert!(world.audited("OPERATION_INTENT").is_empty());
            let real = world.call("delete", "delete_user", json!({ "id": 1, "dry_run": false }));
            assert_eq!(real["error"]["code"], "CONFIRMATION_REQUIRED", "{real}");
        },
    );
}
