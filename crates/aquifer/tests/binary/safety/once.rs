//! A token is redeemed once, by however many at once, in however many processes.

use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Fixture, delete, delete_with};
use crate::support::{HttpServer, HttpSession, stateless_body, token, try_call, until};

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
    let read = json!({ "operation": "get_book", "params": { "id": 7 } });
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
///
/// A server that is too busy to record the deletion in time refuses it, and the token is used; then there is another one.
fn exactly_once(fixture: &Fixture) {
    const TRIES: usize = 1_000;
    let token = until("a deletion is recorded in time", || {
        let asked = servers(fixture)[0].call("mcp_aql_delete", delete(5));
        let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
        let answers = redeem(&servers(fixture), TRIES, &token);
        let done = answers.iter().filter(|answer| answer["success"] == true).count();
        let refused = |answer: &&Value| answer["success"] != true && answer["error"]["code"] != "TOKEN_ALREADY_USED";
        let refused: Vec<&Value> = answers.iter().filter(refused).collect();
        assert_eq!((done + refused.len(), used(&answers)), (1, TRIES - 1), "{refused:?}");
        assert_eq!(fixture.books(), if done == 1 { 49 } else { 50 });
        let unrecorded = |answer: &&Value| answer["error"]["message"].to_string().contains("Nothing was done");
        assert!(refused.iter().all(unrecorded), "{refused:?}");
        (done == 1).then_some(token)
    });
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

/// Deletes book 3 as a client without a session that can be asked, which answers by sending the call again.
fn delete_by_retry(served: &HttpServer, answers: &Value) -> Value {
    let (mut body, _) = stateless_body("tools/call", json!({ "name": "mcp_aql_delete", "arguments": delete(3) }));
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    body["params"]["inputResponses"] = answers.clone();
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "mcp_aql_delete")];
    served.post(&headers, body.to_string().as_bytes()).json()["result"].clone()
}

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or("done")
}

/// Callers share a limit, and what is only sent again is not counted, whatever comes of it: with sessions on one server,
/// and with servers that share their state.
#[test]
fn r_saf_4_replays_that_are_refused_do_not_use_up_a_limit_of_others() {
    const LIMIT: usize = 8;
    for other in [0, 1] {
        let keys = format!("[[gate.rate_limit]]\nname = \"all\"\nlimit = {LIMIT}\nwindow = \"day\"\n");
        let fixture = Fixture::new(&keys);
        let both = servers(&fixture);
        let [greedy, modest] = [&both[0], &both[other]].map(|served| HttpSession::new(served, &json!({})));
        // Counted once: a token that is redeemed, and tried again by whoever has it.
        let asked = greedy.call("mcp_aql_delete", delete(1));
        let token = token(&asked).unwrap_or_else(|| panic!("{asked}")).to_owned();
        assert_eq!(code(&greedy.call("mcp_aql_delete", delete_with(1, &token))), "done");
        for caller in [&greedy, &modest] {
            for id in [1, 1, 2] {
                let refused = caller.call("mcp_aql_delete", delete_with(id, &token));
                assert!(code(&refused).starts_with("TOKEN_"), "{refused}");
            }
        }
        // Counted once: a question that is declined in a session.
        let person = HttpSession::new(&both[0], &json!({ "elicitation": {} }));
        let (declined, questions) = person.call_answering("mcp_aql_delete", delete(2), |message| {
            let is_question = message["method"] == "elicitation/create";
            is_question.then(|| json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "action": "decline" } }))
        });
        assert_eq!((code(&declined), questions.len()), ("PERMISSION_DENIED", 1), "{declined}");
        // Counted once: a question that is declined without a session, and answered again with a yes.
        let question = delete_by_retry(&both[0], &json!({}));
        let name = question["inputRequests"].as_object().and_then(|all| all.keys().next());
        let name = name.unwrap_or_else(|| panic!("{question}"));
        let answers = |action: &str| Value::from_iter([(name.clone(), json!({ "action": action, "content": {} }))]);
        for (served, action) in
            [(0, "decline"), (other, "accept"), (0, "accept"), (other, "decline"), (other, "accept")]
        {
            let refused = delete_by_retry(&both[served], &answers(action));
            assert_eq!(code(&refused["structuredContent"]), "PERMISSION_DENIED", "{action}: {refused}");
        }
        drop(both);
        // Nor is what is sent again after a restart.
        let both = servers(&fixture);
        for served in &both {
            let refused = delete_by_retry(served, &answers("accept"));
            assert_eq!(code(&refused["structuredContent"]), "PERMISSION_DENIED", "{refused}");
            let refused = HttpSession::new(served, &json!({})).call("mcp_aql_delete", delete_with(1, &token));
            assert!(code(&refused).starts_with("TOKEN_"), "{refused}");
        }
        let modest = HttpSession::new(&both[other], &json!({}));
        let read = json!({ "operation": "get_book", "params": { "id": 9 } });
        let codes: Vec<String> =
            (0..=LIMIT - 3).map(|_| code(&modest.call("mcp_aql_read", read.clone())).to_owned()).collect();
        let mut expected = vec!["done"; LIMIT - 3];
        expected.push("RATE_LIMIT_EXCEEDED");
        assert_eq!(codes, expected, "three were counted before");
        assert_eq!(fixture.books(), 49);
    }
}
