//! A token is redeemed once, by however many at once, in however many processes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{Place, delete, delete_with};
use crate::support::{Served, token, try_call};

/// Two servers on the same state.
fn servers(place: &Place) -> [Served; 2] {
    let serve = || {
        let mut command = place.command(&["serve", "--http", "127.0.0.1:0"]);
        Served::spawn(command.env("STORE", std::env::var("AQUIFER_TEST_REDIS").unwrap_or_default()))
    };
    [serve(), serve()]
}

/// Has so many redeem a token at once, at one server or the other, and gives the answers.
fn redeem(servers: &[Served; 2], tries: usize, token: &str) -> Vec<Value> {
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
                    answers.lock().unwrap().push(answer.unwrap());
                }
            });
        }
    });
    answers.into_inner().unwrap()
}

fn used(answers: &[Value]) -> usize {
    answers.iter().filter(|answer| answer["error"]["code"] == "TOKEN_ALREADY_USED").count()
}

/// A token that was given before both servers were restarted, redeemed by a thousand, and once more after another restart.
fn exactly_once(place: &Place) {
    const TRIES: usize = 1_000;
    let asked = servers(place)[0].call("mcp_aql_delete", delete(5));
    let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
    let answers = redeem(&servers(place), TRIES, &token);
    let done = answers.iter().filter(|answer| answer["success"] == true).count();
    let other = answers.iter().find(|answer| answer["success"] != true && used(&[(*answer).clone()]) == 0);
    assert_eq!((done, used(&answers), other), (1, TRIES - 1, None));
    assert_eq!(used(&redeem(&servers(place), 10, &token)), 10);
    assert_eq!(place.books(), 49);
}

#[test]
fn r_saf_6_by_a_thousand_across_two_servers_and_restarts_on_one_sqlite_file() {
    exactly_once(&Place::new(""));
}

#[cfg(feature = "redis")]
#[test]
fn r_saf_6_by_a_thousand_across_two_servers_and_restarts_on_one_redis() {
    std::env::var("AQUIFER_TEST_REDIS").expect("AQUIFER_TEST_REDIS is not set. Run: cargo xtask test");
    let prefix = format!("aquifer-test-{}:", std::process::id());
    exactly_once(&Place::new(&format!("store = \"${{STORE}}\"\nredis_prefix = \"{prefix}\"\n")));
}
