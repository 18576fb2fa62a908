//! A database of each kind behind an engine, and helpers to call it. Every answer is checked: no message may contain
//! what belongs only in the log (R-RES-4).

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SystemClock;
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::error::Failure;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings};
use serde_json::{Map, Value, json};

use crate::server::Server;

/// The timeout of every wait.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(20);

/// A database behind an engine, with direct access to the database.
pub(crate) struct Fixture {
    pub(crate) engine: Arc<Engine>,
    pub(crate) backing: Backing,
}

/// The database itself.
pub(crate) enum Backing {
    File(File),
    Server(Server),
}

impl Fixture {
    /// A SQLite file created with this SQL.
    pub(crate) async fn sqlite(sql: &str) -> Self {
        Self::sqlite_with(sql, |_| {}).await
    }

    pub(crate) async fn sqlite_with(sql: &str, set: impl FnOnce(&mut Settings)) -> Self {
        let file = File::create(sql);
        let mut settings = file.settings();
        set(&mut settings);
        Self::with_settings(settings, Backing::File(file)).await
    }

    /// A PostgreSQL database created with this SQL.
    pub(crate) async fn postgres(sql: &str) -> Self {
        Self::postgres_with(sql, |_| {}).await
    }

    pub(crate) async fn postgres_with(sql: &str, set: impl FnOnce(&mut Settings)) -> Self {
        let server = Server::new(sql).await;
        let mut settings = server.settings();
        set(&mut settings);
        Self::with_settings(settings, Backing::Server(server)).await
    }

    pub(crate) async fn with_settings(settings: Settings, backing: Backing) -> Self {
        let database = open(settings).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        Self { engine: engine(&database), backing }
    }

    /// Calls an operation, and checks the answer for leaks.
    pub(crate) async fn call(&self, operation: &str, params: Value) -> Value {
        let answer = call(&self.engine, operation, params).await;
        self.backing.assert_no_secret(&answer);
        answer
    }

    /// Calls an operation that must succeed, and returns `data`.
    pub(crate) async fn call_ok(&self, operation: &str, params: Value) -> Value {
        let answer = self.call(operation, params.clone()).await;
        assert_eq!(answer["success"], json!(true), "{operation} {params}: {answer}");
        answer["data"].clone()
    }

    /// Calls an operation that must fail with this code, and returns `error`.
    pub(crate) async fn call_err(&self, operation: &str, params: Value, code: &str) -> Value {
        let answer = self.call(operation, params.clone()).await;
        assert_eq!(answer["error"]["code"], code, "{operation} {params}: {answer}");
        answer["error"].clone()
    }

    /// The details of an operation; null if it does not exist.
    pub(crate) async fn details(&self, operation: &str) -> Value {
        let asked = json!({ "query": "operations", "name": operation });
        self.call_ok("introspect", asked).await["operation"].clone()
    }

    /// A parameter of an operation; null if it does not exist.
    pub(crate) async fn parameter(&self, operation: &str, name: &str) -> Value {
        let details = self.details(operation).await;
        let all = details["parameters"].as_array().cloned().unwrap_or_default();
        all.into_iter().find(|parameter| parameter["name"] == name).unwrap_or_default()
    }

    /// The names of all operations but `introspect`.
    pub(crate) fn operations(&self) -> Vec<String> {
        let snapshot = self.engine.snapshot();
        let names = snapshot.catalog().operations().iter().map(|operation| operation.name.to_string());
        names.filter(|name| name != "introspect").collect()
    }

    /// The fields of a type, by name.
    pub(crate) async fn fields_of(&self, name: &str) -> Map<String, Value> {
        let answer = self.call_ok("introspect", json!({ "query": "types", "name": name })).await;
        let fields = answer["type"]["fields"].as_array().cloned().unwrap_or_else(|| panic!("{name}: {answer}"));
        fields.into_iter().map(|field| (field["name"].as_str().unwrap().to_owned(), field)).collect()
    }

    /// Every item of a list, page by page.
    pub(crate) async fn walk(&self, operation: &str, params: Value, size: usize) -> Vec<Value> {
        let mut params = params.as_object().cloned().unwrap();
        params.insert("first".to_owned(), size.into());
        let mut all = Vec::new();
        loop {
            let page = self.call_ok(operation, Value::Object(params.clone())).await;
            all.extend(page["items"].as_array().unwrap().iter().cloned());
            assert!(all.len() <= 10_000, "a walk without an end");
            if page["pageInfo"]["hasNextPage"] != json!(true) {
                return all;
            }
            params.insert("after".to_owned(), page["pageInfo"]["endCursor"].clone());
        }
    }

    /// Runs SQL directly on the database.
    pub(crate) async fn run_sql(&self, sql: &str) {
        match &self.backing {
            Backing::File(file) => file.run(sql),
            Backing::Server(server) => server.run(sql).await,
        }
    }

    /// The only value of a query run directly on the database, as text.
    pub(crate) async fn value(&self, sql: &str) -> String {
        match &self.backing {
            Backing::File(file) => file.value(sql),
            Backing::Server(server) => server.value(sql).await,
        }
    }

    pub(crate) fn file(&self) -> &File {
        match &self.backing {
            Backing::File(file) => file,
            Backing::Server(_) => panic!("a server is no file"),
        }
    }

