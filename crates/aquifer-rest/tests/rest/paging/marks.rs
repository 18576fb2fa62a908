//! Marks in responses that say whether a list continues, and pages that end, shrink or repeat in unusual ways.

use serde_json::{Value, json};

use super::styles::{answer, at, check, list, listing, number, object, page, text};
use super::{ROWS, is_warned, query, rows};
use crate::client::server::{Received, Reply};
use crate::source::call;

/// The number in a parameter, or a default.
fn parameter(request: &Received, name: &str, default: usize) -> usize {
    query(request).get(name).map_or(default, |text| text.parse().unwrap())
}

#[tokio::test]
async fn links_to_the_next_page_are_followed_wherever_they_are() {
    // Links with relations, in a list.
    let body = object(json!({ "items": list(), "links": { "type": "array", "items": object(json!({})) } }));
    let (_, is_right) = check("relations", listing("get", json!([]), body), |request| {
        let (rows, next) = page(at(query(request).get("o")), 40);
        let mut links = vec![json!({ "rel": "self", "href": "/things" })];
        links.extend(next.map(|next| json!({ "rel": "next", "href": format!("/things?o={next}") })));
        answer(&json!({ "items": rows, "links": links }))
    })
    .await;
    assert!(is_right);

    // Names of vocabularies, and a link without a leading slash.
    for (holder, name) in [("@odata.nextLink", ""), ("__next", ""), ("hydra:view", "hydra:next")] {
        let (_, is_right) =
            check(holder, listing("get", json!([]), object(json!({ "value": list() }))), move |request| {
                let (rows, next) = page(at(query(request).get("o")), 40);
                let next = next.map(|next| Value::from(format!("things?o={next}")));
                let next = if name.is_empty() { json!(next) } else { json!({ name: next }) };
                answer(&json!({ "value": rows, holder: next }))
            })
            .await;
        assert!(is_right, "{holder}");
    }

    // The attributes of other links contain what looks like the next one.
    let (_, is_right) = check("quoted", listing("get", json!([]), list()), |request| {
        let (rows, next) = page(at(query(request).get("o")), 50);
        let next = next.map(|next| format!(", </things?o={next}>; title=\"<x>, y\"; rel=\"prefetch NEXT\""));
        let first = "</things>; rel=\"first\"; title=\"a, b; rel=next\"";
        answer(&json!(rows)).with("link", &format!("{first}{}", next.unwrap_or_default()))
    })
    .await;
    assert!(is_right);
}

/// The schema of a response like this one.
fn schema_of(value: &Value) -> Value {
    match value {
        Value::Array(_) => list(),
        Value::Object(fields) => object(fields.iter().map(|(name, field)| (name.clone(), schema_of(field))).collect()),
        _ => json!({}),
    }
}

#[tokio::test]
async fn totals_that_are_larger_than_the_list_are_noticed() {
    for (name, body) in [
        ("a text", json!({ "items": rows(0, 37), "total": "500" })),
        ("an object", json!({ "hits": { "total": { "value": 500, "relation": "eq" }, "hits": rows(0, 10) } })),
        ("inside", json!({ "response": { "numFound": 500, "docs": rows(0, 10) } })),
        ("another name", json!({ "totalSize": 500, "done": false, "records": rows(0, 200) })),
        ("a vocabulary", json!({ "member": rows(0, 30), "hydra:totalItems": 500 })),
        ("a count", json!({ "items": rows(0, 37), "count": 500 })),
        ("pages", json!({ "items": rows(0, 37), "page": 1, "total_pages": 14 })),
        ("pages from 0", json!({ "items": rows(0, 37), "number": 0, "totalPages": 14 })),
    ] {
        let (_, is_right) = check(name, listing("get", json!([]), schema_of(&body)), move |_| answer(&body)).await;
        assert!(!is_right, "{name}");
    }
    for (header, value) in
        [("x-total-count", "500"), ("content-range", "items 0-49/500"), ("x-next-page", "2"), ("x-wp-total", "500")]
    {
        let (served, is_right) =
            check(header, listing("get", json!([]), list()), move |_| answer(&json!(rows(0, 50))).with(header, value))
                .await;
        assert!(!is_right, "{header}");
        let raw = call(&served.engine, "list_things", json!({})).await;
        assert!(is_warned(&raw), "callers do not see headers: {raw}");
    }
    // What says that the list is complete causes no warning.
    for body in [
        json!({ "items": rows(0, 5), "count": 5, "page": 1, "total_pages": 1, "total": 5 }),
        json!({ "items": rows(0, 5), "number": 0, "totalPages": 1 }),
        json!({ "items": rows(0, 5), "links": [{ "rel": "self", "href": "/things" }], "next": null }),
    ] {
        let paths = listing("get", json!([]), object(json!({ "items": list() })));
        let shown = body.to_string();
        let served = crate::source::Served::start(paths, move |_, _| answer(&body)).await;
        let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
        assert_eq!((&counted["data"]["aggregations"]["n"], is_warned(&counted)), (&json!(5), false), "{shown}");
    }
}

