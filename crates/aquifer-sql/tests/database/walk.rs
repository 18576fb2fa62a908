//! R-INT-5: what introspection describes is exactly what is accepted, for every operation of several databases.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::schema::sample;
use serde_json::{Map, Value, json};

use crate::support::Fixture;

/// Common parameter names that an operation may not have.
const CROSS_CUTTING: &[&str] = &[
    "fields",
    "filter",
    "sort",
    "order",
    "query",
    "aggregate",
    "first",
    "after",
    "last",
    "before",
    "limit",
    "offset",
    "page",
    "page_size",
    "preset",
    "edges",
    "include_items",
    "total",
    "dry_run",
    "if_match",
    "confirmation_token",
    "id",
    "name",
    "key",
    "values",
    "table_name",
    "input",
    "root",
    "direction",
    "params2",
];

fn code(answer: &Value) -> &str {
    answer["error"]["code"].as_str().unwrap_or_default()
}

/// A value of the wrong type.
fn misfit(words: &str) -> Option<Value> {
    if words.contains("any") {
        return None;
    }
    let named = words.chars().next().is_some_and(char::is_uppercase);
    [json!({ "x": [] }), json!([{}]), json!(true), json!("\u{2003}")].into_iter().find(|value| match value {
        Value::Object(_) => !words.contains("object") && !named,
        Value::Array(_) => !words.contains("array") && !words.contains("[]"),
        Value::Bool(_) => !words.contains("boolean"),
        _ => !words.contains("string"),
    })
}

/// The alternatives of a named union; other types as they are.
async fn alternatives(fixture: &Fixture, words: &str) -> String {
    let found = fixture.call_ok("introspect", json!({ "query": "types", "name": words })).await;
    match found["type"]["members"].as_array() {
        Some(members) => members.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | "),
        None => words.to_owned(),
    }
}

/// Values of the right type that violate the described constraints.
fn violations(parameter: &Value) -> Vec<Value> {
    let mut wrong = Vec::new();
    if parameter["enum"].is_array() {
        wrong.push(json!("none of the words"));
    }
    if let Some(minimum) = parameter["minimum"].as_i64() {
        wrong.push(json!(minimum - 1));
    }
    if let Some(maximum) = parameter["maximum"].as_i64() {
        wrong.push(json!(maximum + 1));
    }
    if let Some(most) = parameter["maxLength"].as_u64() {
        wrong.push(json!("X".repeat(usize::try_from(most).unwrap() + 1)));
    }
    if parameter["pattern"].is_string() {
        wrong.push(json!("\u{1}\u{2}\u{3}\u{4}"));
    }
    wrong
}

async fn walk(fixture: &Fixture) -> usize {
    let mut proofs = 0;
    for name in fixture.operations() {
        let details = fixture.details(&name).await;
        proofs += parameters(fixture, &name, &details).await;
        if details["aggregation_support"].is_object() && name != "list_tables" {
            proofs += controls(fixture, &name, &details).await;
        }
    }
    proofs
}

