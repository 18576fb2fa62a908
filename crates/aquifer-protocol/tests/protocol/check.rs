//! Checking parameters: what is refused, in which order, with which words.

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::schema::{Parameter, Schema, Types};
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::{Checked, Strictness, route};
use serde_json::{Value, json};

use crate::fixture::{check, check_with, crude, envelope, everything, operation};

/// The failure's envelope for one parameter of `create_user` besides a valid name.
fn refuse(parameter: &str, value: Value) -> Value {
    let mut params = json!({ "user_name": "ada" });
    params[parameter] = value;
    let failure = check(json!({ "operation": "create_user", "params": params })).expect_err(parameter);
    assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
    envelope(failure)["error"].clone()
}

fn accept(parameter: &str, value: Value) -> Value {
    let mut params = json!({ "user_name": "ada" });
    params[parameter] = value;
    let checked = check(json!({ "operation": "create_user", "params": params }))
        .unwrap_or_else(|failure| panic!("{parameter}: {}", failure.message()));
    checked.params()[parameter].clone()
}

#[test]
fn r_req_4_types_are_checked_deeply() {
    for (parameter, value, path, expected, actual) in [
        ("age", json!("5"), "age", "integer", "string"),
        ("age", json!(5.5), "age", "integer", "number"),
        ("age", json!(null), "age", "integer", "null"),
        ("score", json!(true), "score", "number", "boolean"),
        ("role", json!(1), "role", "string", "integer"),
        ("tags", json!("a"), "tags", "array", "string"),
        ("tags", json!(["a", 2]), "tags[1]", "string", "integer"),
        ("address", json!([]), "address", "Address", "array"),
        ("address", json!({ "city": 5 }), "address.city", "string", "integer"),
        ("address", json!({ "city": "a", "next": { "city": {} } }), "address.next.city", "string", "object"),
        ("fields", json!(5), "fields", "string | string[]", "integer"),
        ("labels", json!({ "a": "b" }), "labels.a", "integer", "string"),
        ("nickname", json!(5), "nickname", "string | null", "integer"),
    ] {
        let error = refuse(parameter, value);
        assert_eq!(error["code"], "VALIDATION_INVALID_TYPE", "{error}");
        assert_eq!(error["details"]["param_name"], path, "{error}");
        assert_eq!(error["details"]["expected_type"], expected, "{error}");
        assert_eq!(error["details"]["actual_type"], actual, "{error}");
    }
}

#[test]
fn r_req_4_constraints_are_checked() {
    for (parameter, value, words) in [
        ("user_name", json!("a"), "2 characters or more"),
        ("user_name", json!("aaaaaaaaaaaaaaaaaaaaa"), "no more than 20 characters"),
        ("user_name", json!("Ada"), "does not match its pattern"),
        ("age", json!(-1), "0 or more"),
        ("age", json!(151), "no more than 150"),
        ("score", json!(0), "greater than 0"),
        ("score", json!(1), "less than 1"),
        ("score", json!(0.3), "multiple of 0.25"),
        ("role", json!("edtor"), "Did you mean 'editor'?"),
        ("email", json!("nobody"), "not a valid email"),
        ("born", json!("2026-02-30"), "not a valid date"),
        ("seen", json!("yesterday"), "not a valid date-time"),
        ("tags", json!([]), "1 elements or more"),
        ("tags", json!(["a", "b", "c", "d"]), "no more than 3 elements"),
        ("tags", json!(["a", "a"]), "must not hold equal elements"),
        ("tags", json!(["toolong"]), "no more than 5 characters"),
    ] {
        let error = refuse(parameter, value);
        assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
        assert!(error["message"].as_str().unwrap().contains(words), "{error} should say: {words}");
    }
}

