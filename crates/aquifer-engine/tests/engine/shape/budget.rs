//! The result budget over results of upstreams (R-EXT-3).

use aquifer_protocol::surface::Receiver;
use aquifer_query::budget::estimate_value;

use super::*;

fn within(max_tokens: usize) -> Value {
    json!({ "max_tokens": max_tokens })
}

#[tokio::test]
async fn r_ext_3_a_result_that_keeps_its_budget_is_passed_on_unchanged() {
    let result = json!({ "total_count": 2, "items": [{ "a": 1 }, { "a": 2 }] });
    let upstream = Upstream::new(result.clone(), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    assert_eq!(list(&engine, within(400)).await, json!({ "success": true, "data": result }));
    assert!(upstream.params.lock()[0].is_empty(), "the upstream does not see the budget");
}

#[tokio::test]
async fn r_ext_3_rows_of_an_upstream_are_paged_within_the_budget() {
    for raw in [false, true] {
        let issues: Vec<Value> =
            (0..80).map(|number| json!({ "number": number, "title": format!("Issue {number}") })).collect();
        let result = json!({ "total_count": 80, "items": issues });
        let upstream = if raw { Upstream::raw(result) } else { Upstream::new(result, &[], Controls::Few, None) };
        let engine = builder(&upstream).build().unwrap();
        let (mut params, mut seen) = (within(400), Vec::new());
        loop {
            let answer = list(&engine, params.clone()).await;
            assert!(estimate_value(&answer) <= 400, "{answer}");
            seen.extend(answer["data"]["items"].as_array().unwrap().clone());
            let info = &answer["data"]["pageInfo"];
            if info["hasNextPage"] == false {
                break;
            }
            let names: Vec<&String> = answer.as_object().unwrap().keys().collect();
            assert_eq!(names, ["success", "warnings", "data"]);
            assert_eq!(answer["warnings"][0]["code"], "RESULT_PAGED");
            params["after"] = info["endCursor"].clone();
            params["first"] = 100.into();
        }
        assert_eq!(seen, issues);
        assert_eq!(upstream.calls(), 1);
    }
}

#[tokio::test]
async fn r_ext_3_text_of_an_upstream_is_paged_within_the_budget() {
    let text = "Ein längerer Satz mit 👩‍👩‍👧 und e\u{301}, \"zitiert\".\n".repeat(200);
    for result in [json!(text), json!({ "content": [{ "type": "text", "text": text }] })] {
        let upstream = Upstream::new(result, &[], Controls::Few, None);
        let engine = builder(&upstream).build().unwrap();
        let (mut params, mut whole) = (within(500), String::new());
        loop {
            let answer = list(&engine, params.clone()).await;
            assert!(estimate_value(&answer) <= 500, "{} {answer}", estimate_value(&answer));
            whole.push_str(answer["data"]["text"].as_str().unwrap());
            let info = &answer["data"]["pageInfo"];
            if info["hasNextPage"] == false {
                break;
            }
            params["after"] = info["endCursor"].clone();
        }
        assert!(whole == text);
        assert_eq!(upstream.calls(), 1);
    }
}

#[tokio::test]
async fn r_ext_3_one_object_is_shortened_and_keeps_its_short_values() {
    let body = "Größe 👩‍👩‍👧 ".repeat(2_000);
    let result =
        json!({ "id": 7, "state": "open", "body": body, "user": { "login": "ann", "bio": "x y ".repeat(3_000) } });
    let upstream = Upstream::new(result, &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    let answer = list(&engine, within(600)).await;
    assert!(estimate_value(&answer) <= 600, "{answer}");
    assert_eq!(answer["warnings"][0]["code"], "RESULT_SHORTENED");
    let data = &answer["data"];
    assert_eq!((&data["id"], &data["state"], &data["user"]["login"]), (&json!(7), &json!("open"), &json!("ann")));
    let (kept, _) = data["body"].as_str().unwrap().rsplit_once("…[+").unwrap();
    assert!(body.starts_with(kept) && kept.len() > 100, "{kept}");
    let fields: Vec<&str> = answer["warnings"][0]["details"]["cut"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cut| cut["field"].as_str().unwrap())
        .collect();
    assert_eq!(fields, ["body", "user.bio"]);
    let whole = list(&engine, json!({ "fields": ["body"], "max_tokens": 100_000 })).await;
    assert_eq!(whole["data"]["body"], json!(body));
}

#[tokio::test]
async fn r_ext_3_the_configured_budget_applies_unless_the_caller_sets_one() {
    let issues: Vec<Value> = (0..200).map(|number| json!({ "number": number, "title": "Broken door" })).collect();
    // The upstream has a parameter of the same name, which it keeps.
    for own in [&[][..], &["max_tokens"]] {
        let upstream = Upstream::new(json!(issues), own, Controls::Few, None);
        let settings = shape::Settings { max_tokens: Some(500), ..shape::Settings::default() };
        let engine = builder(&upstream).shaping(settings).build().unwrap();
        let answer = list(&engine, json!({})).await;
        assert!(estimate_value(&answer) <= 500 && answer["data"]["pageInfo"]["hasNextPage"] == true, "{answer}");
        let more = list(&engine, within(20_000)).await;
        if own.is_empty() {
            assert_eq!(more["data"], json!(issues));
        } else {
            assert_eq!(upstream.params.lock()[1]["max_tokens"], 20_000);
            assert_eq!(more["data"]["pageInfo"]["hasNextPage"], true);
        }
    }
}

#[tokio::test]
async fn r_ext_3_budgets_of_upstream_operations_out_of_range_are_refused() {
    let upstream = Upstream::new(json!([]), &[], Controls::Few, None);
    let engine = builder(&upstream).build().unwrap();
    for value in [json!(0), json!(-1), json!(5_000_000), json!("many"), json!(null)] {
        let answer = list(&engine, json!({ "max_tokens": value })).await;
        assert_eq!(answer["success"], false, "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("max_tokens"), "{answer}");
    }
    assert_eq!(upstream.calls(), 0);
}

/// Limits answers to this many tokens unless the caller says otherwise.
fn engine_with_default(upstream: &Arc<Upstream>, max_tokens: usize) -> Engine {
    let settings = shape::Settings { max_tokens: Some(max_tokens), ..shape::Settings::default() };
    builder(upstream).shaping(settings).build().unwrap()
}

#[tokio::test]
async fn r_ext_3_operations_without_controls_keep_a_budget_as_well() {
    // An answer that is not a page is shortened even if its members look like pages.
    let result = json!({
        "id": 7,
        "pagination": { "next": 2 },
        "pageInfo": { "hasNextPage": true },
        "aggregations": null,
        "body": "Broken door. ".repeat(1_000),
        "events": (0..500).map(|number| json!({ "event": number })).collect::<Vec<_>>(),
    });
    for raw in [false, true] {
        let upstream = Upstream::unshaped(result.clone(), &["owner"], raw);
        for (engine, params) in [
            (engine_with_default(&upstream, 500), json!({})),
            (builder(&upstream).build().unwrap(), json!({ "owner": "ann", "max_tokens": 500 })),
        ] {
            let answer = list(&engine, params).await;
            assert!(estimate_value(&answer) <= 500, "{answer}");
            assert_eq!(answer.as_object().unwrap().keys().collect::<Vec<_>>(), ["success", "warnings", "data"]);
            let data = &answer["data"];
            assert_eq!((&data["id"], &data["pagination"]["next"]), (&json!(7), &json!(2)));
            let warning = &answer["warnings"][0];
            assert_eq!(warning["code"], "RESULT_SHORTENED");
            let message = warning["message"].as_str().unwrap();
            assert!(message.contains("call again with more 'max_tokens'") && !message.contains("fields"), "{message}");
            let shown = data["events"].as_array().unwrap().len();
            let cut = json!({ "field": "events", "shown": shown, "of": 500, "unit": "elements" });
            assert!(warning["details"]["cut"].as_array().unwrap().contains(&cut), "{warning}");
            let whole = list(&engine, within(100_000)).await;
            assert_eq!(whole, json!({ "success": true, "data": result }));
        }
        let seen = upstream.params.lock();
        assert!(seen.iter().all(|params| !params.contains_key("max_tokens")), "the upstream does not see the budget");
    }
}

#[tokio::test]
async fn r_ext_3_every_operation_that_reads_offers_the_budget_once() {
    for (own, count) in [(&[][..], 1), (&["max_tokens"][..], 1)] {
        for upstream in [Upstream::unshaped(json!(1), own, false), Upstream::new(json!(1), own, Controls::Few, None)] {
            let snapshot = builder(&upstream).build().unwrap().snapshot();
            let of = |name: &str| snapshot.catalog().operation(name).unwrap().clone();
            let budgets = |name: &str| -> Vec<bool> {
                let all = of(name).parameters.clone();
                all.iter()
                    .filter(|parameter| &*parameter.name == "max_tokens")
                    .map(|parameter| parameter.is_shared)
                    .collect()
            };
            assert_eq!(budgets("list_issues"), vec![own.is_empty(); count]);
            assert!(budgets("create_issue").is_empty());
            assert!(budgets("introspect").is_empty());
        }
    }
}

#[tokio::test]
async fn r_ext_3_a_parameter_of_the_source_stays_its_own_and_the_default_applies() {
    let text = "Broken door. ".repeat(1_000);
    let upstream = Upstream::unshaped(json!({ "text": text, "model": "small" }), &["max_tokens"], false);
    let engine = engine_with_default(&upstream, 400);
    let answer = list(&engine, json!({ "max_tokens": 3 })).await;
    assert!(estimate_value(&answer) <= 400, "{answer}");
    assert_eq!(upstream.params.lock()[0]["max_tokens"], 3);
    let message = answer["warnings"][0]["message"].as_str().unwrap();
    assert!(message.contains("narrow the call") && !message.contains("more 'max_tokens'"), "{message}");
    assert_eq!(answer["data"]["model"], "small");
}

#[tokio::test]
async fn r_ext_3_values_of_any_form_keep_the_budget() {
    let long = "Broken door. ".repeat(10_000);
    let nested = |depth: usize, inner: Value, wrap: fn(Value) -> Value| (0..depth).fold(inner, |value, _| wrap(value));
    let many = |count: usize| -> Map<String, Value> {
        (0..count).map(|number| (format!("member {number}"), json!({ "a": [number, number], "b": "open" }))).collect()
    };
    let results = [
        json!(long),
        json!([[[long]]]),
        json!({ long.clone(): 1, "id": 7 }),
        json!({ "outer": { long.clone(): { "inner": long } } }),
        nested(120, json!(long), |value| json!([value])),
        nested(120, json!(long), |value| json!({ "a": value, "b": "a short text that stays if it can" })),
        Value::Object(many(5_000)),
        json!((0..2_000).map(|_| Value::Object(many(3))).collect::<Vec<_>>()),
        json!(vec![json!([]); 20_000]),
        json!(vec![Value::Null; 50_000]),
    ];
    for (index, result) in results.into_iter().enumerate() {
        for raw in [false, true] {
            let upstream = Upstream::unshaped(result.clone(), &[], raw);
            let answer = list(&builder(&upstream).build().unwrap(), within(400)).await;
            assert!(estimate_value(&answer) <= 400, "{index}: {} {answer}", estimate_value(&answer));
            assert_eq!(answer["warnings"][0]["code"], "RESULT_SHORTENED", "{index}: {answer}");
            let listed = answer["warnings"][0]["details"]["cut"].as_array().unwrap();
            assert!(!listed.is_empty(), "{index}: {answer}");
        }
    }
}

#[tokio::test]
async fn r_ext_3_changes_are_answered_in_full() {
    let upstream = Upstream::unshaped(json!({ "body": "Broken door. ".repeat(1_000) }), &[], false);
    let engine = engine_with_default(&upstream, 400);
    let answer = ask(&engine, operation("create_issue", json!({}))).await;
    assert_eq!(answer["data"]["body"].as_str().map(str::len), Some(13_000), "{answer}");
}

#[tokio::test]
async fn r_ext_3_without_a_budget_text_is_passed_on_without_being_parsed() {
    // Parsing would lose its spaces.
    let upstream = Upstream::unshaped(json!(null), &[], false);
    *upstream.verbatim.lock() = Some("{\"a\":  [ 1 ]}".to_owned());
    let answer = |engine: Engine| async move {
        let request = operation("list_issues", json!({})).as_object().unwrap().clone();
        format!("{:?}", engine.handle(&Receiver::Unified, request, crate::fixture::context()).await)
    };
    let unlimited = answer(builder(&upstream).build().unwrap()).await;
    assert!(unlimited.contains(":  [ 1 ]"), "{unlimited}");
    // Short text fits any budget, so that it is not parsed either.
    let short = answer(engine_with_default(&upstream, 400)).await;
    assert!(short.contains(":  [ 1 ]"), "{short}");
}
