//! Changes whose end is not known are said to be so, and no others.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Stage;

fn is_unknown(answer: &Value) -> bool {
    answer["error"]["details"]["outcome"] == "unknown"
}

/// SQLite waits for readers before it keeps a change. If they do not go, nothing is kept, and that is known.
#[tokio::test]
async fn r_saf_5_a_file_that_cannot_be_kept_has_not_changed() {
    let notes = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes VALUES (1, 'one');
                 CREATE TABLE later (id INTEGER PRIMARY KEY, note_id INTEGER REFERENCES notes(id) DEFERRABLE INITIALLY DEFERRED);";
    let stage = Stage::sqlite_with(notes, |settings| settings.timeout = Duration::from_secs(1)).await;
    let other = stage.file().connection();
    other.execute_batch("BEGIN; SELECT * FROM notes").unwrap();
    let answer = stage.ask("create_note", json!({ "body": "two" })).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert!(!is_unknown(&answer), "{answer}");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(stage.value("SELECT count(*) FROM notes").await, "1");
    // Nor has one that is refused in the end.
    let answer = stage.ask("create_later", json!({ "note_id": 99 })).await;
    assert_eq!(answer["error"]["code"], "CONFLICT_CONSTRAINT", "{answer}");
    assert!(!is_unknown(&answer), "{answer}");
    assert_eq!(stage.get("create_note", json!({ "body": "two" })).await["id"], 2);
}

/// A change that its caller has left is either whole or not there.
#[tokio::test]
async fn r_saf_5_a_change_that_is_left_is_whole_or_not_there() {
    let stage = Stage::sqlite(
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); CREATE TABLE log (id INTEGER PRIMARY KEY, note_id INTEGER);
         CREATE TRIGGER t AFTER INSERT ON notes BEGIN INSERT INTO log (note_id) VALUES (new.id); END;",
    )
    .await;
    for round in 0..60 {
        let engine = stage.engine.clone();
        let change =
            tokio::spawn(async move { crate::support::ask(&engine, "create_note", json!({ "body": "x" })).await });
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        change.abort();
        let _ = change.await;
    }
    stage.get("create_note", json!({ "body": "last" })).await;
    assert_eq!(stage.value("SELECT count(*) FROM notes").await, stage.value("SELECT count(*) FROM log").await);
}

#[cfg(feature = "postgres")]
mod postgres {
    use super::*;
    use crate::postgres_failures::{Gate, Way, asked, role_on, until_running};
    use crate::server::Server;
    use crate::support::{Behind, until};

    /// A change that takes long before it is kept (`before`), or while it is.
    const SLOW: &str = "
        CREATE TABLE notes (id int PRIMARY KEY, body text);
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.body = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
        CREATE TRIGGER before BEFORE INSERT ON notes FOR EACH ROW WHEN (NEW.id < 100) EXECUTE FUNCTION slowly();
        CREATE CONSTRAINT TRIGGER while AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.id >= 100)
            EXECUTE FUNCTION slowly();";

    /// Ends the server's process until the call has noticed, and gives its answer.
    async fn ended(stage: &Stage, change: tokio::task::JoinHandle<Value>) -> Value {
        until("it is ended", || async {
            stage.behind(END).await;
            change.is_finished()
        })
        .await;
        change.await.unwrap()
    }

    async fn until_kept(stage: &Stage) {
        until("it is being made final", || async {
            let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND state = 'active'";
            stage.value(query).await == "1"
        })
        .await;
    }

    const END: &str = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database() AND state = 'active'";

    #[tokio::test]
    async fn r_saf_5_a_server_process_that_is_ended_while_it_keeps_a_change() {
        let stage = Stage::postgres(SLOW).await;
        let change = asked(&stage, "create_note", json!({ "id": 100, "body": "slow" }));
        until_kept(&stage).await;
        let answer = ended(&stage, change).await;
        assert!(is_unknown(&answer), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("it may have been made or not"), "{answer}");
        // Before that nothing is kept, and that is known.
        let change = asked(&stage, "create_note", json!({ "id": 1, "body": "slow" }));
        let answer = ended(&stage, change).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
        assert!(!is_unknown(&answer), "{answer}");
        assert_eq!(stage.value("SELECT count(*) FROM notes").await, "0");
    }

    #[tokio::test]
    async fn r_saf_5_a_server_that_falls_silent_while_it_keeps_a_change() {
        let server = Server::new(SLOW).await;
        let role = role_on(&server).await;
        let gate = Gate::open().await;
        let mut settings = gate.settings(&server, &role);
        settings.timeout = Duration::from_secs(2);
        let stage = Stage::on(settings, Behind::Server(server)).await;
        let change = asked(&stage, "create_note", json!({ "id": 100, "body": "slow" }));
        until_kept(&stage).await;
        gate.set(Way::Silent);
        let answer = change.await.unwrap();
        assert!(is_unknown(&answer), "{answer}");
        gate.set(Way::Open);
    }

    /// The server itself stops a statement that takes too long, and says so. It does not stop a change that is being kept:
    /// whoever no longer waits for that does not know.
    #[tokio::test]
    async fn r_saf_5_a_change_that_takes_too_long_is_in_doubt_only_once_it_is_being_kept() {
        let stage = Stage::postgres_with(SLOW, |settings| settings.timeout = Duration::from_secs(2)).await;
        let answer = stage.ask("create_note", json!({ "id": 1, "body": "slow" })).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_TIMEOUT", "{answer}");
        assert!(!is_unknown(&answer), "{answer}");
        let answer = stage.ask("create_note", json!({ "id": 100, "body": "slow" })).await;
        assert!(is_unknown(&answer), "{answer}");
        until_running(&stage, "0").await;
        stage.get("create_note", json!({ "id": 101, "body": "quick" })).await;
    }

    /// A rehearsal that is cut off has changed nothing, whenever that happens.
    #[tokio::test]
    async fn r_req_9_a_rehearsal_that_is_cut_off_is_never_in_doubt() {
        let server = Server::new(SLOW).await;
        let role = role_on(&server).await;
        let gate = Gate::open().await;
        let stage = Stage::on(gate.settings(&server, &role), Behind::Server(server)).await;
        for id in [1, 100] {
            let change = asked(&stage, "create_note", json!({ "id": id, "body": "slow", "dry_run": true }));
            until_running(&stage, "1").await;
            gate.set(Way::Cut);
            // A line that is cut is taken up again, so this may go on; then it is ended for good.
            gate.set(Way::Open);
            let answer = ended(&stage, change).await;
            assert!(answer["success"] == json!(false) && !is_unknown(&answer), "{answer}");
        }
        until_running(&stage, "0").await;
        assert_eq!(stage.value("SELECT count(*) FROM notes").await, "0");
    }
}