#[test]
fn r_req_4_valid_parameters_are_accepted() {
    for (parameter, value) in [
        ("age", json!(150)),
        ("score", json!(0.75)),
        ("role", json!("admin")),
        ("email", json!("ada@example.com")),
        ("born", json!("1815-12-10")),
        ("seen", json!("2026-02-04T10:30:00+05:30")),
        ("tags", json!(["a", "b"])),
        ("address", json!({ "city": "London", "zip": 1, "next": { "city": "Paris", "zip": 2 } })),
        ("fields", json!("minimal")),
        ("fields", json!(["a", "b"])),
        ("nickname", json!(null)),
        ("anything", json!({ "deep": [1, null] })),
        ("labels", json!({ "a": 1 })),
    ] {
        assert_eq!(accept(parameter, value.clone()), value);
    }
    assert_eq!(accept("age", json!(30.0)), json!(30), "3.0 is a whole number");
}

#[test]
fn r_req_4_defaults_come_last_and_reach_into_objects() {
    let checked = check(json!({ "operation": "create_user", "user_name": "ada" })).unwrap();
    assert_eq!(checked.params()["role"], "viewer");
    assert_eq!(accept("address", json!({ "city": "London" })), json!({ "city": "London", "zip": 0 }));
}

#[test]
fn r_req_4_every_problem_is_reported_and_the_earliest_stage_decides() {
    let stages = [
        (json!({ "age": "x", "what": 1, "role": "king" }), "VALIDATION_MISSING_PARAM"),
        (json!({ "user_name": "ada", "age": "x", "what": 1, "role": "king" }), "VALIDATION_INVALID_TYPE"),
        (json!({ "user_name": "ada", "what": 1, "role": "king" }), "VALIDATION_UNKNOWN_PARAM"),
        (json!({ "user_name": "ada", "role": "king" }), "VALIDATION_INVALID_VALUE"),
    ];
    let order =
        ["VALIDATION_MISSING_PARAM", "VALIDATION_INVALID_TYPE", "VALIDATION_UNKNOWN_PARAM", "VALIDATION_INVALID_VALUE"];
    for (index, (params, code)) in stages.into_iter().enumerate() {
        let failure = check(json!({ "operation": "create_user", "params": params })).unwrap_err();
        assert_eq!(failure.code().as_str(), code);
        let errors = failure.details().get("errors").and_then(Value::as_array).cloned().unwrap_or_default();
        let reported: Vec<&str> = errors.iter().map(|error| error["code"].as_str().unwrap()).collect();
        // A single problem is the failure itself.
        let expected = if index == 3 { &[] } else { &order[index..] };
        assert_eq!(reported, expected, "{:?}", failure.details());
    }
}

#[test]
fn r_req_4a_missing_parameters_are_reported_with_type_and_description() {
    let failure = check(json!({ "operation": "create_user" })).unwrap_err();
    assert_eq!(failure.message(), "Missing required parameter 'user_name'. Expected: string (The login name)");
    assert_eq!(failure.details()["param_name"], "user_name");
    assert_eq!(failure.details()["operation"], "create_user");
    let nested = refuse("address", json!({ "zip": 1 }));
    assert_eq!(nested["code"], "VALIDATION_MISSING_PARAM");
    assert_eq!(nested["details"]["param_name"], "address.city");
}

#[test]
fn r_req_4a_a_failed_introspect_has_every_name_in_its_message() {
    let failure =
        check(json!({ "operation": "introspect", "params": { "querry": "operations", "limit": 3, "first": 0 } }))
            .unwrap_err();
    for name in ["query", "querry", "limit", "first", "search", "after"] {
        assert!(failure.message().contains(name), "{} lacks {name}", failure.message());
    }
}

#[test]
fn r_req_5_unknown_parameters_are_refused_with_all_names_and_the_nearest() {
    let error = envelope(
        check(json!({ "operation": "create_user", "user_name": "ada", "params": { "agee": 1, "force_create": true } }))
            .unwrap_err(),
    )["error"]
        .clone();
    assert_eq!(error["code"], "VALIDATION_UNKNOWN_PARAM");
    assert_eq!(error["details"]["unknown_params"], json!(["agee", "force_create"]));
    assert_eq!(error["details"]["suggestions"]["agee"], "age");
    let valid = error["details"]["valid_params"].as_array().unwrap();
    assert_eq!(valid.len(), 16);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("Unknown parameter(s) for operation 'create_user': agee, force_create.")
    );
    let field = refuse("address", json!({ "city": "x", "citty": 1 }));
    assert_eq!(field["code"], "VALIDATION_UNKNOWN_FIELD");
    assert_eq!(field["details"]["suggestions"]["citty"], "city");
}

