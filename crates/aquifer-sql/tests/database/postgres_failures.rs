//! Servers that are down, refuse, hang or drop connections: each gives a clear failure, and recovery needs no restart.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Reply;
use aquifer_protocol::surface::Receiver;
use aquifer_sql::Settings;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::server::{Server, address};
use crate::support::{Backing, Fixture, assert_harmless, call, context, engine, new_database, open, wait_until};

const NOTES: &str = "CREATE TABLE notes (id int PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'one');
    CREATE VIEW slow AS SELECT id, body, pg_sleep(60)::text AS slept FROM notes;";

/// The failure of opening a database. Neither the password nor the address is shown.
async fn failure(settings: Settings, secret: &str) -> Value {
    let failure = open(settings).await.err().unwrap();
    let answer = json!({ "error": failure });
    assert_harmless(&answer);
    assert!(!answer.to_string().contains(secret), "{answer}");
    assert!(!answer.to_string().contains("127.0.0.1"), "{answer}");
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    answer["error"].clone()
}

fn assert_message(error: &Value, words: &str) {
    assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
}

/// A proxy to the server that can be opened, closed and blocked.
pub(crate) struct Proxy {
    address: SocketAddr,
    mode: watch::Sender<ProxyMode>,
    listening: Option<tokio::task::JoinHandle<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProxyMode {
    Open,
    /// Existing connections are cut.
    Cut,
    /// Nothing passes any more, without an error.
    Silent,
}

impl Proxy {
    /// An address without a listener.
    async fn closed() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: listener.local_addr().unwrap(), mode: watch::Sender::new(ProxyMode::Open), listening: None }
    }

    pub(crate) async fn open() -> Self {
        let mut proxy = Self::closed().await;
        proxy.listen().await;
        proxy
    }

    async fn listen(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let mode = self.mode.clone();
        self.listening = Some(tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(forward(near, mode.subscribe()));
            }
        }));
    }

    pub(crate) fn set(&self, mode: ProxyMode) {
        self.mode.send_replace(mode);
    }

    pub(crate) fn settings(&self, server: &Server, role: &str) -> Settings {
        let (host, port) = address();
        let url = server.url_of(role).replace(&format!("@{host}:{port}/"), &format!("@{}/", self.address));
        Settings::new("here", &url).unwrap()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

async fn forward(mut near: TcpStream, mut mode: watch::Receiver<ProxyMode>) {
    let mut far = TcpStream::connect(address()).await.unwrap();
    loop {
        let now = *mode.borrow_and_update();
        match now {
            ProxyMode::Cut => return,
            ProxyMode::Silent => {
                let _ = mode.changed().await;
            }
            ProxyMode::Open => {
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
                    _ = mode.changed() => {}
                }
            }
        }
    }
}

pub(crate) async fn role_on(server: &Server) -> String {
    let role = server.role().await;
    server.run(&format!("GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")).await;
    role
}

#[tokio::test]
async fn r_res_4_a_server_that_starts_later_is_found() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let mut proxy = Proxy::closed().await;
    assert_message(
        &failure(proxy.settings(&server, &role), "open-sesame").await,
        "no server is listening on its address",
    );
    let database = new_database(proxy.settings(&server, &role));
    let engine = engine(&database);
    let answer = call(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    proxy.listen().await;
    let answer = call(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["success"], json!(true), "{answer}");
    engine.refresh().unwrap();
    assert_eq!(call(&engine, "get_note", json!({ "id": 1 })).await["data"]["body"], "one");
    // All connections are cut. The next calls open new ones.
    for _ in 0..3 {
        call(&engine, "update_note", json!({ "id": 1, "input": { "body": "two" } })).await;
        proxy.set(ProxyMode::Cut);
        proxy.set(ProxyMode::Open);
        let reads = call(&engine, "list_notes", json!({})).await;
        assert_eq!(reads["success"], json!(true), "{reads}");
        let writes = call(&engine, "update_note", json!({ "id": 1, "input": { "body": "three" } })).await;
        assert_eq!(writes["success"], json!(true), "{writes}");
    }
}

