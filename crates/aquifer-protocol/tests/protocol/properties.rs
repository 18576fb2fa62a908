//! Laws that hold for any input.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::request::{ParsedRequest, parse};
use aquifer_protocol::response::Response;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::{Strictness, route};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fixture::{catalog, crude};

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(".{0,8}", inner, 0..6).prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Requests that look like ours more often than chance would have it.
fn any_request() -> impl Strategy<Value = Map<String, Value>> {
    let operation =
        prop_oneof![Just(json!("create_user")), Just(json!("update_user")), Just(json!("introspect")), any_json(),];
    let name = prop_oneof![
        Just("user_name".to_owned()),
        Just("age".to_owned()),
        Just("tags".to_owned()),
        Just("address".to_owned()),
        Just("fields".to_owned()),
        Just("input".to_owned()),
        Just("query".to_owned()),
        ".{0,8}",
    ];
    let params =
        prop::collection::btree_map(name, any_json(), 0..6).prop_map(|map| Value::Object(map.into_iter().collect()));
    let one = (operation, prop_oneof![params, any_json()], prop::option::of(any_json()))
        .prop_map(|(operation, params, extra)| {
            let mut request = Map::new();
            request.insert("operation".to_owned(), operation);
            request.insert("params".to_owned(), params);
            if let Some(extra) = extra {
                request.insert("age".to_owned(), extra);
            }
            request
        })
        .boxed();
    prop_oneof![
        4 => one.clone(),
        1 => prop::collection::vec(one, 0..4).prop_map(|items| {
            Map::from_iter([("operations".to_owned(), Value::from(items.into_iter().map(Value::Object).collect::<Vec<_>>()))])
        }),
        1 => prop::collection::btree_map(".{0,8}", any_json(), 0..5).prop_map(|map| map.into_iter().collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Any request gets exactly one well-formed answer, without a panic and without a leak.
    #[test]
    fn r_res_1_any_request_gets_one_well_formed_answer(request in any_request()) {
        let catalog = catalog();
        let requests = match parse(request, 100) {
            Ok(ParsedRequest::One(request)) => vec![Ok(request)],
            Ok(ParsedRequest::Batch(batch)) => batch.items.into_iter().map(|item| item.request).collect(),
            Err(not) => vec![Err(not.failure().clone())],
        };
        for request in requests {
            let checked = request.and_then(|request| {
                route(&catalog, &crude(), &Receiver::Unified, request)?.check(&catalog, Strictness::Strict)
            });
            if let Err(failure) = checked {
                prop_assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
                let value = Response::Failure(failure).render(&Limits::default()).value();
                prop_assert_eq!(&value["success"], &json!(false));
                prop_assert!(value["error"]["code"].as_str().is_some_and(|code| !code.is_empty()));
                prop_assert!(value.get("data").is_none() && value.get("warnings").is_none());
            }
        }
    }

    /// What was accepted is accepted again: checking is idempotent.
    #[test]
    fn r_req_4_checked_parameters_stay_acceptable(age in 0_i64..150, tags in prop::collection::btree_set("[a-z]{1,5}", 1..3), role in "admin|editor|viewer") {
        let request = json!({ "operation": "create_user", "params": { "user_name": "ada", "age": age, "tags": tags, "role": role } });
        let once = crate::fixture::check(request).unwrap();
        let again = crate::fixture::check(json!({ "operation": "create_user", "params": once.params() })).unwrap();
        prop_assert_eq!(once.params(), again.params());
    }
}
