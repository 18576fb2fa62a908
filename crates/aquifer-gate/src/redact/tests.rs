//! What a person who approves a call sees.

use aquifer_protocol::category::Category;
use aquifer_protocol::schema::{Parameter, Rest};
use serde_json::json;

use super::*;

fn parameter(name: &str, schema: Schema) -> Parameter {
    Parameter::optional(name, schema)
}

/// An operation with secrets and with parameters that only sound like one.
fn operation() -> Operation {
    let mut operation = Operation::new("rotate_secret", Category::Update, "Rotates a secret.");
    let inner = Schema::new(Kind::Object(Shape {
        fields: vec![parameter("password", Schema::string()), parameter("user", Schema::string())],
        rest: Rest::Free,
    }));
    let texts = ["secret_name", "token_id", "password", "api_key", "note", "max_tokens", "private_key_path"];
    operation.parameters = texts.iter().map(|name| parameter(name, Schema::string())).collect();
    operation.parameters.push(parameter("tokens", Schema::new(Kind::Array(Some(Box::new(Schema::string()))))));
    operation.parameters.push(parameter("credentials", inner.clone()));
    operation.parameters.push(parameter("accounts", Schema::new(Kind::Array(Some(Box::new(inner))))));
    operation.parameters.push(Parameter { sensitive: true, ..parameter("diagnosis", Schema::default()) });
    operation
}

fn seen(params: &Value) -> Value {
    redact_for_approver(&operation(), None, params.as_object().unwrap(), 64 * 1024)
}

#[test]
fn r_saf_3_only_values_that_are_secrets_are_hidden() {
    let fingerprint = |text: &str| {
        let digest = Sha256::digest(text.as_bytes());
        format!("{:02x}{:02x}…", digest[0], digest[1])
    };
    let placeholder =
        |text: &str| format!("[hidden, {} characters, sha256 {}]", text.chars().count(), fingerprint(text));
    for (given, expected) in [
        // Identifiers are shown.
        (
            json!({ "secret_name": "prod/db", "token_id": "tok-17" }),
            json!({ "secret_name": "prod/db", "token_id": "tok-17" }),
        ),
        (json!({ "max_tokens": 5, "private_key_path": "/k" }), json!({ "max_tokens": 5, "private_key_path": "/k" })),
        // Declared secrets are hidden.
        (json!({ "password": "correct horse battery" }), json!({ "password": placeholder("correct horse battery") })),
        (json!({ "api_key": "kläffend123" }), json!({ "api_key": placeholder("kläffend123") })),
        (json!({ "password": "short" }), json!({ "password": "[hidden, 5 characters]" })),
        (json!({ "password": "1" }), json!({ "password": "[hidden, 1 character]" })),
        (
            json!({ "tokens": ["abcdefgh", "i"] }),
            json!({ "tokens": [placeholder("abcdefgh"), "[hidden, 1 character]"] }),
        ),
        (
            json!({ "credentials": { "user": "ada", "password": "swordfish" } }),
            json!({ "credentials": { "user": "ada", "password": placeholder("swordfish") } }),
        ),
        (
            json!({ "accounts": [{ "password": "swordfish" }] }),
            json!({ "accounts": [{ "password": placeholder("swordfish") }] }),
        ),
        // Sensitive values are hidden whatever their type.
        (json!({ "diagnosis": 17 }), json!({ "diagnosis": "[hidden, a number]" })),
        (json!({ "diagnosis": true }), json!({ "diagnosis": "[hidden, true or false]" })),
        (json!({ "diagnosis": null }), json!({ "diagnosis": null })),
        (
            json!({ "diagnosis": ["some", "thing"] }),
            json!({ "diagnosis": format!("[hidden, 2 elements, sha256 {}]", fingerprint("[\"some\",\"thing\"]")) }),
        ),
        // A caller cannot hide a value by its format or by choosing a name.
        (json!({ "note": "Bearer abcdef1234567890" }), json!({ "note": "Bearer abcdef1234567890" })),
        (json!({ "note": "password=x" }), json!({ "note": "password=x" })),
        (json!({ "undeclared_password": "drop it all" }), json!({ "undeclared_password": "drop it all" })),
        (json!({ "credentials": { "token": "drop it all" } }), json!({ "credentials": { "token": "drop it all" } })),
        (json!({ "password": { "not": "text" } }), json!({ "password": { "not": "text" } })),
        (json!({ "password": 17 }), json!({ "password": 17 })),
    ] {
        assert_eq!(seen(&given), expected, "{given}");
    }
}

#[test]
fn r_saf_3_the_whole_depth_of_a_call_is_shown() {
    // Arguments can be nested as deeply as the largest request limit allows, counted from the message.
    let mut deep = json!("the end");
    for level in 0..60 {
        deep = if level % 2 == 0 { json!({ "deeper": deep }) } else { json!([deep]) };
    }
    let params =
        json!({ "note": deep, "long": "ä".repeat(5_000), "x".repeat(200).as_str(): "whole", "many": vec![1; 3_000] });
    assert_eq!(seen(&params), params);
    assert!(!seen(&params).to_string().contains(CUT));
}

#[test]
fn r_saf_3_the_limit_is_per_caller_and_cuts_are_marked() {
    let params = json!({ "a": "x".repeat(500), "b": [1, 2, 3], "c": 1 });
    let some = redact_for_approver(&operation(), None, params.as_object().unwrap(), 100);
    assert_eq!(some, json!({ "a": format!("{}… (500 characters)", "x".repeat(100)), "…": "2 more" }));
    assert_eq!(redact_for_approver(&operation(), None, params.as_object().unwrap(), usize::MAX), params);
    // Deeper than any request, the walk stops.
    let mut endless = json!(1);
    for _ in 0..500 {
        endless = json!([endless]);
    }
    let mut params = Map::new();
    params.insert("note".to_owned(), endless);
    assert!(redact_for_approver(&operation(), None, &params, usize::MAX).to_string().contains(CUT));
}
