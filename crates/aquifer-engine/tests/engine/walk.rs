//! R-INT-5: for every operation, exactly what introspection documents is accepted.

use aquifer_engine::Engine;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::schema::sample;
use serde_json::{Map, Value, json};

use crate::fixture::{ask, demo, operation};

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
    "wait",
    "element_type",
    "params2",
];

fn is_validation(answer: &Value) -> bool {
    answer["error"]["code"].as_str().is_some_and(|code| code.starts_with("VALIDATION_"))
}

/// A value that has none of the named types.
fn misfit(words: &str) -> Option<Value> {
    [json!({ "x": [] }), json!([{}]), json!(true), json!("\u{2003}")].into_iter().find(|value| {
        let of = match value {
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            Value::Bool(_) => "boolean",
            _ => "string",
        };
        let named = words.chars().next().is_some_and(char::is_uppercase);
        let fits = words == "any"
            || words.contains(of)
            || (of == "array" && words.contains("[]"))
            || (of == "object" && named);
        !fits
    })
}

/// Values of the right type that violate a documented constraint.
fn violations(parameter: &Value) -> Vec<Value> {
    let mut wrong = Vec::new();
    if parameter["enum"].is_array() && parameter["type"] == "string" {
        wrong.push(json!("none of the words"));
    }
    if let Some(minimum) = parameter["minimum"].as_i64() {
        wrong.push(json!(minimum - 1));
    }
    if let Some(maximum) = parameter["maximum"].as_i64() {
        wrong.push(json!(maximum + 1));
    }
    if parameter["minLength"].as_u64().is_some_and(|least| least > 0) {
        wrong.push(json!(""));
    }
    if let Some(most) = parameter["maxLength"].as_u64() {
        wrong.push(json!("X".repeat(usize::try_from(most).unwrap() + 1)));
    }
    if parameter["pattern"].is_string() {
        wrong.push(json!("\u{1}\u{2}\u{3}\u{4}"));
    }
    wrong
}

async fn walk(engine: &Engine) -> usize {
    let list = ask(engine, operation("introspect", json!({ "query": "operations", "first": 500 }))).await;
    let mut proofs = 0;
    for info in list["data"]["operations"].as_array().unwrap() {
        let name = info["name"].as_str().unwrap();
        let details = ask(engine, operation("introspect", json!({ "query": "operations", "name": name }))).await;
        let details = &details["data"]["operation"];
        let parameters = details["parameters"].as_array().unwrap();
        let snapshot = engine.snapshot();
        let defined = snapshot.catalog().operation(name).unwrap();
        // Where no value can be generated (a pattern), the example of the operation has one.
        let fitting = |parameter: &str| {
            let made_up = sample(&defined.parameter(parameter).unwrap().schema, snapshot.catalog().types());
            made_up.unwrap_or_else(|| details["examples"][0]["request"]["params"][parameter].clone())
        };
        let valid: Map<String, Value> = parameters
            .iter()
            .filter(|parameter| parameter["required"] == json!(true))
            .map(|parameter| {
                let name = parameter["name"].as_str().unwrap();
                (name.to_owned(), fitting(name))
            })
            .collect();

        // Documented requests are accepted: the minimum, and each parameter in addition.
        let least = ask(engine, operation(name, Value::Object(valid.clone()))).await;
        assert!(!is_validation(&least), "{name}: {least}");
        for parameter in parameters {
            let parameter_name = parameter["name"].as_str().unwrap();
            assert!(parameter["type"].is_string() && parameter["required"].is_boolean(), "{parameter}");
            let description = parameter["description"].as_str().unwrap_or_default();
            assert!(!looks_like_a_leak(description), "{name}.{parameter_name}: {description}");
            let mut with = valid.clone();
            with.insert(parameter_name.to_owned(), fitting(parameter_name));
            let answer = ask(engine, operation(name, Value::Object(with))).await;
            // Combinations may be refused, but never as unknown or of the wrong type.
            let code = answer["error"]["code"].as_str().unwrap_or_default();
            // The specification demands this code also for a cursor without its page size.
            let is_combination = answer["error"]["details"]["provided"].is_array();
            assert!(
                is_combination || !["VALIDATION_UNKNOWN_PARAM", "VALIDATION_INVALID_TYPE"].contains(&code),
                "{name}.{parameter_name}: {answer}"
            );
            proofs += 1;

            // Required means required, and the type is the type.
            if parameter["required"] == json!(true) {
                let mut without = valid.clone();
                without.remove(parameter_name);
                let answer = ask(engine, operation(name, Value::Object(without))).await;
                assert_eq!(answer["error"]["code"], "VALIDATION_MISSING_PARAM", "{name}.{parameter_name}");
                assert!(answer["error"]["message"].as_str().unwrap().contains(parameter_name));
                proofs += 1;
            }
            // Every documented constraint is enforced.
            for wrong in violations(parameter) {
                let mut with = valid.clone();
                with.insert(parameter_name.to_owned(), wrong.clone());
                let answer = ask(engine, operation(name, Value::Object(with))).await;
                assert_eq!(
                    answer["error"]["code"], "VALIDATION_INVALID_VALUE",
                    "{name}.{parameter_name} = {wrong}: {answer}"
                );
                proofs += 1;
            }
            if let Some(wrong) = misfit(parameter["type"].as_str().unwrap()) {
                let mut with = valid.clone();
                with.insert(parameter_name.to_owned(), wrong.clone());
                let answer = ask(engine, operation(name, Value::Object(with))).await;
                assert_eq!(
                    answer["error"]["code"], "VALIDATION_INVALID_TYPE",
                    "{name}.{parameter_name} = {wrong}: {answer}"
                );
                proofs += 1;
            }
        }

        // Undocumented parameters are refused.
        for other in
            CROSS_CUTTING.iter().filter(|other| !parameters.iter().any(|parameter| parameter["name"] == **other))
        {
            let mut with = valid.clone();
            with.insert((*other).to_owned(), json!(1));
            let answer = ask(engine, operation(name, Value::Object(with))).await;
            assert_eq!(answer["error"]["code"], "VALIDATION_UNKNOWN_PARAM", "{name} accepts '{other}'");
            proofs += 1;
        }

        // Examples are valid requests.
        for example in details["examples"].as_array().unwrap() {
            assert_eq!(example["request"]["operation"], name);
            let answer = ask(engine, example["request"].clone()).await;
            assert!(!is_validation(&answer), "{name}: {} {answer}", example["request"]);
        }
        // What needs a key has an example only if a key is known to exist.
        let needs = |parameter: &Value| parameter["required"] == true && parameter["type"] != "boolean";
        let is_optional = !parameters.iter().any(|parameter| needs(parameter) && parameter.get("enum").is_none());
        assert!(!is_optional || !details["examples"].as_array().unwrap().is_empty(), "{name} has an example");
    }
    proofs
}

#[tokio::test]
async fn r_int_5_introspection_is_exact_for_the_demo() {
    let proofs = walk(&demo()).await;
    assert!(proofs > 200, "{proofs}");
}

#[tokio::test]
async fn r_int_5_introspection_is_exact_for_every_kind_of_parameter() {
    let proofs = walk(&crate::adapter::kinds()).await;
    assert!(proofs > 100, "{proofs}");
}