    pub(crate) fn server(&self) -> &Server {
        match &self.backing {
            Backing::Server(server) => server,
            Backing::File(_) => panic!("a file is no server"),
        }
    }
}

/// A SQLite file and, with the feature, a PostgreSQL database.
pub(crate) async fn fixtures(sqlite: &str, postgres: &str) -> Vec<Fixture> {
    fixtures_with(sqlite, postgres, |_| {}).await
}

pub(crate) async fn fixtures_with(sqlite: &str, postgres: &str, set: impl Fn(&mut Settings)) -> Vec<Fixture> {
    let mut fixtures = vec![Fixture::sqlite_with(sqlite, &set).await];
    fixtures.push(Fixture::postgres_with(postgres, &set).await);
    let _ = postgres;
    fixtures
}

impl Backing {
    fn assert_no_secret(&self, answer: &Value) {
        let text = answer.to_string();
        let secret = match self {
            Backing::File(file) => file.folder.0.display().to_string(),
            Backing::Server(server) => server.password(),
        };
        assert!(!text.contains(&secret), "a secret is told: {text}");
    }
}

/// An engine that serves only this database.
pub(crate) fn engine(database: &Arc<Database>) -> Arc<Engine> {
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    Arc::new(Engine::builder(surface).dangerously_let_everything_pass().source(database.clone()).build().unwrap())
}

pub(crate) async fn open(settings: Settings) -> Result<Arc<Database>, Failure> {
    Database::open(settings, CursorKey::new([7; 32]), Arc::new(SystemClock)).await
}

/// A database that is not reflected.
pub(crate) fn new_database(settings: Settings) -> Arc<Database> {
    Database::new(settings, CursorKey::new([7; 32]), Arc::new(SystemClock)).unwrap()
}

pub(crate) fn context() -> Context {
    Context::new(Caller::session("tests"), "req_test")
}

/// Calls an engine, and checks the answer for leaks.
pub(crate) async fn call(engine: &Engine, operation: &str, params: Value) -> Value {
    let request = json!({ "operation": operation, "params": params });
    let request = request.as_object().unwrap().clone();
    match engine.handle(&Receiver::Unified, request, context()).await {
        Reply::Response(response) => {
            let answer = response.render(&Limits::default()).value();
            assert_harmless(&answer);
            answer
        }
        Reply::NeedsInput(question) => panic!("{}", question.message),
    }
}

/// No message contains a path, a driver's message or SQL, or looks like a stack trace.
pub(crate) fn assert_harmless(answer: &Value) {
    let Some(message) = answer["error"]["message"].as_str() else { return };
    assert!(!looks_like_a_leak(message), "{message}");
    for word in [
        "SELECT ",
        "INSERT ",
        "UPDATE \"",
        "DELETE ",
        "pg_",
        "sqlite_",
        "SQLITE_",
        "ERROR:",
        "db error",
        "tokio",
        "rusqlite",
    ] {
        assert!(!message.contains(word), "{word} in: {message}");
    }
    assert_ne!(answer["error"]["code"], "INTERNAL_ERROR", "{answer}");
}

/// Waits until a condition holds.
pub(crate) async fn wait_until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds().await {
        assert!(Instant::now() < deadline, "{what} does not come true");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

static COUNT: AtomicU32 = AtomicU32::new(0);

/// A unique name.
pub(crate) fn unique(prefix: &str) -> String {
    format!("{prefix}_{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// A temporary folder.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("folder"));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A SQLite file in a folder of its own.
pub(crate) struct File {
    pub(crate) folder: Folder,
}

impl File {
    /// A file created with this SQL.
    pub(crate) fn create(sql: &str) -> Self {
        let file = Self::missing();
        file.run(sql);
        file
    }

    /// A folder without the file.
    pub(crate) fn missing() -> Self {
        Self { folder: Folder::new() }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.0.join("here.db")
    }

    pub(crate) fn settings(&self) -> Settings {
        Settings::new("here", &format!("sqlite:{}", self.path().display())).unwrap()
    }

    pub(crate) fn connection(&self) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(self.path()).unwrap();
        connection.busy_timeout(TIMEOUT).unwrap();
        connection
    }

    pub(crate) fn run(&self, sql: &str) {
        self.connection().execute_batch(sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
    }

    pub(crate) fn value(&self, sql: &str) -> String {
        use rusqlite::types::Value as Sql;
        let value: Sql = self.connection().query_row(sql, [], |row| row.get(0)).unwrap();
        match value {
            Sql::Null => "NULL".to_owned(),
            Sql::Integer(number) => number.to_string(),
            Sql::Real(number) => number.to_string(),
            Sql::Text(text) => text,
            Sql::Blob(bytes) => format!("{bytes:02x?}"),
        }
    }
}

/// One test on each kind of database: `on_both!(name, check, sqlite SQL, PostgreSQL SQL)`.
macro_rules! on_both {
    ($name:ident, $check:expr, $sqlite:expr, $postgres:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[tokio::test]
            async fn sqlite() {
                $check(&$crate::support::Fixture::sqlite($sqlite).await).await;
            }

            #[tokio::test]
            async fn postgres() {
                $check(&$crate::support::Fixture::postgres($postgres).await).await;
            }
        }
    };
}

pub(crate) use on_both;
