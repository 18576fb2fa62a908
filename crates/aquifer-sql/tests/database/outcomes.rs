//! Changes whose outcome is unknown are reported as such, and no others are.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Fixture;

fn is_unknown(answer: &Value) -> bool {
    answer["error"]["details"]["outcome"] == "unknown"
}

/// SQLite waits for readers before it commits. If they do not finish, nothing is changed, and that is known.
#[tokio::test]
async fn r_saf_5_a_commit_blocked_by_readers_changes_nothing() {
    let notes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes VALUES (1, 'one');
                 CREATE TABLE later (id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES notes(id) DEFERRABLE INITIALLY DEFERRED);";
    let fixture = Fixture::sqlite_with(notes, |settings| settings.timeout = Duration::from_secs(1)).await;
    let other = fixture.file().connection();
    other.execute_batch("BEGIN; SELECT * FROM notes").unwrap();
    let answer = fixture.call("create_note", json!({ "body": "two" })).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert!(!is_unknown(&answer), "{answer}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(fixture.value("SELECT count(*) FROM notes").await, "1");
    // The same for a commit that is refused.
    let answer = fixture.call("create_later", json!({ "note_id": 99 })).await;
    assert_eq!(answer["error"]["code"], "CONFLICT_CONSTRAINT", "{answer}");
    assert!(!is_unknown(&answer), "{answer}");
    assert_eq!(fixture.call_ok("create_note", json!({ "body": "two" })).await["id"], 2);
}

/// An abandoned change is either complete or not made.
#[tokio::test]
async fn r_saf_5_an_abandoned_change_is_atomic() {
    let fixture = Fixture::sqlite(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE log (id INTEGER PRIMARY KEY, note_id INTEGER);
         CREATE TRIGGER t AFTER INSERT ON notes BEGIN INSERT INTO log (note_id) VALUES (new.id); END;",
    )
    .await;
    for round in 0..60 {
        let engine = fixture.engine.clone();
        let change =
            tokio::spawn(async move { crate::support::call(&engine, "create_note", json!({ "body": "x" })).await });
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        change.abort();
        let _ = change.await;
    }
    fixture.call_ok("create_note", json!({ "body": "last" })).await;
    assert_eq!(fixture.value("SELECT count(*) FROM notes").await, fixture.value("SELECT count(*) FROM log").await);
}

mod postgres {
    use super::*;
    use crate::postgres_failures::{Proxy, ProxyMode, role_on, spawn_call, wait_until_running};
    use crate::server::Server;
    use crate::support::{Backing, wait_until};

    /// A change that takes long before the commit (`before`), or during it.
    const SLOW: &str = "
        CREATE TABLE notes (id int PRIMARY KEY, body text);
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.body = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
        CREATE TRIGGER before BEFORE INSERT ON notes FOR EACH ROW WHEN (NEW.id < 100) EXECUTE FUNCTION slowly();
        CREATE CONSTRAINT TRIGGER while AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.id >= 100)
            EXECUTE FUNCTION slowly();";

    /// Terminates the backend until the call has noticed, and returns its answer.
    async fn terminate(fixture: &Fixture, change: tokio::task::JoinHandle<Value>) -> Value {
        wait_until("it is ended", || async {
            fixture.run_sql(END).await;
            change.is_finished()
        })
        .await;
        change.await.unwrap()
    }

    async fn wait_until_committing(fixture: &Fixture) {
        wait_until("it is being made final", || async {
            let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND state = 'active'";
            fixture.value(query).await == "1"
        })
        .await;
    }

    const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database() AND state = 'active'";

    #[tokio::test]
    async fn r_saf_5_a_backend_terminated_during_commit_has_an_unknown_outcome() {
        let fixture = Fixture::postgres(SLOW).await;
        let change = spawn_call(&fixture, "create_note", json!({ "id": 100, "body": "slow" }));
        wait_until_committing(&fixture).await;
        let answer = terminate(&fixture, change).await;
        assert!(is_unknown(&answer), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("may or may not have been made"), "{answer}");
        // Before the commit nothing is changed, and that is known.
        let change = spawn_call(&fixture, "create_note", json!({ "id": 1, "body": "slow" }));
        let answer = terminate(&fixture, change).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
        assert!(!is_unknown(&answer), "{answer}");
        assert_eq!(fixture.value("SELECT count(*) FROM notes").await, "0");
    }

    #[tokio::test]
    async fn r_saf_5_a_server_that_hangs_during_commit_has_an_unknown_outcome() {
        let server = Server::new(SLOW).await;
        let role = role_on(&server).await;
        let proxy = Proxy::open().await;
        let mut settings = proxy.settings(&server, &role);
        settings.timeout = Duration::from_secs(2);
        let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
        let change = spawn_call(&fixture, "create_note", json!({ "id": 100, "body": "slow" }));
        wait_until_committing(&fixture).await;
        proxy.set(ProxyMode::Silent);
        let answer = change.await.unwrap();
        assert!(is_unknown(&answer), "{answer}");
        proxy.set(ProxyMode::Open);
    }

    /// The server cancels a statement that exceeds its timeout, and reports it. It does not cancel a commit in
    /// progress: a caller that stops waiting does not know its outcome.
    #[tokio::test]
    async fn r_saf_5_a_timed_out_change_is_in_doubt_only_during_commit() {
        let fixture = Fixture::postgres_with(SLOW, |settings| settings.timeout = Duration::from_secs(2)).await;
        let answer = fixture.call("create_note", json!({ "id": 1, "body": "slow" })).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_TIMEOUT", "{answer}");
        assert!(!is_unknown(&answer), "{answer}");
        let answer = fixture.call("create_note", json!({ "id": 100, "body": "slow" })).await;
        assert!(is_unknown(&answer), "{answer}");
        wait_until_running(&fixture, "0").await;
        fixture.call_ok("create_note", json!({ "id": 101, "body": "quick" })).await;
    }

    /// An interrupted dry run has changed nothing, whenever it was interrupted.
    #[tokio::test]
    async fn r_req_9_an_interrupted_dry_run_is_never_in_doubt() {
        let server = Server::new(SLOW).await;
        let role = role_on(&server).await;
        let proxy = Proxy::open().await;
        let fixture = Fixture::with_settings(proxy.settings(&server, &role), Backing::Server(server)).await;
        for id in [1, 100] {
            let change = spawn_call(&fixture, "create_note", json!({ "id": id, "body": "slow", "dry_run": true }));
            wait_until_running(&fixture, "1").await;
            proxy.set(ProxyMode::Cut);
            // A cut connection is replaced and the call retried; then it is terminated for good.
            proxy.set(ProxyMode::Open);
            let answer = terminate(&fixture, change).await;
            assert!(answer["success"] == json!(false) && !is_unknown(&answer), "{answer}");
        }
        wait_until_running(&fixture, "0").await;
        assert_eq!(fixture.value("SELECT count(*) FROM notes").await, "0");
    }
}