async fn parameters(fixture: &Fixture, name: &str, details: &Value) -> usize {
    let mut proofs = 0;
    let known = details["parameters"].as_array().unwrap();
    let snapshot = fixture.engine.snapshot();
    let defined = snapshot.catalog().operation(name).unwrap();
    let example = &details["examples"][0]["request"]["params"];
    let fitting = |parameter: &str| match &example[parameter] {
        Value::Null => {
            sample(&defined.parameter(parameter).unwrap().schema, snapshot.catalog().types()).unwrap_or_default()
        }
        shown => shown.clone(),
    };
    let required = known.iter().filter(|parameter| parameter["required"] == json!(true));
    let valid: Map<String, Value> = required
        .map(|parameter| parameter["name"].as_str().unwrap())
        .map(|parameter| (parameter.to_owned(), fitting(parameter)))
        .collect();
    let with = |parameter: &str, value: Value| {
        let mut with = valid.clone();
        with.insert(parameter.to_owned(), value);
        Value::Object(with)
    };

    // Documented requests are accepted: the minimal one, and each parameter with it.
    let least = fixture.call(name, Value::Object(valid.clone())).await;
    assert!(!code(&least).starts_with("VALIDATION"), "{name} {valid:?}: {least}");
    for parameter in known {
        let own = parameter["name"].as_str().unwrap();
        let description = parameter["description"].as_str().unwrap_or_default();
        assert!(!looks_like_a_leak(description), "{name}.{own}: {description}");
        let answer = fixture.call(name, with(own, fitting(own))).await;
        // Combinations may be refused, but not as unknown or of the wrong type. The specification demands the code of wrong
        // types also for a cursor without its page size.
        let is_combination = answer["error"]["details"]["provided"].is_array();
        assert!(
            is_combination || !["VALIDATION_UNKNOWN_PARAM", "VALIDATION_INVALID_TYPE"].contains(&code(&answer)),
            "{name}.{own}: {answer}"
        );
        if parameter["required"] == json!(true) {
            let mut without = valid.clone();
            without.remove(own);
            let answer = fixture.call(name, Value::Object(without)).await;
            assert_eq!(code(&answer), "VALIDATION_MISSING_PARAM", "{name}.{own}");
            assert!(answer["error"]["message"].as_str().unwrap().contains(own));
        }
        for wrong in violations(parameter) {
            let answer = fixture.call(name, with(own, wrong.clone())).await;
            assert_eq!(code(&answer), "VALIDATION_INVALID_VALUE", "{name}.{own} = {wrong}: {answer}");
        }
        let words = alternatives(fixture, parameter["type"].as_str().unwrap()).await;
        if let Some(wrong) = misfit(&words) {
            let answer = fixture.call(name, with(own, wrong.clone())).await;
            assert_eq!(code(&answer), "VALIDATION_INVALID_TYPE", "{name}.{own} = {wrong}: {answer}");
        }
        proofs += 4;
    }
    // Undocumented parameters are refused.
    for other in CROSS_CUTTING.iter().filter(|other| !known.iter().any(|parameter| parameter["name"] == **other)) {
        let answer = fixture.call(name, with(other, json!(1))).await;
        assert_eq!(code(&answer), "VALIDATION_UNKNOWN_PARAM", "{name} accepts '{other}'");
        proofs += 1;
    }
    // Examples work.
    let examples = details["examples"].as_array().unwrap();
    // An operation on one row has none if there is no row that it could succeed with.
    let verb = name.split('_').next().unwrap();
    assert!(!examples.is_empty() || ["get", "create", "update", "delete"].contains(&verb), "{name} has no example");
    for example in examples {
        // The calls above have changed rows, so an example may refer to one that is gone; see `examples.rs`.
        let answer = fixture.call(name, example["request"]["params"].clone()).await;
        assert!(!code(&answer).starts_with("VALIDATION"), "{name}: {example} {answer}");
    }
    proofs
}

/// The described fields, presets, aggregates and computed fields of lists.
async fn controls(fixture: &Fixture, name: &str, details: &Value) -> usize {
    let base = match details["examples"][0]["request"]["params"].get("query") {
        Some(_) => json!({ "query": "word" }),
        None => json!({}),
    };
    let asked = |control: &str, value: Value| {
        let mut params = base.clone();
        params[control] = value;
        params
    };
    let kind = details["returns"]["description"].as_str().unwrap();
    let kind = kind.split_once("items: ").unwrap().1.split_once("[]").unwrap().0;
    let fields = fixture.fields_of(kind).await;
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let parameter = |name: &str| {
        let all = details["parameters"].as_array().unwrap();
        all.iter().find(|parameter| parameter["name"] == name).cloned().unwrap()
    };
    let sums = &details["aggregation_support"];
    let (numeric, groupable) = (strings(&sums["numeric_fields"]), strings(&sums["groupable_fields"]));
    let mut proofs = 0;
    for field in fields.keys() {
        fixture.call_ok(name, asked("fields", json!([field]))).await;
        fixture.call_ok(name, asked("filter", json!({ field: { "is_null": false } }))).await;
        let sum = fixture.call(name, asked("aggregate", json!({ "x": { "sum": field } }))).await;
        assert_eq!(sum["success"], json!(numeric.contains(field)), "{name}: sum of {field}: {sum}");
        let group = fixture.call(name, asked("aggregate", json!({ "x": { "group_by": field, "count": true } }))).await;
        // Paths reach into JSON, which can be grouped by.
        if groupable.contains(field) {
            assert_eq!(group["success"], json!(true), "{name}: groups of {field}: {group}");
            fixture.call_ok(name, asked("sort", json!({ "field": field, "order": "desc" }))).await;
        }
        proofs += 5;
    }
    for preset in strings(&parameter("preset")["enum"]) {
        fixture.call_ok(name, asked("preset", preset.as_str().into())).await;
        fixture.call_ok(name, asked("fields", preset.as_str().into())).await;
    }
    for computed in details["computed_fields"].as_array().into_iter().flatten() {
        let path = format!("_computed.{}", computed["name"].as_str().unwrap());
        fixture.call_ok(name, asked("fields", json!([path]))).await;
        if computed["sortable"] == json!(true) {
            fixture.call_ok(name, asked("sort", json!({ "field": path }))).await;
        }
        if computed["filterable"] == json!(true) {
            fixture.call_ok(name, asked("filter", json!({ path: { "is_null": false } }))).await;
        }
        proofs += 3;
    }
    proofs
}

