//! Files that are missing, damaged, locked, replaced or read-only: each gives a clear failure, and recovery needs no
//! restart.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Reply;
use aquifer_protocol::surface::Receiver;
use aquifer_sql::Database;
use serde_json::{Value, json};

use crate::support::{File, Fixture, assert_harmless, call, context, engine, new_database, open, wait_until};

const NOTES: &str = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO notes (body) VALUES ('one');";

/// The failure of opening a database.
async fn failure(file: &File) -> Value {
    let failure = open(file.settings()).await.err().unwrap();
    let answer = json!({ "error": failure });
    assert_harmless(&answer);
    let secret = file.folder.0.display().to_string();
    assert!(!answer.to_string().contains(&secret), "{answer}");
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    answer["error"].clone()
}

fn assert_message(error: &Value, words: &str) {
    assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
}

#[tokio::test]
async fn r_res_4_a_missing_file_is_found_once_it_appears() {
    let file = File::missing();
    assert_message(&failure(&file).await, "its file does not exist");
    let database = new_database(file.settings());
    let engine = engine(&database);
    let before = call(&engine, "list_tables", json!({})).await;
    assert_message(&before["error"], "its file does not exist");
    call(&engine, "list_notes", json!({})).await["error"]["code"].as_str().unwrap();
    file.run(NOTES);
    let tables = call(&engine, "list_tables", json!({})).await;
    assert_eq!(tables["data"]["items"][0]["name"], "notes", "{tables}");
    engine.refresh().unwrap();
    assert_eq!(call(&engine, "list_notes", json!({})).await["data"]["items"][0]["body"], "one");
    // The file disappears and reappears.
    let away = file.folder.0.join("away.db");
    std::fs::rename(file.path(), &away).unwrap();
    for (operation, params) in
        [("list_notes", json!({})), ("create_note", json!({ "body": "x" })), ("get_note", json!({ "id": 1 }))]
    {
        let answer = call(&engine, operation, params).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
        assert_message(&answer["error"], "its file does not exist");
    }
    assert!(!file.path().exists(), "nothing was made in its place");
    std::fs::rename(&away, file.path()).unwrap();
    assert_eq!(call(&engine, "create_note", json!({ "body": "two" })).await["data"]["id"], 2);
}

#[tokio::test]
async fn reflection_is_retried_until_the_database_is_found() {
    let file = File::missing();
    let database = new_database(file.settings());
    let engine = engine(&database);
    let looking = tokio::spawn(Database::reflect_with_retry(Arc::downgrade(&database)));
    let keeping = tokio::spawn({
        let engine = engine.clone();
        async move { engine.watch_sources().await }
    });
    wait_until("the reason is told", || async {
        engine.snapshot().catalog().operations()[0].description.contains("its file does not exist")
    })
    .await;
    file.run(NOTES);
    wait_until("the table is offered", || async { engine.snapshot().catalog().operation("list_notes").is_some() })
        .await;
    looking.await.unwrap();
    keeping.abort();
}

#[tokio::test]
async fn reflection_is_not_retried_for_a_dropped_database() {
    let file = File::missing();
    let database = new_database(file.settings());
    let looking = tokio::spawn(Database::reflect_with_retry(Arc::downgrade(&database)));
    drop(database);
    tokio::time::timeout(Duration::from_secs(60), looking).await.expect("the look-out ends").unwrap();
}

#[tokio::test]
async fn r_res_4_a_file_that_is_not_a_database_is_reported() {
    let file = File::missing();
    std::fs::write(
        file.path(),
        "This is a letter, and a rather long one, so that it has a header of some length.".repeat(20),
    )
    .unwrap();
    assert_message(&failure(&file).await, "its file is not a SQLite database");
    std::fs::remove_file(file.path()).unwrap();
    std::fs::create_dir(file.path()).unwrap();
    assert_message(&failure(&file).await, "its path is a directory");
    std::fs::remove_dir(file.path()).unwrap();
    // Truncated.
    file.run("CREATE TABLE big (a TEXT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) INSERT INTO big SELECT hex(randomblob(200)) FROM n");
    let bytes = std::fs::read(file.path()).unwrap();
    std::fs::write(file.path(), &bytes[..bytes.len() / 2]).unwrap();
    if let Ok(database) = open(file.settings()).await {
        let answer = call(&engine(&database), "list_bigs", json!({ "total": true })).await;
        assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
        assert_message(&answer["error"], "its file is damaged");
    }
    // An empty file is an empty database.
    std::fs::write(file.path(), "").unwrap();
    open(file.settings()).await.unwrap();
}

