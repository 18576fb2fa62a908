//! Servers that are away, refuse, hang or drop the line: each a clear failure, and no restart to recover.

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
use crate::support::{Behind, Stage, ask, context, engine, harmless, open, unopened, until};

const NOTES: &str = "CREATE TABLE notes (id int PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'one');
    CREATE VIEW slow AS SELECT id, body, pg_sleep(60)::text AS slept FROM notes;";

/// What opening says. Neither the password nor the address is told.
async fn failure(settings: Settings, secret: &str) -> Value {
    let failure = open(settings).await.err().unwrap();
    let told = json!({ "error": failure });
    harmless(&told);
    assert!(!told.to_string().contains(secret), "{told}");
    assert!(!told.to_string().contains("127.0.0.1"), "{told}");
    assert_eq!(told["error"]["code"], "UPSTREAM_UNAVAILABLE", "{told}");
    told["error"].clone()
}

fn says(error: &Value, words: &str) {
    assert!(error["message"].as_str().unwrap().contains(words), "{words}: {error}");
}

/// A way to the server that can be opened, closed and held up.
pub(crate) struct Gate {
    address: SocketAddr,
    way: watch::Sender<Way>,
    listening: Option<tokio::task::JoinHandle<()>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Open,
    /// Whoever is on the way is cut off.
    Cut,
    /// Nothing passes any more, and nobody is told.
    Silent,
}

impl Gate {
    /// An address where nothing listens yet.
    async fn closed() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { address: listener.local_addr().unwrap(), way: watch::Sender::new(Way::Open), listening: None }
    }

    pub(crate) async fn open() -> Self {
        let mut gate = Self::closed().await;
        gate.listen().await;
        gate
    }

    async fn listen(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let way = self.way.clone();
        self.listening = Some(tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(pass(near, way.subscribe()));
            }
        }));
    }

    pub(crate) fn set(&self, way: Way) {
        self.way.send_replace(way);
    }

    pub(crate) fn settings(&self, server: &Server, role: &str) -> Settings {
        let (host, port) = address();
        let url = server.url_of(role).replace(&format!("@{host}:{port}/"), &format!("@{}/", self.address));
        Settings::new("here", &url).unwrap()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if let Some(listening) = &self.listening {
            listening.abort();
        }
    }
}

async fn pass(mut near: TcpStream, mut way: watch::Receiver<Way>) {
    let mut far = TcpStream::connect(address()).await.unwrap();
    loop {
        let now = *way.borrow_and_update();
        match now {
            Way::Cut => return,
            Way::Silent => {
                let _ = way.changed().await;
            }
            Way::Open => {
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut near, &mut far) => return,
                    _ = way.changed() => {}
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
async fn r_res_4_a_server_that_is_not_there_and_then_is() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let mut gate = Gate::closed().await;
    says(&failure(gate.settings(&server, &role), "open-sesame").await, "nothing listens where its server should be");
    let database = unopened(gate.settings(&server, &role));
    let engine = engine(&database);
    let answer = ask(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    gate.listen().await;
    let answer = ask(&engine, "list_tables", json!({})).await;
    assert_eq!(answer["success"], json!(true), "{answer}");
    engine.refresh().unwrap();
    assert_eq!(ask(&engine, "get_note", json!({ "id": 1 })).await["data"]["body"], "one");
    // All lines are cut. The next calls take new ones.
    for _ in 0..3 {
        ask(&engine, "update_note", json!({ "id": 1, "input": { "body": "two" } })).await;
        gate.set(Way::Cut);
        gate.set(Way::Open);
        let reads = ask(&engine, "list_notes", json!({})).await;
        assert_eq!(reads["success"], json!(true), "{reads}");
        let writes = ask(&engine, "update_note", json!({ "id": 1, "input": { "body": "three" } })).await;
        assert_eq!(writes["success"], json!(true), "{writes}");
    }
}

#[tokio::test]
async fn r_res_4_wrong_password_unknown_database_and_others() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let url = server.url_of(&role);
    let changed = |from: &str, to: &str| {
        assert!(url.contains(from));
        Settings::new("here", &url.replacen(from, to, 1)).unwrap()
    };
    let secret = format!("open-sesame-{role}");
    let refused = "its server refuses the user or the password";
    says(&failure(changed(&secret, "wrong-sesame"), "wrong-sesame").await, refused);
    says(&failure(changed(&format!("//{role}:"), "//nobody_of_that_kind:"), "open-sesame").await, refused);
    let elsewhere = format!("/{}", server.database);
    says(&failure(changed(&elsewhere, "/nowhere_to_be_found"), "open-sesame").await, "its server has no such database");
    let (host, port) = address();
    let away = changed(&format!("@{host}:{port}/"), "@no-such-host.invalid:5432/");
    says(&failure(away, "open-sesame").await, "the name of its server is not known");
    let no_password = changed(&format!(":{secret}@"), "@");
    says(&failure(no_password, "open-sesame").await, "none is configured");
    // Encryption is demanded where there may be none: either it works, or that is said.
    let mut strict = url.clone();
    strict.push_str("?sslmode=verify-full");
    let error = failure(Settings::new("here", &strict).unwrap(), "open-sesame").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("encrypt") || message.contains("certificate"), "{error}");
    let broken = Settings::new("here", &format!("{url}?sslmode=perhaps")).unwrap();
    let failure = aquifer_sql::Database::new(
        broken,
        aquifer_query::CursorKey::new([7; 32]),
        Arc::new(aquifer_engine::clock::SystemClock),
    );
    assert!(failure.is_err_and(|failure| failure.message().contains("sslmode")));
    // The right password again, and everything works.
    Stage::on(Settings::new("here", &url).unwrap(), Behind::Server(server)).await.get("list_notes", json!({})).await;
}

#[tokio::test]
async fn r_res_4_a_server_that_has_no_connection_left() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let stage = Stage::on(server.settings_of(&role), Behind::Server(server)).await;
    stage.get("list_notes", json!({})).await;
    stage.behind(&format!("ALTER ROLE {role} CONNECTION LIMIT 1")).await;
    // Reading has its connection; writing would need another.
    let error = stage.refused("create_note", json!({ "id": 2 }), "UPSTREAM_UNAVAILABLE").await;
    says(&error, "its server has no connection left");
    stage.behind(&format!("ALTER ROLE {role} CONNECTION LIMIT -1")).await;
    stage.get("create_note", json!({ "id": 2 })).await;
}