#[test]
fn r_req_5_problems_and_valid_names_are_reported_once() {
    let count = |text: &Value, part: &str| text.to_string().matches(part).count();
    // What is wrong, and a valid name that must stand in the whole failure once.
    for (params, valid) in [
        (json!({ "user_name": "ada", "agee": 1 }), "\"nickname\""),
        (json!({ "user_name": "ada", "address": { "city": "x", "citty": 1 } }), "\"zip\""),
        (json!({ "user_name": "ada", "role": "king" }), "'editor'"),
    ] {
        let failure = check(json!({ "operation": "create_user", "params": params })).unwrap_err();
        let error = envelope(failure)["error"].clone();
        assert_eq!(count(&error, valid), 1, "{error}");
        assert_eq!(count(&error, "Valid:"), 0, "{error}");
        assert!(error["details"].get("errors").is_none(), "{error}");
        assert!(error["details"].get("param_name").or(error["details"].get("unknown_params")).is_some(), "{error}");
    }
    // Several problems are listed, and each still tells its valid names once.
    let params = json!({ "user_name": "ada", "agee": 1, "address": { "city": "x", "citty": 1 } });
    let failure = check(json!({ "operation": "create_user", "params": params })).unwrap_err();
    let error = envelope(failure)["error"].clone();
    assert_eq!(error["details"]["errors"].as_array().unwrap().len(), 2, "{error}");
    assert_eq!(count(&error, "nickname"), 1, "{error}");
    assert_eq!(count(&error, "zip"), 1, "{error}");
}

#[test]
fn r_req_5_lenient_mode_warns_instead() {
    let request = json!({ "operation": "get_user", "params": { "user_id": 1, "verbose": true } });
    let checked = check_with(request, Strictness::Lenient).unwrap();
    assert!(!checked.params().contains_key("verbose"));
    let (_, _, warnings) = checked.into_parts();
    assert_eq!(warnings[0].code(), "VALIDATION_UNKNOWN_PARAM_WARNING");
}

#[test]
fn r_req_5_hostile_names_do_not_reach_messages() {
    for name in ["at /src/main.ts:5", "TypeError: x", "\u{1b}[31m", &"x".repeat(10_000)] {
        let mut params = json!({ "user_id": 1 });
        params[name] = json!(1);
        let failure = check(json!({ "operation": "get_user", "params": params })).unwrap_err();
        assert!(failure.message().len() < 300, "{}", failure.message().len());
        assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
        assert!(!failure.message().contains('\u{1b}'));
    }
}

#[test]
fn r_req_6_updates_keep_changes_in_input() {
    let update = |params: Value| check(json!({ "operation": "update_user", "params": params }));
    let code = |params: Value| update(params).unwrap_err().code().as_str();
    assert_eq!(code(json!({ "user_id": 1 })), "VALIDATION_MISSING_PARAM");
    assert_eq!(code(json!({ "user_id": 1, "input": 5 })), "VALIDATION_INVALID_TYPE");
    assert_eq!(code(json!({ "user_id": 1, "input": { "agee": 5 } })), "VALIDATION_UNKNOWN_FIELD");
    assert_eq!(code(json!({ "user_id": 1, "input": { "profile": { "bioo": "x" } } })), "VALIDATION_UNKNOWN_FIELD");
    let failure = update(json!({ "user_id": 1, "input": { "user_id": 2 } })).unwrap_err();
    assert_eq!(failure.code().as_str(), "VALIDATION_UNKNOWN_FIELD");
    assert!(failure.message().contains("belongs beside 'input'"), "{}", failure.message());
    let checked = update(json!({ "user_id": 1, "input": { "age": null, "profile": {} } })).unwrap();
    assert_eq!(
        checked.params()["input"],
        json!({ "age": null, "profile": {} }),
        "a default would overwrite what is stored"
    );
}