/// APIs that return less than was requested, and less than their description allows.
#[tokio::test]
async fn short_pages_are_not_the_last_where_all_rows_are_needed() {
    let limit = json!({ "name": "limit", "in": "query", "schema": { "type": "integer", "maximum": 200 } });
    let by_offset = || listing("get", json!([number("offset"), limit]), list());
    let (_, is_right) = check("a lower maximum", by_offset(), |request| {
        answer(&json!(rows(parameter(request, "offset", 0), parameter(request, "limit", 30).min(40))))
    })
    .await;
    assert!(is_right);
    let by_page = listing("get", json!([number("page"), limit]), object(json!({ "results": list() })));
    let (_, is_right) = check("a lower maximum of pages", by_page, |request| {
        answer(&json!({ "results": rows((parameter(request, "page", 1) - 1) * 40, 40) }))
    })
    .await;
    assert!(is_right);
    let served = crate::source::Served::start(by_offset(), |request, _| {
        let skip = parameter(request, "offset", 0);
        answer(&json!(rows(skip, [97, 73, 41][skip % 3])))
    })
    .await;
    let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!((&counted["data"]["aggregations"]["n"], is_warned(&counted)), (&json!(ROWS), false), "{counted}");
}

/// Whether an offset or a page exists is only known when it is requested.
#[tokio::test]
async fn pages_after_the_last_one_may_be_refused() {
    for (status, is_complete) in [(404, true), (416, true), (400, false), (422, false)] {
        let paths = listing("get", json!([number("page"), number("per_page")]), list());
        let (_, is_right) = check("refused", paths, move |request| {
            let rows = rows((parameter(request, "page", 1) - 1) * 50, 50);
            if rows.is_empty() { Reply::json(status, "{\"error\":\"no page\"}") } else { answer(&json!(rows)) }
        })
        .await;
        assert!(is_right, "{status}");
        let paths = listing("get", json!([number("offset"), number("limit")]), list());
        let served = crate::source::Served::start(paths, move |request, _| match parameter(request, "offset", 0) {
            skip @ 0..100 => answer(&json!(rows(skip, 50))),
            _ => Reply::json(status, "{\"error\":\"too far\"}"),
        })
        .await;
        let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
        assert_eq!(counted["data"]["aggregations"]["n"], 100, "{status}: {counted}");
        assert_eq!(is_warned(&counted), !is_complete, "{status}: {counted}");
    }
    // Other failures are failures.
    let paths = listing("get", json!([number("offset"), number("limit")]), list());
    let served = crate::source::Served::start(paths, move |request, _| match parameter(request, "offset", 0) {
        0 => answer(&json!(rows(0, 50))),
        _ => Reply::json(500, "{}"),
    })
    .await;
    let failed = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!(failed["success"], false, "{failed}");
}

