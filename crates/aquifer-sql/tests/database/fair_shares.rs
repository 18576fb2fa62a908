//! One caller with many slow reads does not keep others from the database.

use std::sync::Arc;

use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::Receiver;
use futures::FutureExt;
use serde_json::{Value, json};

use crate::support::{Backing, TIMEOUT, fixtures_with, wait_until};

const TABLES: &str = "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT); INSERT INTO books VALUES (1, 'Notes');";
/// Never ends on its own. It computes on SQLite and waits on PostgreSQL.
const ENDLESS_ON_SQLITE: &str = "CREATE VIEW slow_books AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n WHERE i < 0;";
const ENDLESS_ON_POSTGRES: &str = "CREATE VIEW slow_books AS SELECT 1 AS i FROM pg_sleep(300);";

async fn send(engine: Arc<Engine>, caller: Caller, id: &str, request: Value) -> Value {
    let request = request.as_object().unwrap().clone();
    match engine.handle(&Receiver::Unified, request, Context::new(caller, id)).await {
        Reply::Response(response) => response.render(&Limits::default()).value(),
        Reply::NeedsInput(question) => panic!("{}", question.message),
    }
}

/// Callers are told apart by their principal, else their session, else the request.
#[tokio::test]
async fn a_batch_of_slow_lists_leaves_connections_to_others() {
    let callers = [
        (Caller::session("greedy"), Caller::session("modest")),
        (Caller::anonymous(), Caller::anonymous()),
        (
            Caller { principal: Some("greedy".into()), session: Some("one".into()) },
            Caller { principal: Some("modest".into()), session: Some("one".into()) },
        ),
    ];
    for (greedy, modest) in callers {
        let sql = |slow: &str| format!("{TABLES}{slow}");
        let (sqlite, postgres) = (sql(ENDLESS_ON_SQLITE), sql(ENDLESS_ON_POSTGRES));
        for fixture in fixtures_with(&sqlite, &postgres, |settings| settings.timeout = TIMEOUT * 3).await {
            let engine = &fixture.engine;
            assert!(fixture.operations().contains(&"list_slow_books".to_owned()));
            let lists = vec![json!({ "operation": "list_slow_books" }); 32];
            let mut batch = Box::pin(send(engine.clone(), greedy.clone(), "req_1", json!({ "operations": lists })));
            // Its first poll takes as many connections as it can get; a server also has to have begun.
            let is_running = |fixture: &crate::support::Fixture| match &fixture.backing {
                Backing::File(_) => None,
                Backing::Server(_) => Some(
                    "SELECT (count(*) > 2)::text FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%\"slow_books\"%' AND pid <> pg_backend_pid()",
                ),
            };
            assert!((&mut batch).now_or_never().is_none());
            if let Some(sql) = is_running(&fixture) {
                let started = wait_until("the lists run", async || fixture.value(sql).await == "true");
                tokio::select! { () = started => {}, answer = &mut batch => panic!("{answer}") }
            }
            let others = async {
                for (operation, caller) in [
                    ("get_book", &modest),
                    ("list_books", &modest),
                    ("get_book", &greedy),
                    ("list_books", &Caller::session("third")),
                ] {
                    let params = if operation == "get_book" { json!({ "id": 1 }) } else { json!({}) };
                    let request = json!({ "operation": operation, "params": params });
                    let answer = send(engine.clone(), caller.clone(), "req_2", request);
                    let answer = tokio::time::timeout(TIMEOUT, answer).await;
                    let answer = answer.unwrap_or_else(|_| panic!("{operation} of {caller:?} waits for {greedy:?}"));
                    assert_eq!(answer["success"], true, "{operation} of {caller:?}: {answer}");
                }
            };
            tokio::select! { () = others => {}, answer = &mut batch => panic!("{answer}") }
        }
    }
}