const SHOP: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, status TEXT NOT NULL DEFAULT 'new' CHECK (status IN ('new', 'it''s old')),
        \"Home Town\" TEXT, created_at TIMESTAMP, born DATE, \"limit\" REAL, dry_run BOOLEAN, meta JSON, \"🚀\" TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL REFERENCES customers(id), other_id INTEGER REFERENCES customers(id), total NUMERIC(8, 2), placed_at TIMESTAMP);
    CREATE TABLE lines (order_id INTEGER NOT NULL REFERENCES orders(id) ON DELETE CASCADE, number INTEGER NOT NULL, note TEXT, PRIMARY KEY (order_id, number));
    CREATE VIEW totals AS SELECT customer_id, sum(total) AS total FROM orders GROUP BY customer_id;
    INSERT INTO customers (id, name, created_at) VALUES (1, 'Ann', '2026-01-31 12:00:00'), (2, 'word', NULL);
    INSERT INTO orders (id, customer_id, total) VALUES (1, 1, 10.5), (2, 1, 3);
    INSERT INTO lines VALUES (1, 1, 'a word');";

#[tokio::test]
async fn r_int_5_introspection_is_exact_for_a_sqlite_file() {
    let more = "CREATE VIRTUAL TABLE posts USING fts5(title, body); INSERT INTO posts VALUES ('a', 'word');
        CREATE TABLE files (name TEXT PRIMARY KEY, bytes BLOB, seen_at INTEGER, loose) WITHOUT ROWID;
        CREATE TABLE unkeyed (a TEXT, b INTEGER);";
    let proofs = walk(&Fixture::sqlite(&format!("{SHOP}{more}")).await).await;
    assert!(proofs > 1_000, "{proofs}");
}

#[tokio::test]
async fn r_int_5_introspection_is_exact_for_a_postgresql_database() {
    let more = "CREATE TYPE mood AS ENUM ('sad', 'happy');
        CREATE TABLE kinds (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), n smallint NOT NULL, exact numeric(6, 2), mood mood, tags text[], numbers int[],
            doc jsonb, address inet, span interval, bytes bytea, big bigint, at timestamptz, twice int GENERATED ALWAYS AS (n * 2) STORED,
            body text, words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED);
        CREATE INDEX ON kinds USING gin (words);
        CREATE TABLE heap (a text, b int);";
    let proofs = walk(&Fixture::postgres(&format!("{SHOP}{more}")).await).await;
    assert!(proofs > 1_000, "{proofs}");
}

#[tokio::test]
async fn r_int_5_introspection_is_exact_for_generic_operations() {
    let fixture = Fixture::sqlite_with(SHOP, |settings| settings.style = aquifer_sql::Style::Generic).await;
    let proofs = walk(&fixture).await;
    assert!(proofs > 200, "{proofs}");
}
