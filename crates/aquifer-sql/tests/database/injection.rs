//! Hostile names and values in every parameter of every operation: they are refused or treated as data. The SQL is
//! recorded: no part of a request ever appears in its text, and requests of the same kind have the same text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Map, Value, json};
use tracing_subscriber::layer::SubscriberExt as _;

use crate::sql_log::SqlLog;
use crate::support::Fixture;

/// Part of every hostile text, and of nothing else.
const MARK: &str = "zq7mark";

/// All requests are made once in this many rounds.
const TURNS: usize = 5;

/// All SQL of this process.
static TEXTS: LazyLock<SqlLog> = LazyLock::new(|| {
    let reading = SqlLog::default();
    let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry().with(reading.clone()));
    reading
});

fn read_along() {
    LazyLock::force(&TEXTS);
}

/// The SQL about other tables, each text once: the catalog of the database is read before every call.
static OTHER_TEXTS: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The SQL about these tables since the last call.
fn texts(tables: &str) -> BTreeSet<String> {
    let taken = TEXTS.take(|_| true).into_iter();
    let (texts, mut others): (BTreeSet<_>, BTreeSet<_>) = taken.partition(|text| text.contains(tables));
    OTHER_TEXTS.lock().append(&mut others);
    texts
}

/// Texts that try to break out of a value.
fn hostile() -> impl Strategy<Value = String> {
    let parts = prop::sample::select(vec![
        "'",
        "\"",
        "`",
        "''",
        "\"\"",
        ";",
        "--",
        "/*",
        "*/",
        "\\",
        "\\'",
        "$1",
        "$$",
        "?",
        "?1",
        ":a",
        "@a",
        "%",
        "_",
        "{}",
        "[]",
        "(",
        ")",
        "||",
        "' OR '1'='1",
        "\"; DROP TABLE inj_guard; --",
        "'); DELETE FROM inj_guard; --",
        "*",
        "\u{2019}",
        "\u{FF07}",
        "\u{02BC}",
        "\u{202E}",
        "\u{200B}",
        "\u{1F600}",
        "e\u{0301}",
        "\u{FFFD}",
        "\r\n",
        "\t",
        " ",
        ".",
        "_computed.",
        "::text",
        "E'\\x27'",
        "U&\"\\0027\"",
        "NULL",
        "AND",
        "NEAR(",
        "^",
        "~",
        "+",
        "-",
        "0x27",
        "\\u0000",
        "&",
        "|",
        "<->",
        "!",
        "word",
    ]);
    let some = || prop::collection::vec(parts.clone(), 0..4).prop_map(|parts| parts.concat());
    (some(), some()).prop_map(|(before, after)| format!("{before}{MARK}{after}"))
}

/// Requests of the same kind, with the hostile text in one parameter.
fn requests(details: &BTreeMap<String, Value>, text: &str) -> Vec<(String, String, Map<String, Value>)> {
    let mut all = Vec::new();
    for (name, details) in details {
        let mut base = details["examples"][0]["request"]["params"].as_object().cloned().unwrap_or_default();
        if base.contains_key("table_name") {
            let real =
                [("table_name", json!("inj_things")), ("key", json!({ "id": 1 })), ("values", json!({ "name": "x" }))];
            for (name, value) in
                real.into_iter().filter(|(name, _)| details["parameters"].to_string().contains(&format!("\"{name}\"")))
            {
                base.insert(name.to_owned(), value);
            }
        }
        for parameter in details["parameters"].as_array().unwrap() {
            let parameter = parameter["name"].as_str().unwrap();
            for (shape, value) in shapes(parameter, text) {
                let mut params = base.clone();
                // Only one paging style at a time, and aggregates only if requested.
                params.retain(|known, _| {
                    known == parameter || !["first", "sort", "filter", "fields"].contains(&known.as_str())
                });
                if parameter == "after" || parameter == "before" {
                    params.insert(if parameter == "after" { "first" } else { "last" }.to_owned(), 2.into());
                }
                params.insert(parameter.to_owned(), value);
                all.push((format!("{name}.{parameter}.{shape}"), name.clone(), params));
            }
        }
        let mut params = base.clone();
        params.insert(text.to_owned(), 1.into());
        all.push((format!("{name}.unknown"), name.clone(), params));
    }
    all
}

