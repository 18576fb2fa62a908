//! Two servers on one Redis are one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{Place, delete, delete_with};
use crate::support::{Served, token, try_call};

#[test]
fn r_saf_3_a_token_is_redeemed_once_by_a_thousand_across_two_servers() {
    const TRIES: usize = 1_000;
    let url = std::env::var("AQUIFER_TEST_REDIS").expect("AQUIFER_TEST_REDIS is not set. Run: cargo xtask test");
    let prefix = format!("aquifer-test-{}:", std::process::id());
    let place = Place::new(&format!("store = \"${{STORE}}\"\nredis_prefix = \"{prefix}\"\n"));
    let serve = || Served::spawn(place.command(&["serve", "--http", "127.0.0.1:0"]).env("STORE", &url));
    let servers = [serve(), serve()];
    let asked = servers[0].call("mcp_aql_delete", delete(5));
    let token: Arc<str> = token(&asked).unwrap_or_else(|| panic!("{asked}")).into();
    let authorities = servers.each_ref().map(|server| server.authority.clone());
    let (done, used, next) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                loop {
                    let turn = next.fetch_add(1, Ordering::Relaxed);
                    if turn >= TRIES {
                        return;
                    }
                    let answer = try_call(&authorities[turn % 2], "mcp_aql_delete", delete_with(5, &token)).unwrap();
                    match (answer["success"] == true, answer["error"]["code"].as_str()) {
                        (true, _) => done.fetch_add(1, Ordering::Relaxed),
                        (false, Some("TOKEN_ALREADY_USED")) => used.fetch_add(1, Ordering::Relaxed),
                        _ => panic!("{answer}"),
                    };
                }
            });
        }
    });
    assert_eq!((done.into_inner(), used.into_inner()), (1, TRIES - 1));
    assert_eq!(place.books(), 49);
}
