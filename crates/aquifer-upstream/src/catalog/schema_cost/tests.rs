//! Which schemas are checked, and which are left to the server.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::super::argument_validator::ArgumentValidator;
use super::*;

/// A chain of definitions. `link` builds each one from a reference to the next.
fn chain(levels: usize, link: impl Fn(Value) -> Value, last: Value) -> Value {
    let reference = |level: usize| json!({ "$ref": format!("#/$defs/d{level}") });
    let mut definitions: Map<String, Value> =
        (0..levels).map(|level| (format!("d{level}"), link(reference(level + 1)))).collect();
    definitions.insert(format!("d{levels}"), last);
    json!({ "type": "object", "properties": { "q": reference(0) }, "$defs": definitions })
}

fn applied_twice(keyword: &'static str) -> impl Fn(Value) -> Value {
    move |next| json!({ keyword: [next, next] })
}

fn nested(levels: usize) -> Value {
    (0..levels).fold(json!("a"), |inner, _| json!({ "a": inner }))
}

/// Whether the value is within the limit. Also asserts that finding out was cheap.
fn is_admitted(schema: &Value, value: &Value) -> Option<bool> {
    let cost = SchemaCost::analyze(schema)?;
    let (steps, pairs) = cost.count(value, Purpose::Validating);
    assert!(pairs as u64 <= MAX_STEPS + 1, "{pairs}");
    assert_eq!(steps.is_some(), cost.admits(value));
    Some(steps.is_some())
}

#[test]
fn exponential_schemas_are_left_to_the_server() {
    let text = json!({ "q": "a" });
    let both = |next: Value| json!({ "properties": { "a": next }, "additionalProperties": next, "not": next });
    let again = |next: Value| json!({ "if": next, "then": next, "else": { "dependentSchemas": { "a": next } } });
    let unevaluated = |next: Value| json!({ "anyOf": [next], "unevaluatedProperties": false });
    let recursive = json!({
        "$defs": { "d": { "allOf": [
            { "properties": { "a": { "$ref": "#/$defs/d" } } },
            { "properties": { "a": { "$ref": "#/$defs/d" } } },
        ] } },
        "properties": { "q": { "$ref": "#/$defs/d" } },
    });
    let endless = json!({ "properties": { "q": { "$ref": "#/$defs/a" } }, "$defs": {
        "a": { "anyOf": [{ "$ref": "#/$defs/b" }, { "type": "integer" }] }, "b": { "not": { "$ref": "#/$defs/a" } },
    } });
    let decoy = json!({ "properties": { "q": { "$ref": "#/$defs/%61" } }, "$defs": { "%61": true, "a": false } });
    let own_base = json!({ "$defs": { "a": { "$id": "http://x/", "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" });
    for (case, schema, value, expected) in [
        ("anyOf", chain(60, applied_twice("anyOf"), json!({ "type": "integer" })), &text, Some(false)),
        ("allOf", chain(60, applied_twice("allOf"), json!({ "type": "string" })), &text, Some(false)),
        ("oneOf", chain(60, applied_twice("oneOf"), json!({ "type": "string" })), &text, Some(false)),
        ("20 levels", chain(20, applied_twice("anyOf"), json!({ "type": "integer" })), &text, Some(false)),
        ("conditions", chain(40, again, json!(true)), &text, Some(false)),
        ("unevaluated", chain(40, unevaluated, json!(true)), &json!({ "q": {} }), Some(false)),
        ("same field twice", chain(60, both, json!(true)), &json!({ "q": nested(50) }), Some(false)),
        ("recursion that doubles", recursive.clone(), &json!({ "q": nested(40) }), Some(false)),
        ("the same, shallow", recursive, &json!({ "q": nested(4) }), Some(true)),
        ("no end", endless.clone(), &text, Some(false)),
        ("no end, not met", endless, &json!({ "other": 1 }), Some(true)),
        ("the bomb is not met", chain(60, applied_twice("anyOf"), json!(true)), &json!({ "r": "a" }), Some(true)),
        ("few levels", chain(8, applied_twice("anyOf"), json!({ "type": "integer" })), &text, Some(true)),
        ("too deep", chain(5_000, |next| json!({ "allOf": [next] }), json!(true)), &text, None),
        ("two readings", decoy, &text, None),
        ("own base", own_base, &text, None),
        ("nowhere", json!({ "$ref": "#/$defs/none" }), &text, None),
        ("elsewhere", json!({ "$ref": "http://x/y#/z" }), &text, None),
    ] {
        assert_eq!(is_admitted(&schema, value), expected, "{case}");
    }
}

#[test]
fn ordinary_schemas_are_checked() {
    let tree = json!({ "$ref": "#/$defs/node", "$defs": { "node": { "type": "object", "properties": {
        "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#/$defs/node" } },
    } } } });
    let leaf = json!({ "name": "x", "children": [] });
    let wide = json!({ "name": "x", "children": vec![leaf; 2_000] });
    let rows =
        json!({ "properties": { "rows": { "items": { "anyOf": [{ "type": "integer" }, { "type": "string" }] } } } });
    let escaped = json!({ "$ref": "#/$defs/A%3Cb~1c%3E", "$defs": { "A<b/c>": { "required": ["a"] } } });
    for (schema, value) in [
        (json!(true), json!({})),
        (tree, wide),
        (rows, json!({ "rows": vec![1; 20_000] })),
        (escaped, json!({})),
        (json!({ "$id": "http://x/y", "$ref": "http://x/y#/$defs/a", "$defs": { "a": {} } }), json!({})),
    ] {
        assert_eq!(is_admitted(&schema, &value), Some(true), "{schema}");
        assert!(ArgumentValidator::compile(&schema).is_some(), "{schema}");
    }
}