#[tokio::test]
async fn pages_that_repeat_are_neither_counted_twice_nor_complete() {
    for (name, parameters) in [
        ("the offset is ignored", json!([number("offset"), number("limit")])),
        ("the page is ignored", json!([number("page"), number("per_page")])),
    ] {
        let (served, is_right) = check(name, listing("get", parameters, list()), |_| answer(&json!(rows(0, 50)))).await;
        assert!(!is_right);
        let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
        assert_eq!(counted["data"]["aggregations"]["n"], 50, "{name}: {counted}");
    }
    for link in ["/things", "/things?o=1"] {
        let (served, is_right) = check(link, listing("get", json!([]), list()), move |_| {
            answer(&json!(rows(0, 50))).with("link", &format!("<{link}>; rel=\"next\""))
        })
        .await;
        assert!(!is_right, "{link}");
        let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
        assert_eq!(counted["data"]["aggregations"]["n"], 50, "{link}: {counted}");
    }
    // Cursors that lead to each other.
    let body = object(json!({ "data": list(), "next_cursor": { "type": "string" } }));
    let (served, is_right) = check("a circle", listing("get", json!([text("cursor")]), body), |request| {
        let skip = at(query(request).get("cursor"));
        answer(&json!({ "data": rows(skip, 50), "next_cursor": if skip == 50 { "c-100" } else { "c-50" } }))
    })
    .await;
    assert!(!is_right);
    let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!((&counted["data"]["aggregations"]["n"], is_warned(&counted)), (&json!(150), true), "{counted}");
}

/// Nor does it say that there are no others.
#[tokio::test]
async fn a_later_page_without_a_list_does_not_replace_the_rows_before_it() {
    let paths = listing("get", json!([number("offset"), number("limit")]), object(json!({ "items": list() })));
    let served = crate::source::Served::start(paths, |request, _| match parameter(request, "offset", 0) {
        0 => answer(&json!({ "items": rows(0, 50) })),
        _ => answer(&json!({ "message": "That was all" })),
    })
    .await;
    let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert_eq!((&counted["data"]["aggregations"]["n"], is_warned(&counted)), (&json!(50), true), "{counted}");
}

/// An empty page in the middle of a list is not its end.
#[tokio::test]
async fn empty_pages_do_not_end_lists_that_have_more() {
    let body = object(json!({ "data": list(), "next_cursor": { "type": "string" } }));
    let (_, is_right) =
        check("by cursor", listing("get", json!([text("cursor")]), body.clone()), |request| {
            match query(request).get("cursor").map(String::as_str) {
                Some("c-100") => answer(&json!({ "data": [], "next_cursor": "c-0100" })),
                cursor => {
                    let (rows, next) = page(at(cursor.map(str::to_owned).as_ref()), 50);
                    answer(&json!({ "data": rows, "next_cursor": next.map(|next| format!("c-{next}")) }))
                }
            }
        })
        .await;
    assert!(is_right);
    let flagged = object(json!({ "items": list(), "has_more": { "type": "boolean" } }));
    let (_, is_right) =
        check("by offset", listing("get", json!([number("offset"), number("limit")]), flagged), |request| {
            let skip = parameter(request, "offset", 0);
            let rows = if skip == 100 { Vec::new() } else { rows(skip, 50) };
            answer(&json!({ "items": rows, "has_more": skip + 50 < ROWS }))
        })
        .await;
    assert!(!is_right);
    let counted = object(json!({ "items": list(), "total": { "type": "integer" } }));
    let (_, is_right) =
        check("by page", listing("get", json!([number("page"), number("limit")]), counted), |request| {
            let number = parameter(request, "page", 1);
            let rows = if number == 3 { Vec::new() } else { rows((number - 1) * 50, 50) };
            answer(&json!({ "items": rows, "total": ROWS }))
        })
        .await;
    assert!(!is_right);
    // A cursor for the end leads to an empty page with the same cursor.
    let (served, is_right) = check("the end", listing("get", json!([text("cursor")]), body), |request| {
        let skip = at(query(request).get("cursor"));
        answer(&json!({ "data": rows(skip, 50), "next_cursor": format!("c-{}", (skip + 50).min(ROWS)) }))
    })
    .await;
    assert!(is_right);
    let counted = call(&served.engine, "list_things", json!({ "aggregate": { "n": { "count": true } } })).await;
    assert!(!is_warned(&counted), "{counted}");
}