#[test]
fn r_req_8_nul_is_refused_unless_the_parameter_allows_it() {
    let error = refuse("nickname", json!("a\0b"));
    assert_eq!(error["code"], "VALIDATION_INVALID_ENCODING");
    assert_eq!(error["details"]["location"], "nickname");
    assert_eq!(accept("raw", json!("a\0b")), "a\0b");
    for free in [json!("a\0"), json!({ "deep": ["x", { "y": "\0" }] }), json!({ "k\0": 1 })] {
        assert_eq!(refuse("anything", free)["code"], "VALIDATION_INVALID_ENCODING", "in values of no known shape, too");
    }
}

#[test]
fn r_res_2_deprecated_parameters_work_and_warn() {
    let checked = check(json!({ "operation": "create_user", "user_name": "ada", "old": true })).unwrap();
    let (_, _, warnings) = checked.into_parts();
    let warning = json!(warnings[0]);
    assert_eq!(warning["code"], "DEPRECATION_WARNING");
    assert_eq!(warning["message"], "Parameter 'old' is deprecated");
    assert_eq!(warning["details"], json!({ "type": "parameter", "deprecated_item": "old" }));
    assert_eq!(warning["severity"], "low", "no date of removal is known");
}

#[test]
fn r_dis_7_proxied_operations_get_what_was_sent_and_nothing_else() {
    let (mut operations, types) = everything();
    operations.iter_mut().for_each(|operation| operation.origin.native = false);
    let catalog = Catalog::build(operations, types, &crude()).unwrap();
    let huge = json!(1e20);
    for params in [
        json!({ "user_name": "ada" }),
        json!({ "user_name": "ada", "age": 3.0 }),
        json!({ "user_name": "ada", "address": { "city": "Oslo" } }),
        json!({ "user_name": "ada", "labels": { "many": huge } }),
    ] {
        let request = json!({ "operation": "create_user", "params": params });
        let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
            panic!("not a request")
        };
        let routed = route(&catalog, &crude(), &Receiver::Unified, request).unwrap();
        let checked = routed.check(&catalog, Strictness::Strict).unwrap_or_else(|failure| panic!("{failure:?}"));
        assert_eq!(Value::Object(checked.params().clone()), params);
    }
}

#[test]
fn r_req_4_integers_beyond_64_bits_are_refused_as_such() {
    let error = refuse("labels", json!({ "many": 1e20 }));
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
    assert!(error["message"].as_str().unwrap().contains("'labels.many' is beyond the range of 64-bit"), "{error}");
    // Answers contain large integers as strings.
    for beyond in ["9223372036854775808", "-9223372036854775809", "123456789012345678901234567890"] {
        let error = refuse("labels", json!({ "many": beyond }));
        assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
        assert!(error["message"].as_str().unwrap().contains("beyond the range of 64-bit"), "{error}");
    }
    for other in ["12", "09223372036854775808", "9223372036854775808.5", "many", "-", ""] {
        assert_eq!(refuse("labels", json!({ "many": other }))["code"], "VALIDATION_INVALID_TYPE", "{other}");
    }
}

/// A catalog of one operation that takes parameters of any name.
fn check_open(request: Value) -> Result<Value, Value> {
    let schema = json!({ "properties": { "user_name": { "type": "string" }, "age": { "type": "integer" } } });
    let mut types = Types::new();
    let mut open = operation("label_user", Category::Update, &schema, &mut types);
    (open.open, open.origin.native) = (true, false);
    let catalog = Catalog::build(vec![open], types, &crude()).unwrap();
    let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else { panic!("{request}") };
    let routed = route(&catalog, &crude(), &Receiver::Unified, request);
    match routed.and_then(|routed| routed.check(&catalog, Strictness::Strict)) {
        Ok(checked) => Ok(Value::Object(checked.params().clone())),
        Err(failure) => Err(envelope(failure)["error"].clone()),
    }
}

