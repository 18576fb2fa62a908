//! Three engines side by side, which get the same requests and have to give the same answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use aquifer_engine::clock::{Clock, SharedClock};
use aquifer_engine::{Caller, Context, Engine, Reply, Source};
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings, Target, memory_name};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::memory::Memory;
use crate::tables::{StorageFormat, Table};

/// The current time of all engines. It has half a second, so that whole seconds do not suffice.
pub(crate) const NOW: &str = "2026-03-01T12:00:00.5Z";

struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        NOW.parse().unwrap()
    }
}

fn key() -> CursorKey {
    CursorKey::new([7; 32])
}

/// An engine, and access to its database.
pub(crate) struct Participant {
    pub(crate) name: &'static str,
    engine: Engine,
    store: Store,
}

enum Store {
    Memory(Arc<Memory>),
    Sqlite(rusqlite::Connection, StorageFormat),
    Postgres(postgres::TestSchema),
}

/// All participating engines.
pub(crate) struct EngineSet {
    tables: Vec<Table>,
    pub(crate) participants: Vec<Participant>,
}

/// Settings of the databases beyond their tables.
#[derive(Default)]
pub(crate) struct Extras {
    pub(crate) format: StorageFormat,
    /// Statements to run after the tables are created.
    pub(crate) sqlite: &'static str,
    pub(crate) postgres: &'static str,
    /// Statements to run before the tables are created.
    pub(crate) types: &'static str,
    pub(crate) settings: Option<fn(&mut Settings)>,
    /// Engines that do not participate.
    pub(crate) without: &'static [&'static str],
}

impl EngineSet {
    /// Creates the tables with these rows. Databases are reflected after the rows are inserted.
    pub(crate) async fn new(tables: Vec<Table>, rows: &[(&str, Vec<Value>)], extras: Extras) -> Self {
        let mut engines = Self { tables, participants: Vec::new() };
        let takes_part = |name: &str| !extras.without.contains(&name);
        if takes_part("memory") {
            let memory = Memory::new(&engines.tables, key());
            let engine = engine(memory.clone());
            engines.participants.push(Participant { name: "memory", engine, store: Store::Memory(memory) });
        }
        if takes_part("sqlite") {
            engines.add_sqlite(rows, &extras).await;
        }
        if takes_part("postgres") {
            engines.add_postgres(rows, &extras).await;
        }
        for (table, rows) in rows {
            for participant in
                engines.participants.iter().filter(|participant| matches!(participant.store, Store::Memory(_)))
            {
                engines.fill_one(participant, table, rows).await;
            }
        }
        engines
    }

    async fn add_sqlite(&mut self, rows: &[(&str, Vec<Value>)], extras: &Extras) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("agreement-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let connection = rusqlite::Connection::open(memory_name(&name)).unwrap();
        for table in self.tables.iter().filter(|table| !table.sqlite.is_empty()) {
            connection.execute_batch(&format!("CREATE TABLE {} {}", table.name, table.sqlite)).unwrap();
        }
        connection.execute_batch(extras.sqlite).unwrap();
        let store = Store::Sqlite(connection, extras.format);
        self.add_database("sqlite", Target::Memory(name), store, rows, extras, |_| {}).await;
    }

    async fn add_postgres(&mut self, rows: &[(&str, Vec<Value>)], extras: &Extras) {
        let room = postgres::TestSchema::new().await;
        let schema = room.schema.clone();
        room.client.batch_execute(extras.types).await.unwrap();
        for table in self.tables.iter().filter(|table| !table.postgres.is_empty()) {
            let sql = format!("CREATE TABLE {} {}", table.name, table.postgres);
            room.client.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
        }
        room.client.batch_execute(extras.postgres).await.unwrap();
        let target = Target::Postgres(postgres::url());
        let store = Store::Postgres(room);
        self.add_database("postgres", target, store, rows, extras, |settings| settings.schemas = vec![schema]).await;
    }

    async fn add_database(
        &mut self,
        name: &'static str,
        target: Target,
        store: Store,
        rows: &[(&str, Vec<Value>)],
        extras: &Extras,
        set: impl FnOnce(&mut Settings),
    ) {
        let mut settings = Settings::with_target(name, target);
        set(&mut settings);
        if let Some(more) = extras.settings {
            more(&mut settings);
        }
        for (table, rows) in rows {
            self.add_to(&store, self.table(table), rows).await;
        }
        let clock: SharedClock = Arc::new(FixedClock);
        let database = Database::open(settings, key(), clock).await.unwrap_or_else(|failure| panic!("{failure:?}"));
        self.participants.push(Participant { name, engine: engine(database), store });
    }

