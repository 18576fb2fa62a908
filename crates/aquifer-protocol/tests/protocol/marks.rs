//! What definitions say beyond types: deprecated operations, valid values, secrets.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::{Deprecation, Kind, Parameter, Schema, Types};
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::{Checked, Strictness, route};
use serde_json::{Value, json};

use crate::fixture::{check, crude, envelope, everything, operation};

fn check_in(catalog: &Catalog, request: Value) -> Result<Checked, Failure> {
    let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else { panic!("{request}") };
    route(catalog, &crude(), &Receiver::Unified, request)?.check(catalog, Strictness::Strict)
}

#[test]
fn r_res_2_deprecated_operations_work_and_warn() {
    let (mut operations, types) = everything();
    operations.retain(|operation| &*operation.name == "get_user");
    for (deprecated, description, message) in [
        (None, "Get a user.", None),
        (Some(Deprecation::default()), "Get a user.", Some("Operation 'get_user' is deprecated")),
        (
            None,
            "Get a user. DEPRECATED: Use find_user instead.",
            Some("Operation 'get_user' is deprecated: Use find_user instead."),
        ),
    ] {
        let mut operation = operations[0].clone();
        (operation.deprecated, operation.description) = (deprecated, description.into());
        let catalog = Catalog::build([operation], types.clone(), &crude()).unwrap();
        let request = json!({ "operation": "get_user", "params": { "user_id": 1 } });
        let (_, _, warnings) = check_in(&catalog, request).unwrap().into_parts();
        let shown: Vec<Value> = warnings.iter().map(|warning| json!(warning)).collect();
        assert_eq!(shown.len(), usize::from(message.is_some()), "{description}");
        if let Some(message) = message {
            assert_eq!(shown[0]["message"], message);
            assert_eq!(shown[0]["details"], json!({ "type": "operation", "deprecated_item": "get_user" }));
        }
    }
}

#[test]
fn r_req_4_values_are_refused_with_the_valid_ones() {
    for (name, value, key, valid) in [
        ("role", json!("admim"), "valid", json!(["admin", "editor", "viewer"])),
        ("age", json!(-1), "minimum", json!(0)),
        ("age", json!(151), "maximum", json!(150)),
        ("user_name", json!("a"), "minimum", json!(2)),
        ("user_name", json!("A1"), "pattern", json!("^[a-z]+$")),
        ("email", json!("x"), "format", json!("email")),
    ] {
        let mut params = json!({ "user_name": "ada" });
        params[name] = value;
        let error = envelope(check(json!({ "operation": "create_user", "params": params })).unwrap_err());
        assert_eq!(error["error"]["details"][key], valid, "{error}");
    }
    // A long list is only in the details; of a second problem it is in its message.
    let words: Vec<String> = (0..20).map(|number| format!("word_{number}")).collect();
    let mut operation = Operation::new("get_word", Category::Read, "Get a word.");
    let schema = || Schema::one_of(words.iter().map(String::as_str));
    operation.parameters = vec![Parameter::optional("a", schema()), Parameter::optional("b", schema())];
    let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
    let refuse = |params: Value| {
        let request = json!({ "operation": "get_word", "params": params });
        envelope(check_in(&catalog, request).unwrap_err())["error"].clone()
    };
    let one = refuse(json!({ "a": "x" }));
    assert_eq!(one["details"]["valid"], json!(words));
    assert!(!one["message"].as_str().unwrap().contains("word_19"), "{one}");
    let two = refuse(json!({ "a": "x", "b": "y" }));
    assert!(two["details"]["errors"][1]["message"].as_str().unwrap().contains("word_19"), "{two}");
}

/// Names decide, at any depth and in named types. Flags and what only describes a secret are none.
#[test]
fn r_int_2_secrets_are_marked_as_sensitive() {
    let mut types = Types::new();
    let schema = json!({
        "properties": {
            "api_key": { "type": "string" }, "pwd": { "type": "string" }, "password": { "type": "string" },
            "has_password": { "type": "boolean" }, "max_tokens": { "type": "integer" }, "next_page_token": { "type": "string" },
            "login": { "type": "object", "properties": { "user": { "type": "string" }, "secret": { "type": "string" } } },
            "all": { "type": "array", "items": { "$ref": "#/$defs/Account" } }
        },
        "$defs": { "Account": { "type": "object", "properties": { "id": { "type": "integer" }, "access_token": { "type": "string" } } } }
    });
    let operation = operation("create_login", Category::Create, &schema, &mut types);
    let catalog = Catalog::build([operation], types, &crude()).unwrap();
    let marked = |fields: &[Parameter]| -> Vec<String> {
        fields.iter().filter(|field| field.sensitive).map(|field| field.name.to_string()).collect()
    };
    let of = |name: &str| match &catalog.types()[name].kind {
        Kind::Object(shape) => marked(&shape.fields),
        _ => panic!("{name}"),
    };
    assert_eq!(marked(&catalog.operation("create_login").unwrap().parameters), ["api_key", "pwd", "password"]);
    assert_eq!(of("CreateLoginLogin"), ["secret"]);
    assert_eq!(of("Account"), ["access_token"]);
}
