//! The result budget over results of upstreams (R-EXT-3).

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
    assert!(upstream.params.lock().unwrap()[0].is_empty(), "the upstream does not see the budget");
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
            assert_eq!(upstream.params.lock().unwrap()[1]["max_tokens"], 20_000);
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
