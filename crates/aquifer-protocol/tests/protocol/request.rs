//! Requests: what they are made of.

use aquifer_protocol::request::{BatchRequest, ParsedRequest, parse};
use serde_json::{Value, json};

use crate::fixture::{check, envelope};

fn params(request: Value) -> Value {
    Value::Object(check(request).unwrap().params().clone())
}

fn refusal(request: Value) -> Value {
    match parse(request.as_object().unwrap().clone(), 3) {
        Err(not) => envelope(not.failure().clone())["error"].clone(),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn r_req_1_a_request_needs_an_operation_that_is_a_name() {
    for (request, part) in [
        (json!({}), "'operation' is missing"),
        (json!({ "params": {} }), "'operation' is missing"),
        (json!({ "operation": "" }), "'operation' is empty"),
        (json!({ "operation": 5 }), "expected 'string', got 'integer'"),
        (json!({ "operation": ["list_users"] }), "expected 'string', got 'array'"),
    ] {
        let error = refusal(request);
        assert_eq!(error["code"], "VALIDATION_INVALID_REQUEST");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    let error = refusal(json!({ "operation": "get_user", "params": "{\"user_id\":1}" }));
    assert_eq!(error["code"], "VALIDATION_INVALID_TYPE");
    assert_eq!(error["details"]["param_name"], "params");
}

#[test]
fn r_req_1_operation_names_are_case_sensitive() {
    let failure = check(json!({ "operation": "List_Users" })).unwrap_err();
    let error = envelope(failure)["error"].clone();
    assert_eq!(error["code"], "NOT_FOUND_OPERATION");
    assert_eq!(error["details"]["suggestions"][0], "list_users");
    let failure = check(json!({ "operation": "list_user" })).unwrap_err();
    assert_eq!(envelope(failure)["error"]["details"]["suggestions"][0], "list_users", "though there is a get_user");
}

#[test]
fn r_req_2_params_win_over_top_level() {
    assert_eq!(params(json!({ "operation": "get_user", "user_id": 1 })), json!({ "user_id": 1 }));
    assert_eq!(
        params(json!({ "operation": "get_user", "user_id": 1, "params": { "user_id": 2 } })),
        json!({ "user_id": 2 })
    );
    assert_eq!(params(json!({ "operation": "get_user", "user_id": 1, "params": null })), json!({ "user_id": 1 }));
}

#[test]
fn r_req_2_underscore_names_are_metadata_on_top_level_only() {
    let checked = check(json!({
        "operation": "get_user", "user_id": 1, "_meta": { "user_id": 9 }, "_request_id": "x", "_confirmation": "conf_1",
    }))
    .unwrap();
    assert_eq!(Value::Object(checked.params().clone()), json!({ "user_id": 1 }));
    assert_eq!(checked.metadata().confirmation.as_deref(), Some("conf_1"));

    let inside = check(json!({
        "operation": "get_user", "params": { "user_id": 1, "_confirmation": "conf_2", "_quota_continue": "quota_continue_3" },
    }))
    .unwrap();
    assert_eq!(inside.metadata().confirmation.as_deref(), Some("conf_2"));
    assert_eq!(inside.metadata().quota_continue.as_deref(), Some("quota_continue_3"));

    let failure = check(json!({ "operation": "get_user", "params": { "user_id": 1, "_other": 1 } })).unwrap_err();
    assert_eq!(failure.code().as_str(), "VALIDATION_UNKNOWN_PARAM");
    // `operation` and `params` are the protocol's own at top level only.
    let failure = check(json!({ "operation": "get_user", "params": { "user_id": 1, "operation": "x" } })).unwrap_err();
    assert_eq!(failure.details()["unknown_params"], json!(["operation"]));
}

#[test]
fn r_req_3_camel_case_is_an_alias() {
    assert_eq!(params(json!({ "operation": "get_user", "params": { "userId": 4 } })), json!({ "user_id": 4 }));
    assert_eq!(params(json!({ "operation": "get_user", "userId": 4 })), json!({ "user_id": 4 }));
    let wins = json!({ "operation": "get_user", "user_id": 5, "params": { "userId": 4 } });
    assert_eq!(params(wins), json!({ "user_id": 4 }), "params win under an alias, too");
    for other in ["USER_ID", "User_Id", "user-id", "user id", "UserId"] {
        let mut given = json!({ "operation": "get_user", "params": {} });
        given["params"][other] = json!(4);
        assert!(check(given).is_err(), "{other} is no camelCase");
    }
    let failure = check(json!({ "operation": "get_user", "params": { "userId": 4, "user_id": 5 } })).unwrap_err();
    assert!(failure.message().contains("given twice"), "{}", failure.message());
}

#[test]
fn r_bat_4_a_malformed_batch_fails_whole() {
    for (request, part) in [
        (json!({ "operations": [] }), "is empty"),
        (json!({ "operations": {} }), "expected 'array', got 'object'"),
        (json!({ "operations": vec![json!({ "operation": "a" }); 4] }), "more than the 3 allowed"),
        (json!({ "operations": [{ "operation": "a" }, { "params": {} }] }), "'operations[1]' has no 'operation'"),
        (json!({ "operations": [{ "operation": 7 }] }), "'operations[0]' has no 'operation'"),
        (json!({ "operations": ["list_users"] }), "'operations[0]' is not an object"),
        (json!({ "operations": [{ "operations": [] }] }), "do not nest"),
        (json!({ "operation": "a", "operations": [{ "operation": "b" }] }), "cannot be combined with 'operations'"),
        (json!({ "params": {}, "operations": [{ "operation": "b" }] }), "cannot be combined with 'operations'"),
    ] {
        let error = refusal(request);
        assert_eq!(error["code"], "VALIDATION_INVALID_REQUEST");
        assert!(error["message"].as_str().unwrap().contains(part), "{error}");
    }
    let accepted =
        parse(json!({ "operations": [{ "operation": "a", "x": 1 }], "_meta": {} }).as_object().unwrap().clone(), 3);
    let Ok(ParsedRequest::Batch(BatchRequest { items, .. })) = accepted else { panic!("refused") };
    assert_eq!(items[0].request.as_ref().unwrap().clone().into_params()["x"], 1);
}
