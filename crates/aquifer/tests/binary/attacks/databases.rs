//! What a database keeps to itself, and dry runs (items 12 and 19).

use serde_json::json;

use super::{Setting, World, with_every_client};
use crate::postgres::Database;
use crate::support::{Folder, Transport, text};

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
                let setting = Setting { client, upstream: Transport::Stdio, has_several_sources };
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

/// As Django, its packages and Laravel keep logins and tokens of their API, beside a table that everybody may see.
const LOGINS: &str = "
    CREATE TABLE users (id int PRIMARY KEY, name text);
    CREATE TABLE django_session (session_key varchar(40) PRIMARY KEY, session_data text, expire_date timestamp);
    CREATE TABLE authtoken_token (key varchar(40) PRIMARY KEY, created timestamp, user_id int REFERENCES users);
    CREATE TABLE knox_authtoken (digest varchar(128) PRIMARY KEY, token_key varchar(25), expiry timestamp);
    CREATE TABLE personal_access_token (id int PRIMARY KEY, name text, token varchar(64), abilities text);
    INSERT INTO users VALUES (1, 'Ann');
    INSERT INTO django_session VALUES ('hunterzz', 'hunterzz', '2026-01-01');
    INSERT INTO authtoken_token VALUES ('hunterzz', '2026-01-01', 1);
    INSERT INTO knox_authtoken VALUES ('hunterzz', 'hunterzz', '2026-01-01');
    INSERT INTO personal_access_token VALUES (1, 'hunterzz', 'hunterzz', 'hunterzz');";

#[test]
fn r_ext_6_tables_of_logins_are_served_only_if_the_operator_names_them() {
    let (folder, database) = (Folder::new(), Database::with(LOGINS));
    let file = format!("sqlite:{}", folder.database("logins.db", LOGINS));
    let named = "include = [\"users\", \"django_session\", \"authtoken_token\"]\n\
                 tables.django_session.show = [\"session_key\"]\ntables.authtoken_token.show = [\"key\"]\n";
    // A pattern names nothing.
    let settings = ["", "include = [\"*\"]\nstyle = \"generic\"\n", named];
    for (target, source) in [&file, &database.url].iter().flat_map(|target| settings.map(|source| (target, source))) {
        for client in Transport::BOTH {
            let setting = Setting { client, upstream: Transport::Stdio, has_several_sources: false };
            let mut world = World::with_target(setting, target, source, "");
            world.start();
            check_logins(&mut world, source);
            world.restart();
            check_logins(&mut world, source);
        }
    }
}

fn check_logins(world: &mut World, source: &str) {
    for table in ["users", "django_session", "authtoken_token", "knox_authtoken", "personal_access_token"] {
        let is_served = table == "users" || source.contains(table);
        let plural = format!("{}s", table.trim_end_matches('s'));
        let (operation, params) = match source.contains("generic") {
            true => ("list_records".to_owned(), json!({ "table_name": plural, "fields": "full" })),
            false => (format!("list_{plural}"), json!({ "fields": "full" })),
        };
        let answer = world.call("read", &operation, params);
        assert_eq!(answer["success"], is_served, "{table}: {answer}");
        assert_eq!(answer.to_string().contains("hunterzz"), is_served && table != "users", "{table}: {answer}");
        if !is_served {
            // Nor with the user it belongs to, nor as something that exists.
            let with_user = world.call("read", "list_users", json!({ "fields": [plural] }));
            assert_ne!(with_user["success"], true, "{table}: {with_user}");
            let shown = world.introspect(json!({ "query": "schema" })).to_string();
            assert!(shown.contains("users") && !shown.contains(&plural), "{table}: {shown}");
        }
    }
}
