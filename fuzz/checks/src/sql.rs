//! Hostile names and values through every control of every operation of a database: what is asked for may be refused, but
//! no part of it ever stands in SQL text, and the database never meets a statement it does not understand.

use std::io::Write;
use std::sync::{Arc, LazyLock, Mutex};

use aquifer_engine::clock::SystemClock;
use aquifer_engine::{Caller, Context, Engine, Reply};
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface};
use aquifer_query::CursorKey;
use aquifer_sql::{Database, Settings, Target};
use serde_json::{Map, Value, json};

/// Stands in every hostile text, and in nothing else.
const MARK: &str = "Zq7";

const TABLES: &str = "
    CREATE TABLE things (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT CHECK (kind IN ('a', 'b')), size INTEGER, weight REAL,
        is_new BOOLEAN, made_at DATETIME, meta JSON, data BLOB, owner_id INTEGER REFERENCES owners(id));
    CREATE TABLE owners (id INTEGER PRIMARY KEY, name TEXT, created_at DATETIME);
    CREATE TABLE notes (owner_id INTEGER NOT NULL REFERENCES owners(id), line INTEGER NOT NULL, body TEXT,
        PRIMARY KEY (owner_id, line)) WITHOUT ROWID;
    CREATE VIRTUAL TABLE things_fts USING fts5(name, content='things', content_rowid='id');
    INSERT INTO owners VALUES (1, 'Ann', '2026-01-01 00:00:00'), (2, NULL, NULL);
    INSERT INTO things VALUES (1, 'one', 'a', 1, 1.5, 1, '2026-01-01 00:00:00', '{\"a\":{\"b\":[1,\"x\"]}}', x'00', 1);
    INSERT INTO notes VALUES (1, 1, 'first'), (1, 2, NULL);
    INSERT INTO things_fts(things_fts) VALUES ('rebuild');";

static SQL: LazyLock<Arc<Mutex<Vec<u8>>>> = LazyLock::new(Arc::default);

struct Log;

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        SQL.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct World {
    runtime: tokio::runtime::Runtime,
    engine: Engine,
    operations: Vec<String>,
}

static WORLD: LazyLock<World> = LazyLock::new(|| {
    let filter = tracing_subscriber::EnvFilter::new("aquifer_sql=trace");
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Log).init();
    let connection = rusqlite::Connection::open(aquifer_sql::memory_name("fuzz")).unwrap();
    connection.execute_batch(TABLES).unwrap();
    Box::leak(Box::new(connection));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let settings = Settings::with_target("fuzz", Target::Memory("fuzz".to_owned()));
    let database = runtime.block_on(Database::open(settings, CursorKey::new([7; 32]), Arc::new(SystemClock))).unwrap();
    let surface = Surface::new(Mode::Single, Profile::known("crude").unwrap(), "").unwrap();
    let engine = Engine::builder(surface).source(database).build().unwrap();
    let operations = engine.snapshot().catalog().operations().iter().map(|one| one.name.to_string()).collect();
    World { runtime, engine, operations }
});

/// Choices, until there are no bytes left; then always the first.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, most: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or(0)) % most.max(1)
    }

    fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }

    fn hostile(&mut self) -> String {
        let tail: Vec<u8> = (0..self.below(8)).map(|_| self.0.next().copied().unwrap_or(b'\'')).collect();
        let head = self.of(&["", "'", "\"", "'; DROP TABLE things; --", "\\", "$1", "?1", "/*", "id", "a.b.", "%_"]);
        format!("{head}{MARK}{}", String::from_utf8_lossy(&tail))
    }

    fn name(&mut self) -> String {
        const NAMES: [&str; 16] = [
            "id",
            "name",
            "kind",
            "size",
            "weight",
            "is_new",
            "made_at",
            "meta",
            "meta.a.b",
            "meta.a.b.0",
            "data",
            "owner_id",
            "_computed.age_days",
            "line",
            "body",
            "_etag",
        ];
        match self.below(4) {
            0 => self.hostile(),
            1 => format!("meta.{}", self.hostile()),
            _ => self.of(&NAMES).to_owned(),
        }
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 3 { 6 } else { 9 }) {
            0 => self.hostile().into(),
            1 => self.of(&[-1_i64, 0, 1, 2, i64::MAX, i64::MIN]).into(),
            2 => self.of(&[0.5_f64, -1e308, 1e-308]).into(),
            3 => self.of(&[true, false]).into(),
            4 => self.of(&[json!(null), json!("a"), json!("2026-01-01T00:00:00Z"), json!("one"), json!("AA==")]),
            5 => self.name().into(),
            6 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => {
                const WORDS: [&str; 20] = [
                    "eq",
                    "ne",
                    "gt",
                    "gte",
                    "lt",
                    "lte",
                    "in",
                    "not_in",
                    "contains",
                    "starts_with",
                    "ends_with",
                    "between",
                    "is_null",
                    "and",
                    "or",
                    "not",
                    "field",
                    "order",
                    "count",
                    "group_by",
                ];
                let mut object = Map::new();
                for _ in 0..self.below(4) {
                    let name = if self.below(2) == 0 { self.of(&WORDS).to_owned() } else { self.name() };
                    object.insert(name, self.value(depth + 1));
                }
                object.into()
            }
        }
    }
}

/// Checks one input.
pub fn check(bytes: &[u8]) {
    let world = &*WORLD;
    let mut choices = Choices(bytes.iter());
    let operation = choices.of(&world.operations);
    let Some(definition) = world.engine.snapshot().catalog().operation(&operation).cloned() else { return };
    let mut params = Map::new();
    for parameter in &definition.parameters {
        if parameter.required || choices.below(3) == 0 {
            let value = match (&*parameter.name, choices.below(3)) {
                ("dry_run", _) => true.into(),
                ("id" | "line" | "owner_id" | "first" | "last" | "limit" | "offset", 0 | 1) => 1.into(),
                ("query", _) => choices.hostile().into(),
                ("root", 0 | 1) => {
                    json!({ "element_type": choices.of(&["owners", "things", "notes"]), "id": choices.value(3) })
                }
                ("direction", _) => "both".into(),
                ("sort" | "fields" | "group_by", 0) => choices.name().into(),
                _ => choices.value(0),
            };
            params.insert(parameter.name.to_string(), value);
        }
    }
    // The same rows for every input: what changes something only rehearses.
    if definition.parameter("dry_run").is_some() {
        params.insert("dry_run".to_owned(), true.into());
    }
    SQL.lock().unwrap().clear();
    let request = json!({ "operation": operation, "params": params });
    let arguments = request.as_object().cloned().unwrap_or_default();
    let context = Context::new(Caller::anonymous(), "fuzz");
    let reply = world.runtime.block_on(world.engine.handle(&Receiver::Unified, arguments, context));
    let sql = String::from_utf8_lossy(&SQL.lock().unwrap()).into_owned();
    assert!(!sql.to_lowercase().contains(&MARK.to_lowercase()), "{request} became {sql}");
    if let Reply::Response(Response::Failure(failure)) = reply {
        let code = failure.code().as_str();
        assert!(!["INTERNAL_ERROR", "UPSTREAM_ERROR"].contains(&code), "{request}: {failure:?}");
    }
}