#[test]
fn r_req_4_an_open_operation_takes_parameters_of_any_name() {
    let params = json!({ "Some Name": [1, null], "camelCase": { "keepMe": 1 }, "_x": null, "user_name": "ada" });
    assert_eq!(check_open(json!({ "operation": "label_user", "params": params })), Ok(params));
    assert_eq!(check_open(json!({ "operation": "label_user", "params": {} })), Ok(json!({})));
    // Those it names are checked, and known in camelCase, too.
    let alias = check_open(json!({ "operation": "label_user", "params": { "userName": "ada", "other": 1 } }));
    assert_eq!(alias, Ok(json!({ "user_name": "ada", "other": 1 })));
    let wrong = check_open(json!({ "operation": "label_user", "params": { "age": "5", "other": 1 } })).unwrap_err();
    assert_eq!((&wrong["code"], &wrong["details"]["param_name"]), (&json!("VALIDATION_INVALID_TYPE"), &json!("age")));
}

#[test]
fn r_req_4_an_open_operation_refuses_what_it_cannot_tell_from_a_mistake() {
    // Beside `params` a name nobody knows is a mistake.
    let beside = json!({ "operation": "label_user", "user_name": "ada", "usr_name": "eve" });
    let error = check_open(beside).unwrap_err();
    assert_eq!(error["code"], "VALIDATION_UNKNOWN_PARAM", "{error}");
    assert_eq!(error["details"]["unknown_params"], json!(["usr_name"]), "{error}");
    let known = json!({ "operation": "label_user", "userName": "ada", "params": { "other": 1 } });
    assert_eq!(check_open(known), Ok(json!({ "other": 1, "user_name": "ada" })));
    let twice = json!({ "operation": "label_user", "params": { "user_name": "ada", "userName": "eve", "other": 1 } });
    let error = check_open(twice).unwrap_err();
    assert_eq!(error["code"], "VALIDATION_INVALID_VALUE", "{error}");
    assert!(error["message"].as_str().unwrap().contains("'user_name' is given twice"), "{error}");
}

#[test]
fn r_req_3_no_spelling_of_a_declared_name_passes_beside_it() {
    for name in
        ["UserName", "USER_NAME", "user-name", "User Name", "username", "user.name", "_user_name", "u\u{17f}er_name"]
    {
        for params in [json!({ name: "eve" }), json!({ name: "eve", "user_name": "ada" })] {
            let error = check_open(json!({ "operation": "label_user", "params": params })).unwrap_err();
            assert_eq!(error["code"], "VALIDATION_UNKNOWN_PARAM", "{name} {error}");
            assert!(error["message"].as_str().unwrap().contains("'user_name'"), "{name} {error}");
        }
    }
    // Nor does one inside: whoever reads it may look as loosely there.
    let schema = json!({ "properties": { "options": { "type": "object", "properties": { "max_amount": { "type": "number" } } } } });
    let mut types = Types::new();
    let mut pay = operation("pay", Category::Execute, &schema, &mut types);
    pay.origin.native = false;
    let catalog = Catalog::build(vec![pay], types, &crude()).unwrap();
    for (options, accepted) in [
        (json!({ "max_amount": 5, "note": "x" }), true),
        (json!({ "MaxAmount": 5 }), false),
        (json!({ "max_amount": 5, "MAX_AMOUNT": 500 }), false),
        (json!({ "max-amount": 5 }), false),
    ] {
        let request = json!({ "operation": "pay", "params": { "options": options } });
        let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
            panic!("not a request")
        };
        let checked =
            route(&catalog, &crude(), &Receiver::Unified, request).unwrap().check(&catalog, Strictness::Strict);
        assert_eq!(checked.is_ok(), accepted, "{options}");
    }
}

