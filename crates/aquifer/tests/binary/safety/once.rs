//! A token is redeemed once, by however many at once, in however many processes.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::Value;

use super::{Fixture, delete, delete_with};
use crate::support::{HttpServer, token, try_call, until};

/// Two databases may be called the same. A yes for one is none for the other, not even where the name is all that a
/// caller sees of them, and not even when the configuration makes one of the other.
#[test]
fn r_saf_3_a_token_is_for_the_very_database_it_was_given_for() {
    let fixture = Fixture::new("");
    let other = fixture.folder.path("other/library.db");
    std::fs::create_dir(fixture.folder.path("other")).unwrap();
    std::fs::copy(&fixture.library, &other).unwrap();
    let call = |source: &str, request: &Value| -> Value {
        let output = fixture.run(&["call", "delete_book", &request["params"].to_string(), "--source", source]);
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let asked = call(&fixture.library, &delete(7));
    let given = delete_with(7, token(&asked).unwrap());
    let refused = call(&other, &given);
    assert_eq!(refused["error"]["code"], "TOKEN_SCOPE_MISMATCH", "{refused}");
    assert_eq!(refused["error"]["details"]["mismatch"], "source", "{refused}");
    assert_eq!(call(&fixture.library, &given)["success"], true);

    let mut piped = fixture.piped();
    let asked = piped.call("mcp_aql_delete", delete(8));
    let state = fixture.folder.path("state");
    fixture
        .folder
        .file("aquifer.toml", &format!("[[source]]\ntarget = \"sqlite:{other}\"\n[state]\ndir = \"{state}\"\n"));
    let read = serde_json::json!({ "operation": "get_book", "params": { "id": 7 } });
    until("the other library, which still has book 7, is read", || {
        (piped.call("mcp_aql_read", read.clone())["success"] == true).then_some(())
    });
    let refused = piped.call("mcp_aql_delete", delete_with(8, token(&asked).unwrap()));
    assert_eq!(refused["error"]["details"]["mismatch"], "source", "{refused}");
}

/// Two servers on the same state.
fn servers(fixture: &Fixture) -> [HttpServer; 2] {
    let serve = || {
        let mut command = fixture.command(&["serve", "--http", "127.0.0.1:0"]);
        HttpServer::spawn(command.env("STORE", std::env::var("AQUIFER_TEST_REDIS").unwrap_or_default()))
    };
    [serve(), serve()]
}

/// Has so many redeem a token at once, at one server or the other, and gives the answers.
fn redeem(servers: &[HttpServer; 2], tries: usize, token: &str) -> Vec<Value> {
    let authorities = servers.each_ref().map(|server| server.authority.clone());
    let (answers, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= tries {
                        return;
                    }
                    let answer = try_call(&authorities[turn % 2], "mcp_aql_delete", delete_with(5, token));
                    answers.lock().push(answer.unwrap());
                }
            });
        }
    });
    answers.into_inner()
}

fn used(answers: &[Value]) -> usize {
    answers.iter().filter(|answer| answer["error"]["code"] == "TOKEN_ALREADY_USED").count()
}

/// A token that was given before both servers were restarted, redeemed by a thousand, and once more after another restart.
fn exactly_once(fixture: &Fixture) {
    const TRIES: usize = 1_000;
    let asked = servers(fixture)[0].call("mcp_aql_delete", delete(5));
    let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
    let answers = redeem(&servers(fixture), TRIES, &token);
    let done = answers.iter().filter(|answer| answer["success"] == true).count();
    let other = answers.iter().find(|answer| answer["success"] != true && used(&[(*answer).clone()]) == 0);
    assert_eq!((done, used(&answers), other), (1, TRIES - 1, None));
    assert_eq!(used(&redeem(&servers(fixture), 10, &token)), 10);
    assert_eq!(fixture.books(), 49);
}

#[test]
fn r_saf_6_by_a_thousand_across_two_servers_and_restarts_on_one_sqlite_file() {
    exactly_once(&Fixture::new(""));
}

#[test]
fn r_saf_6_by_a_thousand_across_two_servers_and_restarts_on_one_redis() {
    std::env::var("AQUIFER_TEST_REDIS").expect("AQUIFER_TEST_REDIS is not set. Run: cargo xtask test");
    let prefix = format!("aquifer-test-{}:", std::process::id());
    exactly_once(&Fixture::new(&format!("store = \"${{STORE}}\"\nredis_prefix = \"{prefix}\"\n")));
}
