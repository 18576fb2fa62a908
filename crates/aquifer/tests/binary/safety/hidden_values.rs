//! Changes tell nothing of what may not be read: neither rows, nor hidden columns by way of constraints (R-EXT-6).

use serde_json::{Value, json};

use super::Fixture;
use crate::postgres::Database;
use crate::support::{HttpServer, Server, Transport, alter, run, text, token, try_call};

const GOODS: &str = "
    CREATE TABLE goods (id INTEGER PRIMARY KEY, price INTEGER, least INTEGER, CHECK (price >= least));
    INSERT INTO goods VALUES (1, 100, 73);";

fn update(server: &mut Server, params: Value) -> Value {
    server.call("mcp_aql_update", json!({ "operation": "update_good", "params": params }))
}

/// Two processes and a restart share one count of tries, and each try is on record.
#[test]
fn r_ext_6_tries_against_hidden_columns_are_recorded_and_limited() {
    let fixture = Fixture::with_source("[source.tables.goods]\nhide = [\"least\"]\n", "");
    alter(&fixture.library, GOODS);
    let validated = run(&["validate", &fixture.folder.path("aquifer.toml")]);
    let warned = text(&validated.stderr);
    assert!(warned.contains("table 'goods'") && warned.contains("says something about hidden columns"), "{warned}");
    let start = |transport| Server::spawn(transport, &mut fixture.command(&["serve"]));
    let (mut piped, mut served) = (start(Transport::Stdio), start(Transport::Http));
    let dry_run = |price: u64| json!({ "id": 1, "input": { "price": price }, "dry_run": true });
    for price in 60..67 {
        let answer = update(&mut piped, dry_run(price));
        assert_eq!(answer["error"]["code"], "CONFLICT_CONSTRAINT", "{answer}");
        assert_eq!(update(&mut served, dry_run(price + 20))["success"], json!(true));
    }
    // A real change counts if it fails.
    for price in 60..65 {
        let params = json!({ "id": 1, "input": { "price": price } });
        assert_eq!(update(&mut piped, params)["error"]["code"], "CONFLICT_CONSTRAINT");
    }
    assert_eq!(update(&mut served, json!({ "id": 1, "input": { "price": 99 } }))["success"], json!(true));
    assert_eq!(update(&mut piped, dry_run(70))["error"]["code"], "CONFLICT_CONSTRAINT");
    piped.stop();
    let mut piped = start(Transport::Stdio);
    for server in [&mut piped, &mut served] {
        assert_eq!(update(server, dry_run(80))["error"]["code"], "RATE_LIMIT_EXCEEDED");
        let params = json!({ "id": 1, "input": { "price": 72 } });
        assert_eq!(update(server, params)["error"]["code"], "RATE_LIMIT_EXCEEDED");
        let other =
            json!({ "operation": "update_book", "params": { "id": 1, "input": { "title": "x" }, "dry_run": true } });
        assert_eq!(server.code("mcp_aql_update", other), "done");
    }
    piped.stop();
    served.stop();
    let audited = fixture.audited();
    let intents = audited.lines().filter(|line| line.contains("OPERATION_INTENT") && line.contains("update_good"));
    assert_eq!(intents.count(), 21, "{audited}");
    assert!(!audited.contains("update_book"), "{audited}");
}

/// A change that has not failed yet takes the place of a try.
#[test]
fn r_ext_6_many_changes_at_once_are_no_way_around_the_limit() {
    let fixture = Fixture::with_source("[source.tables.goods]\nhide = [\"least\"]\n", "");
    alter(&fixture.library, GOODS);
    let served = HttpServer::spawn(&mut fixture.command(&["serve", "--http", "127.0.0.1:0"]));
    let params = json!({ "id": 1, "input": { "price": 1 } });
    let call =
        || try_call(&served.authority, "mcp_aql_update", json!({ "operation": "update_good", "params": params }));
    let answers: Vec<Option<Value>> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..60).map(|_| scope.spawn(call)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let told = answers.iter().flatten().filter(|answer| answer["error"]["code"] == "CONFLICT_CONSTRAINT").count();
    assert!((1..=20).contains(&told), "{told}: {answers:?}");
}

/// Where nothing may be read, changes and dry runs give back what was sent, and the key. Changes are on record.
#[test]
fn r_ext_6_changes_give_back_no_row_that_may_not_be_read() {
    let rule = "[[gate.rule]]\neffect = \"deny\"\ncategory = \"read\"\n";
    let books = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
        INSERT INTO books SELECT id, 'Book ' || id FROM generate_series(1, 50) id;";
    let (on_sqlite, on_postgres) = (Fixture::new(rule), Fixture::new(rule));
    let database = Database::with(books);
    let state = on_postgres.folder.path("state");
    let config =
        format!("[[source]]\nname = \"library\"\ntarget = \"{}\"\n[state]\ndir = {state:?}\n{rule}", database.url);
    on_postgres.folder.file("aquifer.toml", &config);
    for fixture in [on_sqlite, on_postgres] {
        for (transport, id) in [(Transport::Stdio, 7), (Transport::Http, 8)] {
            let mut server = Server::spawn(transport, &mut fixture.command(&["serve"]));
            let mut call = |verb: &str, params: &Value| {
                let family = if verb == "get" { "read" } else { verb };
                let arguments = json!({ "operation": format!("{verb}_book"), "params": params });
                let answer = server.call(&format!("mcp_aql_{family}"), arguments);
                assert!(!answer.to_string().contains("Book "), "{transport:?} {verb} {params}: {answer}");
                answer
            };
            for (verb, params, expected) in [
                ("update", json!({ "id": id, "input": {} }), json!({ "id": id })),
                (
                    "update",
                    json!({ "id": id, "input": {}, "dry_run": true }),
                    json!({ "dry_run": true, "would": "update", "changes": {} }),
                ),
                (
                    "update",
                    json!({ "id": id, "input": { "title": "Sent" }, "dry_run": true }),
                    json!({ "dry_run": true, "would": "update", "changes": { "title": { "to": "Sent" } } }),
                ),
                (
                    "delete",
                    json!({ "id": id, "dry_run": true }),
                    json!({ "dry_run": true, "would": "delete", "before": { "id": id } }),
                ),
            ] {
                let answer = call(verb, &params);
                assert_eq!(answer["data"], expected, "{transport:?} {verb} {params}: {answer}");
            }
            let asked = call("delete", &json!({ "id": id }));
            let deleted = call("delete", &json!({ "id": id, "confirmation_token": token(&asked) }));
            assert_eq!(deleted["data"], json!({ "id": id }), "{transport:?}: {deleted}");
            assert_eq!(call("get", &json!({ "id": 1 }))["error"]["code"], "PERMISSION_DENIED");
            server.stop();
        }
        let audited = fixture.audited();
        let entries: Vec<Value> = audited.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let intents: Vec<(&Value, &Value)> = entries
            .iter()
            .filter(|entry| entry["event"] == "OPERATION_INTENT")
            .map(|entry| (&entry["operation"], &entry["parameters"]["id"]))
            .collect();
        let expected = [("update_book", 7), ("delete_book", 7), ("update_book", 8), ("delete_book", 8)];
        assert_eq!(json!(intents), json!(expected), "{audited}");
        let (code, report) = fixture.verified();
        assert_eq!(code, 0, "{report}");
    }
}