#[test]
fn r_dis_7_a_parameter_is_known_by_its_own_spelling_before_any_alias() {
    let schema = json!({ "properties": { "camel_case": { "type": "string" }, "other": { "type": "string" }, "secret": { "type": "string" } } });
    let mut types = Types::new();
    let mut tool = operation("run_tool", Category::Execute, &schema, &mut types);
    tool.origin.native = false;
    for (canonical, original) in [("other", "camelCase"), ("secret", "_secret")] {
        let parameter = tool.parameters.iter_mut().find(|parameter| *parameter.name == *canonical).unwrap();
        parameter.original_name = Some(original.into());
    }
    // A tool with many parameters is looked up in another way, which must not differ.
    let mut large = tool.clone();
    large.parameters.extend((0..500).map(|number| Parameter::optional(&format!("p{number}"), Schema::string())));
    for tool in [tool, large] {
        let catalog = Catalog::build(vec![tool], types.clone(), &crude()).unwrap();
        let request =
            json!({ "operation": "run_tool", "params": { "camelCase": "a", "camel_case": "b", "_secret": "c" } });
        let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
            panic!("not a request")
        };
        let routed = route(&catalog, &crude(), &Receiver::Unified, request).unwrap();
        let params = Value::Object(routed.check(&catalog, Strictness::Strict).unwrap().params().clone());
        assert_eq!(params, json!({ "other": "a", "camel_case": "b", "secret": "c" }));
        let request = json!({ "operation": "run_tool", "params": { "Secret": "x", "secreT": "y" } });
        let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
            panic!("not a request")
        };
        let routed = route(&catalog, &crude(), &Receiver::Unified, request).unwrap();
        let failure = routed.check(&catalog, Strictness::Strict).unwrap_err();
        assert_eq!(failure.code().as_str(), "VALIDATION_UNKNOWN_PARAM");
    }
}

/// Definitions that each name the next one twice: two to the power of 24 alternatives for one text.
#[test]
fn alternatives_of_alternatives_are_not_all_tried() {
    let mut definitions = serde_json::Map::new();
    for level in 0..24 {
        let next = json!({ "$ref": format!("#/$defs/d{}", level + 1) });
        definitions.insert(format!("d{level}"), json!({ "anyOf": [next, next] }));
    }
    definitions.insert("d24".to_owned(), json!({ "type": "integer" }));
    let properties: serde_json::Map<String, Value> =
        (0..400).map(|number| (format!("p{number}"), json!({ "$ref": "#/$defs/d0" }))).collect();
    let params: serde_json::Map<String, Value> = properties.keys().map(|name| (name.clone(), json!("a"))).collect();
    let schema = json!({ "properties": properties, "$defs": definitions });
    let (done, finished) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let failure = checked_against(&schema, params).map(|_| ()).unwrap_err();
        done.send(failure.code()).unwrap();
    });
    // Without a budget for the whole request this takes hours.
    let code = finished.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
    assert_eq!(code, Code::ValidationInvalidValue);
}

#[test]
fn long_lists_of_alternatives_are_checked() {
    let member = |kind: &str| json!({ "type": "object", "properties": { "kind": { "const": kind }, "x": { "type": "integer" } }, "required": ["kind", "x"] });
    let members: Vec<Value> = ["a", "b", "c", "d"].map(member).into();
    let schema = json!({ "properties": { "rows": { "type": "array", "items": { "anyOf": members } } } });
    let row = |x: Value| json!({ "kind": "d", "x": x });
    let rows = |last: Value| {
        serde_json::Map::from_iter([(
            "rows".to_owned(),
            vec![row(json!(1)); 2_000].into_iter().chain([row(last)]).collect(),
        )])
    };
    assert!(checked_against(&schema, rows(json!(1))).is_ok());
    assert!(checked_against(&schema, rows(json!("text"))).is_err());
}

fn checked_against(schema: &Value, params: serde_json::Map<String, Value>) -> Result<Checked, Failure> {
    let mut types = Types::new();
    let operation = operation("list_things", Category::Read, schema, &mut types);
    let catalog = Catalog::build(vec![operation], types, &crude()).unwrap();
    let request = json!({ "operation": "list_things", "params": params });
    let parsed = parse(request.as_object().unwrap().clone(), 100).map_err(|not| not.failure().clone())?;
    let ParsedRequest::One(request) = parsed else { panic!("a batch") };
    route(&catalog, &crude(), &Receiver::Unified, request)?.check(&catalog, Strictness::Strict)
}