#[tokio::test]
async fn r_res_4_connection_errors_have_clear_reasons() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let url = server.url_of(&role);
    let changed = |from: &str, to: &str| {
        assert!(url.contains(from));
        Settings::new("here", &url.replacen(from, to, 1)).unwrap()
    };
    let secret = format!("open-sesame-{role}");
    let refused = "its server rejects the user name or the password";
    assert_message(&failure(changed(&secret, "wrong-sesame"), "wrong-sesame").await, refused);
    assert_message(&failure(changed(&format!("//{role}:"), "//nobody_of_that_kind:"), "open-sesame").await, refused);
    let elsewhere = format!("/{}", server.database);
    assert_message(
        &failure(changed(&elsewhere, "/nowhere_to_be_found"), "open-sesame").await,
        "its server has no such database",
    );
    let (host, port) = address();
    let away = changed(&format!("@{host}:{port}/"), "@no-such-host.invalid:5432/");
    assert_message(&failure(away, "open-sesame").await, "the host name of its server cannot be resolved");
    let no_password = changed(&format!(":{secret}@"), "@");
    assert_message(&failure(no_password, "open-sesame").await, "none is configured");
    // TLS is required although the server may not support it: either it works, or the error says so.
    let mut strict = url.clone();
    strict.push_str("?sslmode=verify-full");
    let error = failure(Settings::new("here", &strict).unwrap(), "open-sesame").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("TLS") || message.contains("certificate"), "{error}");
    let broken = Settings::new("here", &format!("{url}?sslmode=perhaps")).unwrap();
    let failure = aquifer_sql::Database::new(
        broken,
        aquifer_query::CursorKey::new([7; 32]),
        Arc::new(aquifer_engine::clock::SystemClock),
    );
    assert!(failure.is_err_and(|failure| failure.message().contains("sslmode")));
    // With the right password everything works again.
    Fixture::with_settings(Settings::new("here", &url).unwrap(), Backing::Server(server))
        .await
        .call_ok("list_notes", json!({}))
        .await;
}

#[tokio::test]
async fn r_res_4_a_server_without_free_connections_is_reported() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let fixture = Fixture::with_settings(server.settings_of(&role), Backing::Server(server)).await;
    fixture.call_ok("list_notes", json!({})).await;
    fixture.run_sql(&format!("ALTER ROLE {role} CONNECTION LIMIT 1")).await;
    // The reading connection exists; a writing one is needed.
    let error = fixture.call_err("create_note", json!({ "id": 2 }), "UPSTREAM_UNAVAILABLE").await;
    assert_message(&error, "its server has no free connection");
    fixture.run_sql(&format!("ALTER ROLE {role} CONNECTION LIMIT -1")).await;
    fixture.call_ok("create_note", json!({ "id": 2 })).await;
}

/// How many of our statements run in this database.
async fn running(fixture: &Fixture) -> String {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND application_name = 'aquifer' AND state <> 'idle'",
        fixture.server().database
    );
    fixture.value(&sql).await
}

pub(crate) async fn wait_until_running(fixture: &Fixture, count: &'static str) {
    wait_until(&format!("{count} run"), || async { running(fixture).await == count }).await;
}

pub(crate) fn spawn_call(fixture: &Fixture, operation: &'static str, params: Value) -> tokio::task::JoinHandle<Value> {
    let engine = fixture.engine.clone();
    tokio::spawn(async move { call(&engine, operation, params).await })
}