    fn table(&self, name: &str) -> &Table {
        self.tables.iter().find(|table| table.name == name).unwrap()
    }

    async fn add_to(&self, store: &Store, table: &Table, rows: &[Value]) {
        match store {
            _ if rows.is_empty() => {}
            Store::Memory(_) => {}
            Store::Sqlite(connection, format) => table.add_to_sqlite(connection, rows, *format),
            Store::Postgres(room) => room.add(table, rows).await,
        }
    }

    async fn fill_one(&self, participant: &Participant, table: &str, rows: &[Value]) {
        match &participant.store {
            Store::Memory(memory) => memory.fill(table, rows),
            store => self.add_to(store, self.table(table), rows).await,
        }
    }

    /// Runs a statement on the databases.
    pub(crate) async fn run(&self, sql: &str) {
        for participant in &self.participants {
            participant.run(sql).await;
        }
    }

    /// Replaces all rows of a table.
    pub(crate) async fn fill(&self, table: &str, rows: &[Value]) {
        // Rows without a key are in physical order, which is that of insertion only in an empty file.
        let has_key = self.table(table).postgres.contains("PRIMARY KEY");
        for participant in &self.participants {
            let clear = match &participant.store {
                Store::Postgres(_) if !has_key => format!("TRUNCATE {table}"),
                _ => format!("DELETE FROM {table}"),
            };
            participant.run(&clear).await;
        }
        for participant in &self.participants {
            self.fill_one(participant, table, rows).await;
        }
    }

    /// Deletes and adds rows. The reference gets the complete new content.
    pub(crate) async fn change(&self, table: &str, delete: &str, add: &[Value], all: &[Value]) {
        self.run(delete).await;
        for participant in &self.participants {
            match &participant.store {
                Store::Memory(memory) => memory.fill(table, all),
                store => self.add_to(store, self.table(table), add).await,
            }
        }
    }

    /// The common answer of all engines, or a report of the differences.
    pub(crate) async fn agreed_answer(&self, operation: &str, params: &Value) -> Result<Value, String> {
        let mut answers = Vec::new();
        for participant in &self.participants {
            answers.push((participant.name, comparable(participant.ask(operation, params).await)));
        }
        let (_, first) = &answers[0];
        if answers.iter().all(|(_, answer)| same(first, answer)) {
            return Ok(answers.swap_remove(0).1);
        }
        let report: Vec<String> = answers.iter().map(|(name, answer)| format!("{name:>12}: {answer}\n")).collect();
        Err(format!("{operation} {}\n{}", short(params), report.concat()))
    }

    /// The common answer of all engines.
    pub(crate) async fn ask(&self, operation: &str, params: &Value) -> Value {
        self.agreed_answer(operation, params).await.unwrap_or_else(|report| panic!("\n{report}"))
    }