/// The work of one subschema counts every time the subschema is evaluated.
#[test]
fn lists_inside_a_subschema_count() {
    let names = |count: usize| -> Vec<String> { (0..count).map(|number| format!("f{number}")).collect() };
    let (many, object) = (names(15_000), json!({ "q": {} }));
    let dependent: Map<String, Value> = (0..15_000).map(|number| (format!("f{number}"), json!(["a"]))).collect();
    let text = json!({ "q": "a".repeat(100_000) });
    let list = json!({ "q": (0..10_000).collect::<Vec<_>>() });
    let fields: Map<String, Value> = (0..10_000).map(|number| (format!("f{number}"), json!(1))).collect();
    for (case, last, value) in [
        ("required", json!({ "required": many }), &object),
        ("dependentRequired", json!({ "dependentRequired": { "a": many } }), &object),
        ("dependencies", json!({ "dependencies": { "a": many } }), &object),
        ("many dependencies", json!({ "dependentRequired": dependent }), &object),
        ("enum", json!({ "enum": many }), &object),
        ("const", json!({ "const": many }), &object),
        ("long choices", json!({ "enum": ["a".repeat(1_000_000)] }), &object),
        ("maxLength", json!({ "maxLength": 3 }), &text),
        ("format", json!({ "format": "email" }), &text),
        ("pattern", json!({ "pattern": "(?=(a+)+b)" }), &text),
        ("uniqueItems", json!({ "uniqueItems": true }), &list),
        ("patternProperties", json!({ "patternProperties": { "^x": true } }), &json!({ "q": fields })),
    ] {
        for keyword in ["anyOf", "allOf", "oneOf"] {
            let schema = chain(8, applied_twice(keyword), last.clone());
            assert_eq!(is_admitted(&schema, value), Some(false), "{case} {keyword}");
        }
    }
}

/// Errors take memory. Where there could be many, a single one is reported.
#[test]
fn errors_are_collected_only_if_they_are_few() {
    let names = |count: usize| -> Vec<String> { (0..count).map(|number| format!("f{number}")).collect() };
    let large = json!({ "q": (0..30_000).collect::<Vec<_>>() });
    for (case, schema, value, are_collected) in [
        ("one", json!({ "required": ["a"] }), json!({}), true),
        ("a hundred", json!({ "required": names(100) }), json!({}), true),
        ("too many names", json!({ "required": names(30_000) }), json!({}), false),
        ("too many choices", json!({ "properties": { "q": { "enum": names(30_000) } } }), json!({ "q": 1 }), false),
        ("a large value", json!({ "properties": { "q": { "type": "string" } } }), large, false),
        (
            "alternatives",
            chain(6, applied_twice("anyOf"), json!({ "required": names(100) })),
            json!({ "q": {} }),
            false,
        ),
        ("few alternatives", chain(3, applied_twice("anyOf"), json!({ "required": ["a"] })), json!({ "q": {} }), true),
    ] {
        let cost = SchemaCost::analyze(&schema).unwrap();
        assert!(cost.admits(&value), "{case}");
        assert_eq!(cost.admits_collecting(&value), are_collected, "{case}");
        let check = ArgumentValidator::compile(&schema).unwrap();
        assert!(check.refuses(&value), "{case}");
        assert_eq!(check.errors(&value).is_empty(), !are_collected, "{case}");
    }
}

/// Runs on a stack of the size that worker threads have. Without a budget, validation would take years.
#[test]
fn checking_ends_for_any_schema() {
    let max_depth = MAX_DEPTH - 2;
    let cases = [
        chain(60, applied_twice("anyOf"), json!({ "type": "integer" })),
        chain(60, applied_twice("allOf"), json!({ "type": "string" })),
        chain(60, applied_twice("oneOf"), json!({ "$ref": "#" })),
        chain(max_depth / 2, |next| json!({ "allOf": [next] }), json!({ "type": "integer" })),
        chain(max_depth / 2, |next| json!({ "properties": { "a": next } }), json!({ "type": "integer" })),
        chain(max_depth / 2, |next| json!({ "not": next }), json!({ "$ref": "#/$defs/d0" })),
        chain(max_depth, |next| next, json!({ "type": "integer" })),
        chain(40, |next| json!({ "anyOf": [next], "unevaluatedProperties": false }), json!(true)),
    ];
    let (done, finished) = std::sync::mpsc::channel();
    let cost = move || {
        for schema in &cases {
            if let Some(check) = ArgumentValidator::compile(schema) {
                for value in [json!({ "q": "a" }), json!({ "q": {} }), json!({ "q": nested(60) })] {
                    assert!(check.errors(&value).len() < 100);
                }
            }
        }
        done.send(()).unwrap();
    };
    std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(cost).unwrap();
    finished.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
}
