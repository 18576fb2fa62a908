//! What a database keeps to itself, and dry runs (items 12 and 19).

use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Setting, World, with_every_client};
use crate::postgres::Database;
use crate::support::{
    Folder, HttpSession, Server, Transport, call_message, processor_time, running_threads, text, until,
};

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

const NOTES: &str = "CREATE TABLE notes (id int PRIMARY KEY, title text); INSERT INTO notes VALUES (1, 'First');";
/// Statements are on, and nothing ends because of its time before the test does.
const STATEMENTS: &str = "query_sql = true\ntimeout_seconds = 600\n";
const NUMBERS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";

fn statement(sql: &str) -> Value {
    json!({ "operation": "query_sql", "params": { "sql": sql } })
}

/// Waits until a process does nothing any more.
fn wait_until_idle(pid: u32) {
    until("it is idle", || (0..20).all(|_| running_threads(pid) == 0).then_some(()));
}

/// How a client gives up a call.
#[derive(Debug, Clone, Copy)]
enum End {
    Cancel,
    Disconnect,
}

/// There is one connection, which the next statement can only have once the one before has ended.
#[test]
fn r_res_4_a_statement_that_its_client_gave_up_ends() {
    let (folder, database) = (Folder::new(), Database::with(NOTES));
    let file = format!("sqlite:{}", folder.database("notes.db", NOTES));
    let role = database.role("GRANT USAGE ON SCHEMA public TO {role}; GRANT SELECT ON notes TO {role}");
    let running = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active'
                   AND pid <> pg_backend_pid()";
    let is_busy = || database.query(running)[0].get::<_, i64>(0) > 0;
    for (target, endless) in [
        (&file, format!("{NUMBERS} SELECT count(*) FROM n")),
        (&role, "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b".to_owned()),
    ] {
        for (client, end) in
            [(Transport::Stdio, End::Cancel), (Transport::Http, End::Cancel), (Transport::Http, End::Disconnect)]
        {
            let setting = Setting { client, upstream: Transport::Stdio, has_several_sources: false };
            let mut world = World::with_target(setting, target, &format!("{STATEMENTS}max_connections = 1\n"), "");
            world.start();
            let pid = world.server().pid();
            let before = processor_time(pid);
            let call = call_message("mcp_aql_read", statement(&endless));
            let wait_until_running = || {
                let has_begun = || if *target == file { processor_time(pid) > before + 10 } else { is_busy() };
                until("the statement runs", || has_begun().then_some(()));
            };
            match (world.server(), end) {
                (Server::Stdio(piped), _) => {
                    piped.send(&call);
                    wait_until_running();
                    piped.send(&cancel(&call));
                }
                (Server::Http(served), End::Cancel) => {
                    let session = HttpSession::new(served, &json!({}));
                    let _waits = session.open(&call);
                    wait_until_running();
                    assert_eq!(session.post(&cancel(&call)).status, 202);
                }
                (Server::Http(served), End::Disconnect) => {
                    let waits = served.open_stateless("tools/call", call["params"].clone());
                    wait_until_running();
                    drop(waits);
                }
            }
            let next = world.server().call("mcp_aql_read", statement("SELECT 7"));
            assert_eq!(next["data"]["rows"], json!([[7]]), "{target} {client:?} {end:?}: {next}");
            until("the statement has ended", || (!is_busy()).then_some(()));
            wait_until_idle(pid);
        }
    }
}

/// Calls with a statement that never ends, most of whose time goes by within functions, which SQLite does not interrupt.
fn computing_calls() -> Vec<Value> {
    let long = "printf('%.*c', 900000, 'a')";
    let slow = format!("{NUMBERS} SELECT count(*) FROM n WHERE instr(trim(replace({long}, 'b', 'c'), 'b'), 'c') = i");
    let call = |index: usize| {
        let mut call = call_message("mcp_aql_read", statement(&slow));
        call["id"] = json!(format!("call-{index}"));
        call
    };
    (0..8).map(call).collect()
}

fn cancel(call: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": call["id"] } })
}

/// Eight statements of one client, and one each of eight.
#[test]
fn r_res_4_eight_statements_that_compute_block_nobody_else() {
    for client_count in [1, 8] {
        let setting = Setting { client: Transport::Http, upstream: Transport::Stdio, has_several_sources: false };
        let mut world = World::with_database(setting, NOTES, STATEMENTS, "");
        world.start();
        let pid = world.server().pid();
        let Server::Http(served) = world.server() else { unreachable!() };
        let clients: Vec<HttpSession> = (0..client_count).map(|_| HttpSession::new(served, &json!({}))).collect();
        let calls: Vec<(&HttpSession, Value)> = clients.iter().cycle().zip(computing_calls()).collect();
        let streams: Vec<TcpStream> = calls.iter().map(|(client, call)| client.open(call)).collect();
        // One client has half of the connections.
        let expected = if client_count == 1 { 4 } else { 8 };
        until("they run", || (running_threads(pid) >= expected).then_some(()));
        let other = HttpSession::new(served, &json!({}));
        for operation in ["list_notes", "get_note"] {
            let params = if operation == "get_note" { json!({ "id": 1 }) } else { json!({}) };
            let answer = other.call("mcp_aql_read", json!({ "operation": operation, "params": params }));
            assert!(answer.to_string().contains("First"), "{operation} beside {client_count}: {answer}");
        }
        if client_count == 1 {
            let answer = other.call("mcp_aql_read", statement("SELECT title FROM notes"));
            assert_eq!(answer["data"]["rows"], json!([["First"]]), "{answer}");
        }
        until("none has ended meanwhile", || (running_threads(pid) >= expected).then_some(()));
        drop(streams);
        for (client, call) in &calls {
            client.post(&cancel(call));
        }
        for client in clients.iter().chain([&other]) {
            let answer = client.call("mcp_aql_read", statement("SELECT title FROM notes"));
            assert_eq!(answer["data"]["rows"], json!([["First"]]), "{answer}");
        }
        wait_until_idle(pid);
    }
}

/// On stdio, whoever sends them has the server for itself, and still reads rows beside them.
#[test]
fn r_res_4_statements_that_compute_do_not_block_the_reads_of_their_client() {
    let setting = Setting { client: Transport::Stdio, upstream: Transport::Stdio, has_several_sources: false };
    let mut world = World::with_database(setting, NOTES, STATEMENTS, "");
    world.start();
    let pid = world.server().pid();
    let calls = computing_calls();
    let Server::Stdio(piped) = world.server() else { unreachable!() };
    calls.iter().for_each(|call| piped.send(call));
    until("they run", || (running_threads(pid) >= 4).then_some(()));
    assert_eq!(piped.data("read", "get_note", json!({ "id": 1 }))["title"], "First");
    assert_eq!(piped.data("read", "list_notes", json!({}))["items"][0]["title"], "First");
    until("none has ended meanwhile", || (running_threads(pid) >= 4).then_some(()));
    calls.iter().for_each(|call| piped.send(&cancel(call)));
    let answer = piped.call("mcp_aql_read", statement("SELECT title FROM notes"));
    assert_eq!(answer["data"]["rows"], json!([["First"]]), "{answer}");
    wait_until_idle(pid);
}
