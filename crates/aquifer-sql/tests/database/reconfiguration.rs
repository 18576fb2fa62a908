//! A change that waits for its database is not made once another configuration is in effect.

use std::sync::Arc;

use aquifer_engine::{Engine, Mount};
use aquifer_sql::{Database, Settings};
use serde_json::{Value, json};

use crate::support::{File, call, engine, open};

const TABLE: &str =
    "CREATE TABLE things (id INTEGER PRIMARY KEY, name TEXT NOT NULL); INSERT INTO things VALUES (1, 'a');";

fn changes() -> [(&'static str, Value); 4] {
    [
        ("create_thing", json!({ "id": 2, "name": "b" })),
        ("update_thing", json!({ "id": 1, "input": { "name": "b" } })),
        ("delete_thing", json!({ "id": 1 })),
        ("delete_thing", json!({ "id": 1, "dry_run": true })),
    ]
}

async fn served(settings: Settings) -> (Arc<Database>, Arc<Engine>) {
    let database = open(settings).await.unwrap();
    let engine = engine(&database);
    (database, engine)
}

#[tokio::test]
async fn r_saf_2_a_change_waiting_for_a_lock_is_refused_after_a_reconfiguration() {
    for (operation, params) in changes() {
        for is_removed in [false, true] {
            let file = File::create(TABLE);
            let (database, engine) = served(file.settings()).await;
            let other = file.connection();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            let changing = async {
                let mounts = if is_removed { Vec::new() } else { vec![Mount::new(database.clone())] };
                engine.remount(mounts).unwrap();
                other.execute_batch("ROLLBACK").unwrap();
            };
            // Polled in this order: the call waits for the lock when the sources change.
            let (answer, ()) = tokio::join!(call(&engine, operation, params.clone()), changing);
            assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{operation}: {answer}");
            assert_eq!(file.value("SELECT count(*) || max(name) FROM things"), "1a", "{operation}");
            if !is_removed {
                assert_eq!(call(&engine, operation, params.clone()).await["success"], true, "it can be sent again");
            }
        }
    }
}

#[tokio::test]
async fn r_saf_2_a_change_waiting_for_a_connection_is_refused_after_a_reconfiguration() {
    let server = crate::server::Server::new(TABLE).await;
    let (database, engine) = served(server.settings()).await;
    for (operation, params) in changes() {
        let changing = async { engine.remount(vec![Mount::new(database.clone())]).unwrap() };
        let (answer, ()) = tokio::join!(call(&engine, operation, params), changing);
        assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{operation}: {answer}");
        assert_eq!(server.value("SELECT count(*) || max(name) FROM things").await, "1a", "{operation}");
    }
}

/// The change has reached its server, but is not committed.
#[tokio::test]
async fn r_saf_2_a_change_waiting_for_a_row_is_refused_after_a_reconfiguration() {
    let server = crate::server::Server::new(TABLE).await;
    let (database, engine) = served(server.settings()).await;
    let other = server.connect().await;
    let waiting =
        "SELECT count(*)::text FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    for (operation, params) in
        [("update_thing", json!({ "id": 1, "input": { "name": "b" } })), ("delete_thing", json!({ "id": 1 }))]
    {
        other.batch_execute("BEGIN; SELECT * FROM things FOR UPDATE").await.unwrap();
        let changing = async {
            crate::support::wait_until("it waits for the row", || async { server.value(waiting).await == "1" }).await;
            engine.remount(vec![Mount::new(database.clone())]).unwrap();
            other.batch_execute("ROLLBACK").await.unwrap();
        };
        let (answer, ()) = tokio::join!(call(&engine, operation, params), changing);
        assert_eq!(answer["error"]["code"], "CONFLICT_VERSION_MISMATCH", "{operation}: {answer}");
        assert_eq!(server.value("SELECT count(*) || max(name) FROM things").await, "1a", "{operation}");
    }
}