    /// Expects these answers from all engines. Reports all differences at the end.
    pub(crate) async fn check<'a>(&self, cases: impl IntoIterator<Item = (&'a str, Value, Value)>) {
        let mut wrong = Vec::new();
        for (operation, params, expected) in cases {
            match self.agreed_answer(operation, &params).await {
                Err(report) => wrong.push(report),
                Ok(answer) => {
                    let data = answer.get("data").unwrap_or(&answer);
                    if !same(data, &expected) {
                        let params = short(&params);
                        wrong.push(format!("{operation} {params}\n    expected: {expected}\n         all: {data}\n"));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    }
}

impl Participant {
    /// The complete response.
    pub(crate) async fn ask(&self, operation: &str, params: &Value) -> Value {
        let request = json!({ "operation": operation, "params": params });
        let context = Context::new(Caller::session("tests"), "req_test");
        match self.engine.handle(&Receiver::Unified, request.as_object().unwrap().clone(), context).await {
            Reply::Response(response) => response.render(&Limits::default()).value(),
            Reply::NeedsInput(question) => panic!("{question:?}"),
        }
    }

    pub(crate) async fn run(&self, sql: &str) {
        match &self.store {
            Store::Memory(_) => {}
            Store::Sqlite(connection, _) => connection.execute_batch(sql).unwrap_or_else(|e| panic!("{sql}: {e}")),
            Store::Postgres(room) => room.client.batch_execute(sql).await.unwrap_or_else(|e| panic!("{sql}: {e:?}")),
        }
    }

    pub(crate) fn sqlite(&self) -> Option<&rusqlite::Connection> {
        match &self.store {
            Store::Sqlite(connection, _) => Some(connection),
            _ => None,
        }
    }

    pub(crate) fn postgres(&self) -> Option<&tokio_postgres::Client> {
        match &self.store {
            Store::Postgres(room) => Some(&room.client),
            _ => None,
        }
    }
}

/// The readable beginning of a request.
fn short(params: &Value) -> String {
    params.to_string().chars().take(1_000).collect()
}

fn engine(source: Arc<dyn Source>) -> Engine {
    let surface = Surface::new(Mode::All, Profile::known("crude").unwrap(), "").unwrap();
    Engine::builder(surface).dangerously_let_everything_pass().source(source).build().unwrap()
}

/// A response without engine-specific parts: cursors, versions, texts of messages.
pub(crate) fn comparable(response: Value) -> Value {
    if response["success"] == json!(false) {
        return json!({ "error": response["error"]["code"] });
    }
    let codes: Vec<&str> = response["warnings"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|warning| warning["code"].as_str())
        .filter(|code| *code != "SEARCH_NOT_INDEXED")
        .collect();
    let mut answer = json!({ "data": without_marks(&response["data"]) });
    if !codes.is_empty() {
        answer["warnings"] = json!(codes);
    }
    answer
}

fn without_marks(value: &Value) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(without_marks).collect(),
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| {
                !["startCursor", "endCursor", "cursor", "_etag", "_binary"].contains(&name.as_str())
            });
            Value::Object(kept.map(|(name, value)| (name.clone(), without_marks(value))).collect())
        }
        other => other.clone(),
    }
}

/// Equality with times compared as times, and numbers as numbers: sums of fractions may differ in their last digit.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a == b || (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            let get =
                |name: &str| b.get(name).or_else(|| b.iter().find(|(other, _)| same_text(name, other)).map(|(_, b)| b));
            a.len() == b.len() && a.iter().all(|(name, a)| get(name).is_some_and(|b| same(a, b)))
        }
        (Value::String(a), Value::String(b)) => same_text(a, b),
        (a, b) => a == b,
    }
}

/// Equality of texts. Databases write all times of a column with the same number of digits, the reference as they came.
fn same_text(a: &str, b: &str) -> bool {
    let time = |text: &str| text.ends_with('Z').then(|| text.parse::<Timestamp>().ok()).flatten();
    a == b || time(a).is_some_and(|a| time(b) == Some(a))
}

mod postgres {
    use super::{AtomicU32, Ordering, Table, Value};
    use tokio_postgres::{Client, NoTls};

    pub(super) fn url() -> String {
        std::env::var("AQUIFER_TEST_POSTGRES").expect("these tests need a PostgreSQL: use `cargo xtask test`")
    }

    /// A schema of its own, dropped with the value.
    pub(super) struct TestSchema {
        pub(super) schema: String,
        pub(super) client: Client,
    }

    async fn connect() -> Client {
        let (client, connection) = tokio_postgres::connect(&url(), NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    impl TestSchema {
        pub(super) async fn new() -> Self {
            static COUNT: AtomicU32 = AtomicU32::new(0);
            // Another run may have left one behind.
            let moment = jiff::Timestamp::now().as_microsecond();
            let schema = format!("agreement_{moment:x}_{}", COUNT.fetch_add(1, Ordering::Relaxed));
            let client = connect().await;
            let sql = format!("CREATE SCHEMA {schema}; SET search_path = {schema}; SET client_min_messages = warning");
            client.batch_execute(&sql).await.unwrap();
            Self { schema, client }
        }

        pub(super) async fn add(&self, table: &Table, rows: &[Value]) {
            let (columns, rows) = table.for_postgres(rows);
            let name = table.name;
            let sql = format!(
                "INSERT INTO {name} ({columns}) SELECT {columns} \
                 FROM json_populate_recordset(NULL::{name}, ($1::text)::json)"
            );
            self.client.execute(&sql, &[&rows]).await.unwrap_or_else(|error| panic!("{rows}: {error:?}"));
        }
    }

    impl Drop for TestSchema {
        fn drop(&mut self) {
            let schema = self.schema.clone();
            let thread = std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
                runtime.block_on(async {
                    let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
                    let _ = connect().await.batch_execute(&sql).await;
                });
            });
            let _ = thread.join();
        }
    }
}
