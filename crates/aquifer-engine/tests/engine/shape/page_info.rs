//! Page information of upstream results, and controls that are refused rather than ignored.

use super::*;

#[tokio::test]
async fn r_col_7_pages_of_upstream_results_report_their_position() {
    for controls in [Controls::Few, Controls::All] {
        let upstream = Upstream::new(issues(25), &[], controls, None);
        let engine = builder(&upstream).build().unwrap();
        let mut params = json!({ "first": 10, "fields": ["number"] });
        for (shown, next, previous) in [(10, true, false), (10, true, true), (5, false, true)] {
            let answer = list(&engine, params.clone()).await;
            let info = &answer["data"]["pageInfo"];
            assert_eq!(answer["data"]["items"].as_array().unwrap().len(), shown);
            assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(next), &json!(previous)), "{info}");
            assert!(info["startCursor"].is_string() && info["endCursor"].is_string(), "{info}");
            params["after"] = info["endCursor"].clone();
        }
    }
    // The start of a page leads back to the page before it.
    let upstream = Upstream::new(issues(25), &[], Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let first = list(&engine, json!({ "first": 10 })).await;
    let second = list(&engine, json!({ "first": 10, "after": first["data"]["pageInfo"]["endCursor"] })).await;
    let back = list(&engine, json!({ "last": 10, "before": second["data"]["pageInfo"]["startCursor"] })).await;
    assert_eq!(back["data"]["items"], first["data"]["items"]);
    assert_eq!(upstream.calls(), 1);
}

/// A result that is returned whole is not held: its cursors lead to another call.
#[tokio::test]
async fn r_col_7_the_only_page_of_an_upstream_result_has_cursors_that_work() {
    let upstream = Upstream::new(issues(5), &["owner"], Controls::All, None);
    let engine = builder(&upstream).build().unwrap();
    let whole = list(&engine, json!({ "owner": "a", "first": 10, "fields": ["number"] })).await;
    let (items, info) = (whole["data"]["items"].as_array().unwrap(), &whole["data"]["pageInfo"]);
    assert_eq!((items.len(), &info["hasNextPage"], &info["hasPreviousPage"]), (5, &json!(false), &json!(false)));
    let page = async |size: &str, place: &str, cursor: &str| {
        let params = json!({ "owner": "a", size: 10, place: info[cursor], "fields": ["number"] });
        list(&engine, params).await["data"]["items"].clone()
    };
    assert_eq!(page("first", "after", "endCursor").await, json!([]));
    assert_eq!(page("first", "after", "startCursor").await, json!(items[1..]));
    assert_eq!(page("last", "before", "endCursor").await, json!(items[..4]));
    assert_eq!(page("last", "before", "startCursor").await, json!([]));
    assert_eq!(upstream.calls(), 5);
    let foreign = list(&engine, json!({ "owner": "b", "first": 10, "after": info["endCursor"] })).await;
    assert_eq!(foreign["error"]["code"], "VALIDATION_INVALID_VALUE", "{foreign}");
    let none = list(&engine, json!({ "owner": "a", "first": 0 })).await;
    assert_eq!(none["data"]["items"], json!([]));
    assert_eq!(none["data"]["pageInfo"]["hasNextPage"], true);
    // Without a page there is no page information to pay for.
    assert!(list(&engine, json!({ "owner": "a", "fields": ["number"] })).await["data"].get("pageInfo").is_none());
}

#[tokio::test]
async fn r_col_11_controls_without_effect_on_aggregates_of_upstream_results_are_reported() {
    let sums = json!({ "n": { "count": true } });
    for (controls, remedy) in
        [(Controls::Few, "call without 'aggregate'"), (Controls::All, "set 'include_items' to true")]
    {
        let upstream = Upstream::new(issues(25), &[], controls, None);
        let engine = builder(&upstream).build().unwrap();
        let refused = list(&engine, json!({ "aggregate": sums, "after": "x" })).await;
        assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains("'after'")), "{refused}");
        assert_eq!(upstream.calls(), 0, "refused before the upstream is asked");
        for (name, value) in [("first", json!(3)), ("fields", json!(["a"])), ("sort", json!("a"))] {
            let answer = list(&engine, json!({ "aggregate": sums, name: value })).await;
            assert_eq!(answer["data"]["aggregations"]["n"], 25);
            let warning = &answer["warnings"][0];
            assert_eq!(warning["details"]["param_names"], json!([name]));
            assert!(warning["message"].as_str().unwrap().contains(remedy), "{warning}");
        }
        assert_eq!(list(&engine, json!({ "aggregate": sums })).await["data"]["aggregations"]["n"], 25);
        if controls == Controls::All {
            let both = list(&engine, json!({ "aggregate": sums, "first": 3, "include_items": true })).await;
            assert_eq!(both["data"]["items"].as_array().unwrap().len(), 3);
            assert_eq!(both["data"]["aggregations"]["n"], 25);
        }
    }
}

#[tokio::test]
async fn r_col_7a_numbered_pages_of_upstream_results_obey_the_size_limit() {
    let upstream = Upstream::new(issues(200), &[], Controls::All, None);
    let settings = shape::Settings { max_page_bytes: 2_000, ..shape::Settings::default() };
    let engine = builder(&upstream).shaping(settings).build().unwrap();
    let page = list(&engine, json!({ "page": 1, "page_size": 150 })).await;
    let shown = page["data"]["items"].as_array().unwrap().len();
    assert!(shown < 150, "{shown} rows in a page of 2,000 bytes");
    assert_eq!(page["data"]["pagination"]["has_more"], true);
    let warning = &page["warnings"][0];
    assert_eq!((&warning["code"], &warning["details"]["next_offset"]), (&json!("RESULT_PAGED"), &json!(shown)));
    let rest = list(&engine, json!({ "limit": 1, "offset": shown, "fields": ["number"] })).await;
    assert_eq!(rest["data"]["items"], json!([{ "number": shown }]), "nothing is out of reach");
}

#[tokio::test]
async fn r_dis_8_rows_that_the_upstream_did_not_return_are_reported() {
    let rows = issues(5)["items"].clone();
    for (envelope, wanted, is_reported) in [
        (json!({ "total": 25 }), json!({ "sort": "number" }), true),
        (json!({ "total": 25 }), json!({ "filter": { "state": "open" } }), true),
        (json!({ "total": 25 }), json!({ "aggregate": { "n": { "count": true } } }), true),
        (json!({ "meta": { "total_count": 25 } }), json!({ "sort": "number" }), true),
        (json!({ "has_more": true }), json!({ "sort": "number" }), true),
        // The values beside the rows already say so.
        (json!({ "total": 25 }), json!({ "fields": ["number"] }), false),
        (json!({ "total": 5 }), json!({ "sort": "number" }), false),
        (json!({ "next": null }), json!({ "sort": "number" }), false),
        (json!({}), json!({ "sort": "number" }), false),
    ] {
        let mut result = json!({ "items": rows });
        result.as_object_mut().unwrap().extend(envelope.as_object().unwrap().clone());
        let upstream = Upstream::new(result, &["owner"], Controls::All, None);
        let engine = builder(&upstream).build().unwrap();
        let answer = list(&engine, wanted.clone()).await;
        assert_eq!(answer["success"], true, "{answer}");
        let codes: Vec<&str> =
            answer["warnings"].as_array().into_iter().flatten().filter_map(|one| one["code"].as_str()).collect();
        assert_eq!(codes.contains(&"RESULT_INCOMPLETE"), is_reported, "{envelope} {wanted}: {answer}");
    }
}