fn shapes(parameter: &str, text: &str) -> Vec<(usize, Value)> {
    let mut values = vec![
        json!(text),
        json!([text, text]),
        json!({ text: text }),
        json!({ text: { text: [text] } }),
        json!({ "name": text }),
        json!({ "name": { text: text } }),
    ];
    match parameter {
        "filter" => {
            for operator in ["eq", "ne", "gt", "lt", "contains", "starts_with", "ends_with"] {
                for field in ["name", "kind", "size", "made_at", "meta", "meta.a", "is_new"] {
                    values.push(json!({ field: { operator: text } }));
                }
            }
            values.extend([
                json!({ "name": [text, "b"] }),
                json!({ "name": { "in": [text] } }),
                json!({ "name": { "not_in": [text, text] } }),
                json!({ "name": { "between": [text, text] } }),
                json!({ "meta": { text: text } }),
                json!({ format!("meta.{text}"): 1 }),
                json!({ format!("meta.a.{text}.b"): { "contains": text } }),
                json!({ "and": [{ "name": text }, { "or": [{ "name": text }, { "not": { "name": text } }] }] }),
                json!({ format!("name{text}"): text }),
                json!({ "id": text }),
            ]);
        }
        "sort" => values.extend([
            json!({ "field": text }),
            json!({ "field": "name", "order": text }),
            json!([{ "field": format!("meta.{text}"), "order": "desc" }]),
            json!({ "field": format!("_computed.{text}") }),
        ]),
        "fields" => values.extend([json!([format!("meta.{text}"), "name"]), json!([format!("_computed.{text}")])]),
        "aggregate" => values.extend([
            json!({ text: { "count": true } }),
            json!({ text: { "group_by": "name", "count": true } }),
            json!({ text: { "group_by": format!("meta.{text}"), "max": "size" } }),
            json!({ "a": { "sum": text } }),
            json!({ "a": { text: "size" } }),
            json!({ "a": { "group_by": [text, "kind"] } }),
        ]),
        "input" | "values" => values.extend([
            json!({ "id": 901, "name": text }),
            json!({ "name": text, "meta": { text: [text, { text: text }] } }),
            json!({ "meta": text, "name": text }),
            json!({ "kind": text }),
        ]),
        "root" => values.extend([
            json!({ "element_type": text, "id": 1 }),
            json!({ "element_type": "inj_things", "id": text }),
            json!({ "element_type": "inj_notes", "owner_id": 1, "code": text }),
            json!({ "element_type": "inj_things", "id": 1, text: 1 }),
        ]),
        "key" => values.extend([json!({ "id": text }), json!({ "owner_id": 1, "code": text }), json!({ text: 1 })]),
        _ => {}
    }
    values.into_iter().enumerate().collect()
}