/// As a user who may only read the file. The superuser may write everything, so another user is needed, if there is
/// one.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_file_can_be_read() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    use std::os::unix::process::CommandExt as _;
    const WHERE: &str = "AQUIFER_TEST_READ_ONLY";
    if let Ok(path) = std::env::var(WHERE) {
        return only_read(&path).await;
    }
    let file = File::create(NOTES);
    let set =
        |path: &std::path::Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    if std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() != 0) {
        set(&file.path(), 0o444);
        set(&file.folder.0, 0o555);
        only_read(file.path().to_str().unwrap()).await;
        set(&file.folder.0, 0o755);
        return;
    }
    // The other user must be able to access the folder.
    let open_to_all = std::env::temp_dir().join(crate::support::unique("aquifer_read_only"));
    std::fs::create_dir_all(&open_to_all).unwrap();
    let open_to_all = crate::support::Folder(open_to_all);
    let (program, copy) = (open_to_all.0.join("tests"), open_to_all.0.join("here.db"));
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    std::fs::copy(file.path(), &copy).unwrap();
    set(&copy, 0o444);
    set(&open_to_all.0, 0o755);
    let done = std::process::Command::new(&program)
        .args(["--exact", "sqlite_failures::a_file_that_can_only_be_read", "--nocapture"])
        .env(WHERE, &copy)
        .current_dir("/")
        .uid(65_534)
        .gid(65_534)
        .output()
        .unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

#[cfg(unix)]
async fn only_read(path: &str) {
    let database = open(aquifer_sql::Settings::new("here", &format!("sqlite:{path}")).unwrap()).await.unwrap();
    let engine = engine(&database);
    assert_eq!(call(&engine, "list_notes", json!({})).await["data"]["items"][0]["body"], "one");
    for (operation, params) in [
        ("create_note", json!({ "body": "x" })),
        ("update_note", json!({ "id": 1, "input": { "body": "x" } })),
        ("delete_note", json!({ "id": 1 })),
        ("delete_note", json!({ "id": 1, "dry_run": true })),
    ] {
        let answer = call(&engine, operation, params).await;
        assert_eq!(answer["error"]["code"], "PERMISSION_DENIED", "{answer}");
        assert_message(&answer["error"], "is read-only");
    }
    assert_eq!(call(&engine, "get_note", json!({ "id": 1 })).await["data"]["body"], "one");
}

#[tokio::test]
async fn r_res_4_a_file_locked_by_another_process_is_reported() {
    let fixture = Fixture::sqlite_with(NOTES, |settings| settings.timeout = Duration::from_secs(1)).await;
    let file = fixture.file();
    let other = file.connection();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO notes (body) VALUES ('theirs')").unwrap();
    let error = fixture.call_err("create_note", json!({ "body": "ours" }), "UPSTREAM_UNAVAILABLE").await;
    assert_message(&error, "its file is locked by another process");
    // Readers continue beside a writer.
    assert_eq!(fixture.call_ok("list_notes", json!({})).await["items"].as_array().unwrap().len(), 1);
    other.execute_batch("ROLLBACK; BEGIN EXCLUSIVE").unwrap();
    let error = fixture.call_err("list_notes", json!({}), "UPSTREAM_UNAVAILABLE").await;
    assert_message(&error, "its file is locked by another process");
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(fixture.call_ok("create_note", json!({ "body": "ours" })).await["id"], 2);
    // A lock that is released in time is waited for.
    let fixture = Fixture::sqlite(NOTES).await;
    let file = fixture.file();
    let other = file.connection();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let waiting = tokio::spawn({
        let engine = fixture.engine.clone();
        async move { call(&engine, "create_note", json!({ "body": "patient" })).await }
    });
    wait_until("somebody waits", || async { !waiting.is_finished() }).await;
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.await.unwrap()["success"], json!(true));
}