#[tokio::test]
async fn r_res_4_a_connection_killed_during_a_query_is_reported() {
    let fixture = Fixture::postgres(NOTES).await;
    let query = spawn_call(&fixture, "list_slows", json!({}));
    wait_until_running(&fixture, "1").await;
    fixture.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
    let answer = query.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert_message(&answer["error"], "its server has ended the connection");
    assert_eq!(fixture.call_ok("list_notes", json!({})).await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn killed_idle_connections_are_replaced_silently() {
    let fixture = Fixture::postgres(NOTES).await;
    for round in 0..5 {
        fixture.call_ok("update_note", json!({ "id": 1, "input": { "body": format!("round {round}") } })).await;
        fixture.call_ok("list_notes", json!({ "total": true })).await;
        fixture.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
        wait_until("they are gone", || async {
            fixture.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await == "0"
        })
        .await;
    }
    assert_eq!(fixture.call_ok("get_note", json!({ "id": 1 })).await["body"], "round 4");
}

#[tokio::test]
async fn r_res_4_a_statement_that_takes_too_long_is_cancelled_on_the_server() {
    let fixture = Fixture::postgres_with(NOTES, |settings| settings.timeout = Duration::from_secs(2)).await;
    let error = fixture.call_err("list_slows", json!({}), "UPSTREAM_TIMEOUT").await;
    assert_message(&error, "did not answer in time");
    wait_until_running(&fixture, "0").await;
    fixture.call_ok("list_notes", json!({})).await;
}

#[tokio::test]
async fn a_dropped_call_cancels_its_statement_on_the_server() {
    let fixture = Fixture::postgres(NOTES).await;
    let context = context();
    let cancelled = context.cancelled.clone();
    let engine = fixture.engine.clone();
    let call = tokio::spawn(async move {
        let request = json!({ "operation": "list_slows", "params": {} }).as_object().unwrap().clone();
        engine.handle(&Receiver::Unified, request, context).await
    });
    wait_until_running(&fixture, "1").await;
    cancelled.cancel();
    assert!(matches!(call.await.unwrap(), Reply::Response(_)));
    wait_until_running(&fixture, "0").await;
    // The same if the whole task is dropped.
    let query = spawn_call(&fixture, "list_slows", json!({}));
    wait_until_running(&fixture, "1").await;
    query.abort();
    wait_until_running(&fixture, "0").await;
    fixture.call_ok("list_notes", json!({})).await;
}

#[tokio::test]
async fn a_dropped_change_is_rolled_back_and_releases_its_locks() {
    let fixture = Fixture::postgres_with(
        "CREATE TABLE notes (id int PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'one');
         CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.body = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
         CREATE TRIGGER slowly BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION slowly();",
        |settings| settings.connections = 2,
    )
    .await;
    let change = spawn_call(&fixture, "update_note", json!({ "id": 1, "input": { "body": "slow" } }));
    wait_until_running(&fixture, "1").await;
    change.abort();
    wait_until_running(&fixture, "0").await;
    assert_eq!(fixture.call_ok("update_note", json!({ "id": 1, "input": { "body": "two" } })).await["body"], "two");
    assert_eq!(fixture.value("SELECT body FROM notes").await, "two");
}

#[tokio::test]
async fn r_res_4_too_many_concurrent_calls_are_refused() {
    let fixture = Fixture::postgres_with(NOTES, |settings| {
        settings.connections = 2;
        settings.timeout = Duration::from_secs(2);
    })
    .await;
    let all: Vec<_> = (0..8).map(|_| spawn_call(&fixture, "list_slows", json!({}))).collect();
    let answers: Vec<Value> = futures::future::join_all(all).await.into_iter().map(Result::unwrap).collect();
    let codes: Vec<&str> = answers.iter().map(|answer| answer["error"]["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"UPSTREAM_TIMEOUT") && codes.contains(&"UPSTREAM_UNAVAILABLE"), "{codes:?}");
    let busy = answers.iter().find(|answer| answer["error"]["code"] == "UPSTREAM_UNAVAILABLE").unwrap();
    assert_message(&busy["error"], "your other requests use your share of the connections");
    wait_until_running(&fixture, "0").await;
    fixture.call_ok("list_notes", json!({})).await;
}

#[tokio::test]
async fn r_res_4_rows_locked_by_others_are_reported() {
    let fixture = Fixture::postgres_with(NOTES, |settings| settings.timeout = Duration::from_secs(2)).await;
    let other = fixture.server().connect().await;
    other.batch_execute("BEGIN; UPDATE notes SET body = 'theirs' WHERE id = 1").await.unwrap();
    for (operation, params) in
        [("update_note", json!({ "id": 1, "input": { "body": "ours" } })), ("delete_note", json!({ "id": 1 }))]
    {
        let error = fixture.call_err(operation, params, "UPSTREAM_UNAVAILABLE").await;
        assert_message(&error, "another session holds a lock on the same rows");
    }
    assert_eq!(fixture.call_ok("get_note", json!({ "id": 1 })).await["body"], "one", "reading goes on");
    let waiting = spawn_call(&fixture, "delete_note", json!({ "id": 1 }));
    wait_until_running(&fixture, "1").await;
    other.batch_execute("COMMIT").await.unwrap();
    // The row was changed during the delete, which is retried and deletes the new row.
    assert_eq!(waiting.await.unwrap()["data"]["body"], "theirs");
}

#[tokio::test]
async fn r_res_4_a_server_that_stops_answering_times_out() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let proxy = Proxy::open().await;
    let mut settings = proxy.settings(&server, &role);
    settings.timeout = Duration::from_secs(2);
    let fixture = Fixture::with_settings(settings, Backing::Server(server)).await;
    fixture.call_ok("list_notes", json!({})).await;
    proxy.set(ProxyMode::Silent);
    let error = fixture.call_err("list_notes", json!({}), "UPSTREAM_TIMEOUT").await;
    assert_message(&error, "did not answer in time");
    let error = fixture.call_err("create_note", json!({ "id": 2 }), "UPSTREAM_UNAVAILABLE").await;
    assert_message(&error, "its server does not answer");
    proxy.set(ProxyMode::Open);
    fixture.call_ok("list_notes", json!({})).await;
    fixture.call_ok("create_note", json!({ "id": 2 })).await;
}

/// A change with an unknown outcome is not reported as failed.
#[tokio::test]
async fn r_res_4_a_connection_lost_during_commit_has_an_unknown_outcome() {
    let server = Server::new(
        "CREATE TABLE notes (id int PRIMARY KEY, body text);
         CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly();",
    )
    .await;
    let role = role_on(&server).await;
    let proxy = Proxy::open().await;
    let fixture = Fixture::with_settings(proxy.settings(&server, &role), Backing::Server(server)).await;
    let change = spawn_call(&fixture, "create_note", json!({ "id": 1, "body": "x" }));
    wait_until("it is being made final", || async {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND state = 'active'";
        fixture.value(query).await == "1"
    })
    .await;
    proxy.set(ProxyMode::Cut);
    let answer = change.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    assert_message(&answer["error"], "may or may not have been made");
    assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    proxy.set(ProxyMode::Open);
    fixture.run_sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
    fixture.call_ok("list_notes", json!({})).await;
}