/// The log belongs to one test at a time.
static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// Runs all requests with many texts.
async fn attack(fixture: &Fixture, tables: &'static str, texts_tried: Vec<String>, bound: usize) {
    let _alone = ALONE.lock().await;
    let before = objects(fixture).await;
    let mut details = BTreeMap::new();
    for name in fixture.operations() {
        let found = fixture.details(&name).await;
        details.insert(name, found);
    }
    let mut by_shape: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    texts(tables);
    for (round, text) in texts_tried.iter().enumerate() {
        let all = requests(&details, text).into_iter().enumerate();
        // All requests with the first text, then a part of them with each other text.
        let turn = all.filter(|(index, _)| round == 0 || index % TURNS == round % TURNS);
        for (shape, operation, params) in turn.map(|(_, request)| request) {
            let answer = fixture.call(&operation, Value::Object(params.clone())).await;
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            // Refusals and empty results are fine; SQL syntax errors are not.
            assert!(!code.starts_with("UPSTREAM"), "{operation} {params:?}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap_or_default();
            assert!(message.len() < 4_000, "{message}");
            let asked = texts(tables);
            for sql in &asked {
                assert!(!sql.to_lowercase().contains(MARK), "{operation} {params:?}: {sql}");
            }
            by_shape.entry(shape).or_default().extend(asked);
        }
    }
    assert!(by_shape.values().filter(|texts| !texts.is_empty()).count() > 20, "too little reached the database");
    for (shape, texts) in &by_shape {
        // Only the number of search terms may change the text of a statement.
        let most = if shape.contains(".query.") { bound * 12 } else { bound };
        assert!(texts.len() <= most, "{shape}: {} texts: {texts:#?}", texts.len());
    }
    // Written text is stored exactly, and nothing else was changed.
    let generic = details.contains_key("create_record");
    let ask = async |verb: &str, params: Value| -> Value {
        if !generic {
            let plural = if verb == "list" { "s" } else { "" };
            return fixture.call(&format!("{verb}_inj_thing{plural}"), params).await;
        }
        let mut given = match verb {
            "create" => json!({ "values": params }),
            "get" => json!({ "key": params }),
            _ => params,
        };
        given["table_name"] = "inj_things".into();
        fixture.call(&format!("{verb}_record{}", if verb == "list" { "s" } else { "" }), given).await
    };
    for text in &texts_tried {
        let made = ask("create", json!({ "name": text, "meta": { text: text } })).await;
        if text.contains('\0') {
            assert_eq!(made["error"]["code"], "VALIDATION_INVALID_ENCODING", "{made}");
            continue;
        }
        let id = &made["data"]["id"];
        let read = ask("get", json!({ "id": id })).await["data"].clone();
        assert_eq!((&read["name"], &read["meta"]), (&json!(text), &json!({ text: text })), "{made}");
        for filter in [json!({ "name": text, "id": id }), json!({ "name": { "contains": text }, "id": id })] {
            let found = ask("list", json!({ "filter": filter, "fields": ["id"] })).await;
            assert_eq!(found["data"]["items"], json!([{ "id": id }]), "{filter}");
        }
    }
    assert_eq!(objects(fixture).await, before);
    assert_eq!(fixture.value("SELECT count(*) FROM inj_guard WHERE word = 'unharmed'").await, "3");
    assert_eq!(TEXTS.take(|sql| sql.to_lowercase().contains(MARK)), Vec::<String>::new());
    let others = OTHER_TEXTS.lock();
    assert_eq!(
        others.iter().filter(|sql| sql.to_lowercase().contains(MARK)).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
}

/// The complete content of the database.
async fn objects(fixture: &Fixture) -> String {
    let sql = match &fixture.backing {
        crate::support::Backing::File(_) => {
            "SELECT group_concat(name || coalesce(sql, ''), '|') FROM (SELECT * FROM sqlite_schema ORDER BY name)"
        }
        crate::support::Backing::Server(_) => {
            "SELECT string_agg(relname || attname, '|' ORDER BY relname, attnum) FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid WHERE relnamespace = 'public'::regnamespace"
        }
    };
    fixture.value(sql).await
}

/// Known attack strings, and random ones.
fn some_texts(count: u32) -> Vec<String> {
    let mut all: Vec<String> =
        ["'", "\"", "\\", "'; DROP TABLE inj_guard; --", "\" OR \"\"=\"", "$1 ?1 :a", "%_", "\u{FF07}\u{202E}", "\0"]
            .iter()
            .map(|text| format!("{text}{MARK}{text}"))
            .collect();
    let chance = std::cell::RefCell::new(Vec::new());
    let mut runner = TestRunner::new(Config { cases: count, failure_persistence: None, ..Config::default() });
    runner
        .run(&hostile(), |text| {
            chance.borrow_mut().push(text);
            Ok(())
        })
        .unwrap();
    all.extend(chance.into_inner());
    all
}

const SQLITE: &str = "
    CREATE TABLE inj_owners (id INTEGER PRIMARY KEY, name TEXT, created_at DATETIME);
    CREATE TABLE inj_things (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT CHECK (kind IN ('a', 'b')), size INTEGER, weight REAL,
        is_new BOOLEAN, made_at DATETIME, meta JSON, data BLOB, owner_id INTEGER REFERENCES inj_owners(id));
    CREATE TABLE inj_notes (owner_id INTEGER NOT NULL REFERENCES inj_owners(id), code TEXT NOT NULL, body TEXT, PRIMARY KEY (owner_id, code)) WITHOUT ROWID;
    CREATE TABLE inj_guard (word TEXT);
    CREATE VIRTUAL TABLE inj_index USING fts5(name, content='inj_things', content_rowid='id');";

const POSTGRES: &str = "
    CREATE TABLE inj_owners (id int GENERATED BY DEFAULT AS IDENTITY (START 100) PRIMARY KEY, name text, created_at timestamptz);
    CREATE TABLE inj_things (id int GENERATED BY DEFAULT AS IDENTITY (START 100) PRIMARY KEY, name text NOT NULL, kind text CHECK (kind IN ('a', 'b')),
        size int, weight numeric, is_new boolean, made_at timestamptz, meta jsonb, data bytea, tags text[], address inet, owner_id int REFERENCES inj_owners);
    CREATE TABLE inj_notes (owner_id int NOT NULL REFERENCES inj_owners, code text NOT NULL, body text, PRIMARY KEY (owner_id, code));
    CREATE TABLE inj_guard (word text);
    CREATE INDEX ON inj_things USING gin (to_tsvector('simple', name));";

const ROWS: &str = "
    INSERT INTO inj_owners (id, name) VALUES (1, 'Ann'), (2, NULL);
    INSERT INTO inj_things (id, name, kind, size, meta, owner_id) VALUES (1, 'one', 'a', 1, '{\"a\": {\"b\": [1, \"x\"]}}', 1);
    INSERT INTO inj_notes VALUES (1, 'c', 'first');
    INSERT INTO inj_guard VALUES ('unharmed'), ('unharmed'), ('unharmed');";

#[tokio::test]
async fn injected_text_never_becomes_sql_on_sqlite() {
    read_along();
    let fixture =
        Fixture::sqlite_with(&format!("{SQLITE}{ROWS}"), |settings| settings.exclude = vec!["inj_guard".to_owned()])
            .await;
    attack(&fixture, "inj_", some_texts(10), 4).await;
}

#[tokio::test]
async fn injected_text_never_becomes_sql_in_generic_operations() {
    read_along();
    let fixture = Fixture::sqlite_with(&format!("{SQLITE}{ROWS}"), |settings| {
        settings.exclude = vec!["inj_guard".to_owned()];
        settings.style = aquifer_sql::Style::Generic;
    })
    .await;
    attack(&fixture, "inj_", some_texts(10), 4).await;
}

#[tokio::test]
async fn injected_text_never_becomes_sql_on_postgresql() {
    read_along();
    let fixture = Fixture::postgres_with(&format!("{POSTGRES}{ROWS}"), |settings| {
        settings.exclude = vec!["inj_guard".to_owned()]
    })
    .await;
    attack(&fixture, "inj_", some_texts(10), 4).await;
}