/// How many statements of ours run in this database.
async fn running(stage: &Stage) -> String {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '{}' AND application_name = 'aquifer' AND state <> 'idle'",
        stage.server().database
    );
    stage.value(&sql).await
}

pub(crate) async fn until_running(stage: &Stage, count: &'static str) {
    until(&format!("{count} run"), || async { running(stage).await == count }).await;
}

pub(crate) fn asked(stage: &Stage, operation: &'static str, params: Value) -> tokio::task::JoinHandle<Value> {
    let engine = stage.engine.clone();
    tokio::spawn(async move { ask(&engine, operation, params).await })
}

#[tokio::test]
async fn r_res_4_a_connection_killed_in_the_middle_of_a_query() {
    let stage = Stage::postgres(NOTES).await;
    let query = asked(&stage, "list_slows", json!({}));
    until_running(&stage, "1").await;
    stage.behind("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
    let answer = query.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    says(&answer["error"], "its server has ended the connection");
    assert_eq!(stage.get("list_notes", json!({})).await["items"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn idle_connections_that_were_killed_are_not_noticed_by_anybody() {
    let stage = Stage::postgres(NOTES).await;
    for round in 0..5 {
        stage.get("update_note", json!({ "id": 1, "input": { "body": format!("round {round}") } })).await;
        stage.get("list_notes", json!({ "total": true })).await;
        stage.behind("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
        until("they are gone", || async {
            stage.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await == "0"
        })
        .await;
    }
    assert_eq!(stage.get("get_note", json!({ "id": 1 })).await["body"], "round 4");
}

#[tokio::test]
async fn r_res_4_a_statement_that_takes_too_long_is_cancelled_on_the_server() {
    let stage = Stage::postgres_with(NOTES, |settings| settings.timeout = Duration::from_secs(2)).await;
    let error = stage.refused("list_slows", json!({}), "UPSTREAM_TIMEOUT").await;
    says(&error, "did not answer in time");
    until_running(&stage, "0").await;
    stage.get("list_notes", json!({})).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_ends_its_statement_on_the_server() {
    let stage = Stage::postgres(NOTES).await;
    let context = context();
    let cancelled = context.cancelled.clone();
    let engine = stage.engine.clone();
    let call = tokio::spawn(async move {
        let request = json!({ "operation": "list_slows", "params": {} }).as_object().unwrap().clone();
        engine.handle(&Receiver::Unified, request, context).await
    });
    until_running(&stage, "1").await;
    cancelled.cancel();
    assert!(matches!(call.await.unwrap(), Reply::Response(_)));
    until_running(&stage, "0").await;
    // The same where the whole task goes.
    let query = asked(&stage, "list_slows", json!({}));
    until_running(&stage, "1").await;
    query.abort();
    until_running(&stage, "0").await;
    stage.get("list_notes", json!({})).await;
}

#[tokio::test]
async fn a_change_that_is_dropped_changes_nothing_and_holds_nothing() {
    let stage = Stage::postgres_with(
        "CREATE TABLE notes (id int PRIMARY KEY, body text); INSERT INTO notes VALUES (1, 'one');
         CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.body = 'slow' THEN PERFORM pg_sleep(60); END IF; RETURN NEW; END $$;
         CREATE TRIGGER slowly BEFORE UPDATE ON notes FOR EACH ROW EXECUTE FUNCTION slowly();",
        |settings| settings.connections = 2,
    )
    .await;
    let change = asked(&stage, "update_note", json!({ "id": 1, "input": { "body": "slow" } }));
    until_running(&stage, "1").await;
    change.abort();
    until_running(&stage, "0").await;
    assert_eq!(stage.get("update_note", json!({ "id": 1, "input": { "body": "two" } })).await["body"], "two");
    assert_eq!(stage.value("SELECT body FROM notes").await, "two");
}

#[tokio::test]
async fn r_res_4_too_many_at_once_are_told_so() {
    let stage = Stage::postgres_with(NOTES, |settings| {
        settings.connections = 2;
        settings.timeout = Duration::from_secs(2);
    })
    .await;
    let all: Vec<_> = (0..8).map(|_| asked(&stage, "list_slows", json!({}))).collect();
    let answers: Vec<Value> = futures::future::join_all(all).await.into_iter().map(Result::unwrap).collect();
    let codes: Vec<&str> = answers.iter().map(|answer| answer["error"]["code"].as_str().unwrap()).collect();
    assert!(codes.contains(&"UPSTREAM_TIMEOUT") && codes.contains(&"UPSTREAM_UNAVAILABLE"), "{codes:?}");
    let busy = answers.iter().find(|answer| answer["error"]["code"] == "UPSTREAM_UNAVAILABLE").unwrap();
    says(&busy["error"], "too many requests wait for it");
    until_running(&stage, "0").await;
    stage.get("list_notes", json!({})).await;
}

#[tokio::test]
async fn r_res_4_rows_that_somebody_else_holds() {
    let stage = Stage::postgres_with(NOTES, |settings| settings.timeout = Duration::from_secs(2)).await;
    let other = stage.server().connect().await;
    other.batch_execute("BEGIN; UPDATE notes SET body = 'theirs' WHERE id = 1").await.unwrap();
    for (operation, params) in
        [("update_note", json!({ "id": 1, "input": { "body": "ours" } })), ("delete_note", json!({ "id": 1 }))]
    {
        let error = stage.refused(operation, params, "UPSTREAM_UNAVAILABLE").await;
        says(&error, "somebody else holds the same rows");
    }
    assert_eq!(stage.get("get_note", json!({ "id": 1 })).await["body"], "one", "reading goes on");
    let waiting = asked(&stage, "delete_note", json!({ "id": 1 }));
    until_running(&stage, "1").await;
    other.batch_execute("COMMIT").await.unwrap();
    // It was changed under the deletion, which then begins again and removes what is there now.
    assert_eq!(waiting.await.unwrap()["data"]["body"], "theirs");
}

#[tokio::test]
async fn r_res_4_a_server_that_stops_answering() {
    let server = Server::new(NOTES).await;
    let role = role_on(&server).await;
    let gate = Gate::open().await;
    let mut settings = gate.settings(&server, &role);
    settings.timeout = Duration::from_secs(2);
    let stage = Stage::on(settings, Behind::Server(server)).await;
    stage.get("list_notes", json!({})).await;
    gate.set(Way::Silent);
    let error = stage.refused("list_notes", json!({}), "UPSTREAM_TIMEOUT").await;
    says(&error, "did not answer in time");
    let error = stage.refused("create_note", json!({ "id": 2 }), "UPSTREAM_UNAVAILABLE").await;
    says(&error, "its server does not answer");
    gate.set(Way::Open);
    stage.get("list_notes", json!({})).await;
    stage.get("create_note", json!({ "id": 2 })).await;
}

/// A change whose end is not known is not said to have failed.
#[tokio::test]
async fn r_res_4_a_line_that_is_cut_while_a_change_is_made_final() {
    let server = Server::new(
        "CREATE TABLE notes (id int PRIMARY KEY, body text);
         CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$;
         CREATE CONSTRAINT TRIGGER slowly AFTER INSERT ON notes DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION slowly();",
    )
    .await;
    let role = role_on(&server).await;
    let gate = Gate::open().await;
    let stage = Stage::on(gate.settings(&server, &role), Behind::Server(server)).await;
    let change = asked(&stage, "create_note", json!({ "id": 1, "body": "x" }));
    until("it is being made final", || async {
        let query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query = 'COMMIT' AND state = 'active'";
        stage.value(query).await == "1"
    })
    .await;
    gate.set(Way::Cut);
    let answer = change.await.unwrap();
    assert_eq!(answer["error"]["code"], "UPSTREAM_UNAVAILABLE", "{answer}");
    says(&answer["error"], "it may have been made or not");
    assert_eq!(answer["error"]["details"]["outcome"], "unknown", "{answer}");
    gate.set(Way::Open);
    stage.behind("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'aquifer' AND datname = current_database()").await;
    stage.get("list_notes", json!({})).await;
}