/// Alternatives that say by a word which they are: what is wrong is told of the one that was meant.
#[test]
fn r_req_4_problems_are_those_of_the_alternative_that_was_meant() {
    let mut types = Types::new();
    let alternative = |kinds: Value, field: &str| {
        json!({ "type": "object", "additionalProperties": false, "required": ["kind", field],
                "properties": { "kind": { "type": "string", "enum": kinds }, field: { "type": "integer" } } })
    };
    let schema = json!({ "required": ["of"], "properties": {
        "of": { "anyOf": [alternative(json!(["a", "b"]), "x"), alternative(json!(["c"]), "y")] },
        "free": { "anyOf": [alternative(json!(["a"]), "x"), { "type": "object" }] } } });
    let operation = operation("get_it", Category::Read, &schema, &mut types);
    let catalog = Catalog::build([operation], types, &crude()).unwrap();
    let ask = |params: Value| {
        let request = json!({ "operation": "get_it", "params": params });
        let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
            panic!("not a request")
        };
        route(&catalog, &crude(), &Receiver::Unified, request).unwrap().check(&catalog, Strictness::Strict)
    };
    for (of, code, path) in [
        (json!({ "kind": "c", "x": 1 }), "VALIDATION_MISSING_PARAM", "of.y"),
        (json!({ "kind": "c", "y": "1" }), "VALIDATION_INVALID_TYPE", "of.y"),
        (json!({ "kind": "b" }), "VALIDATION_MISSING_PARAM", "of.x"),
        (json!({ "x": 1 }), "VALIDATION_MISSING_PARAM", "of.kind"),
        (json!({ "kind": "z", "y": 1 }), "VALIDATION_INVALID_VALUE", "of.kind"),
        (json!({ "kind": null, "x": 1 }), "VALIDATION_INVALID_TYPE", "of.kind"),
    ] {
        let error = envelope(ask(json!({ "of": of })).unwrap_err())["error"].clone();
        assert_eq!((&error["code"], &error["details"]["param_name"]), (&json!(code), &json!(path)), "{of}: {error}");
        let valid = if code == "VALIDATION_INVALID_VALUE" { json!(["a", "b", "c"]) } else { Value::Null };
        assert_eq!(error["details"]["valid"], valid);
    }
    // Whatever fits another alternative still does.
    for params in [
        json!({ "of": { "kind": "c", "y": 1 }, "free": { "kind": "a" } }),
        json!({ "of": { "kind": "a", "x": 1 }, "free": { "kind": "q" } }),
    ] {
        ask(params).unwrap();
    }
}

/// A default that the source fills in is shown, and not sent: it may have changed since.
#[test]
fn r_req_4_defaults_of_the_source_are_left_to_it() {
    let default =
        |value: Value, is_source_default| Schema { default: Some(value), is_source_default, ..Schema::string() };
    let mut operation = Operation::new("create_it", Category::Create, "Create it.");
    let nested = Schema::object(vec![
        Parameter::optional("theirs", default(json!("a"), true)),
        Parameter::optional("ours", default(json!("b"), false)),
    ]);
    operation.parameters = vec![
        Parameter::optional("theirs", default(json!("a"), true)),
        Parameter::optional("ours", default(json!("b"), false)),
        Parameter::optional("nested", nested),
    ];
    let catalog = Catalog::build([operation], Types::new(), &crude()).unwrap();
    let request = json!({ "operation": "create_it", "params": { "nested": {} } });
    let Ok(ParsedRequest::One(request)) = parse(request.as_object().unwrap().clone(), 1) else {
        panic!("not a request")
    };
    let routed = route(&catalog, &crude(), &Receiver::Unified, request).unwrap();
    let checked = routed.check(&catalog, Strictness::Strict).unwrap();
    assert_eq!(json!(checked.params()), json!({ "ours": "b", "nested": { "ours": "b" } }));
}