#[tokio::test]
async fn a_file_with_a_write_ahead_log_is_served() {
    let fixture = Fixture::sqlite(&format!("PRAGMA journal_mode = WAL; {NOTES}")).await;
    let other = fixture.file().connection();
    other.execute_batch("BEGIN IMMEDIATE; INSERT INTO notes (body) VALUES ('theirs')").unwrap();
    assert_eq!(
        fixture.call_ok("list_notes", json!({})).await["items"].as_array().unwrap().len(),
        1,
        "what is not kept is not seen"
    );
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(fixture.call_ok("create_note", json!({ "body": "ours" })).await["id"], 3);
    assert_eq!(fixture.call_ok("list_notes", json!({})).await["items"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_replaced_file_is_detected() {
    let fixture = Fixture::sqlite(NOTES).await;
    let file = fixture.file();
    let keeping = tokio::spawn({
        let engine = fixture.engine.clone();
        async move { engine.watch_sources().await }
    });
    fixture.call_ok("list_notes", json!({})).await;
    // Another file of the same schema version, with another table.
    let other = File::create(
        "CREATE TABLE letters (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO letters (body) VALUES ('two');",
    );
    std::fs::rename(other.path(), file.path()).unwrap();
    fixture.call_err("list_notes", json!({}), "UPSTREAM_ERROR").await;
    wait_until("the new table is offered", || async { fixture.operations().contains(&"list_letters".to_owned()) })
        .await;
    assert_eq!(fixture.call_ok("list_letters", json!({})).await["items"][0]["body"], "two");
    // Another one of the same shape: its rows are visible at once, to readers and the writer.
    let third = File::create(
        "CREATE TABLE letters (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO letters (id, body) VALUES (7, 'three');",
    );
    std::fs::rename(third.path(), file.path()).unwrap();
    assert_eq!(fixture.call_ok("list_letters", json!({})).await["items"], json!([{ "id": 7, "body": "three" }]));
    assert_eq!(fixture.call_ok("create_letter", json!({ "body": "four" })).await["id"], 8);
    assert_eq!(file.value("SELECT count(*) FROM letters"), "2");
    // An additional table under the same version number: detected without any failure.
    file.run("CREATE TABLE more (id INTEGER PRIMARY KEY)");
    fixture.call_ok("list_letters", json!({})).await;
    wait_until("it is noticed", || async { fixture.operations().contains(&"list_mores".to_owned()) }).await;
    keeping.abort();
}

/// An endless view beside a table. Reflection does not take forever either.
const ENDLESS: &str = "
    CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT);
    CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) AS total FROM n;";

#[tokio::test]
async fn r_res_4_a_statement_that_exceeds_the_timeout_is_interrupted() {
    let fixture = Fixture::sqlite_with(ENDLESS, |settings| {
        settings.timeout = Duration::from_secs(1);
        settings.connections = 1;
    })
    .await;
    let error = fixture.call_err("list_endlesses", json!({}), "UPSTREAM_TIMEOUT").await;
    assert_message(&error, "did not answer in time");
    // The only connection is free again.
    assert_eq!(fixture.call_ok("list_notes", json!({})).await["items"], json!([]));
}

#[tokio::test]
async fn a_cancelled_call_interrupts_its_statement() {
    let fixture = Fixture::sqlite_with(ENDLESS, |settings| settings.connections = 1).await;
    let context = context();
    let cancelled = context.cancelled.clone();
    let running = tokio::spawn({
        let engine = fixture.engine.clone();
        async move {
            let request = json!({ "operation": "list_endlesses", "params": {} }).as_object().unwrap().clone();
            engine.handle(&Receiver::Unified, request, context).await
        }
    });
    let beside = || tokio::time::timeout(Duration::from_millis(100), call(&fixture.engine, "list_notes", json!({})));
    wait_until("it holds the only connection", || async { beside().await.is_err() }).await;
    cancelled.cancel();
    assert!(matches!(running.await.unwrap(), Reply::Response(_)));
    // Long before the statement's timeout of thirty seconds.
    wait_until("the connection is free", || async { beside().await.is_ok() }).await;
}

#[tokio::test]
async fn too_many_concurrent_calls_are_refused() {
    let fixture = Fixture::sqlite_with(ENDLESS, |settings| {
        settings.connections = 2;
        settings.timeout = Duration::from_secs(1);
    })
    .await;
    let asked = (0..8).map(|_| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move { call(&engine, "list_endlesses", json!({})).await })
    });
    let answers: Vec<Value> = futures::future::join_all(asked).await.into_iter().map(Result::unwrap).collect();
    let codes: Vec<&str> = answers.iter().map(|answer| answer["error"]["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"UPSTREAM_TIMEOUT") && codes.contains(&"UPSTREAM_UNAVAILABLE"), "{codes:?}");
    let busy = answers.iter().find(|answer| answer["error"]["code"] == "UPSTREAM_UNAVAILABLE").unwrap();
    assert_message(&busy["error"], "your other requests use your share of the connections");
    assert_eq!(fixture.call_ok("list_notes", json!({})).await["items"], json!([]));
}
