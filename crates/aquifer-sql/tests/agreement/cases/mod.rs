//! Requests and their expected answers, the same for all engines. They use the rows of `shop.rs`.

mod filters;
mod pages;
mod sums;

use serde_json::{Value, json};

pub(crate) use filters::filters;
pub(crate) use pages::{of_nothing, pages};
pub(crate) use sums::sums;

/// Orders, and the resulting order of the things.
pub(crate) fn sorts() -> Vec<(Value, Vec<i64>)> {
    vec![
        (json!([]), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "field": "id", "order": "desc" }), vec![10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
        (json!("title"), vec![10, 6, 1, 3, 7, 2, 9, 8, 5, 4]),
        (json!({ "field": "title", "order": "desc" }), vec![5, 8, 9, 2, 7, 3, 1, 6, 10, 4]),
        (json!({ "field": "status" }), vec![2, 8, 4, 7, 1, 5, 6, 9, 3, 10]),
        (json!({ "field": "status", "order": "desc" }), vec![9, 6, 5, 1, 7, 4, 8, 2, 10, 3]),
        (json!({ "field": "grade" }), vec![1, 5, 9, 2, 7, 4, 8, 3, 6, 10]),
        (json!({ "field": "grade", "order": "desc" }), vec![8, 4, 7, 2, 9, 5, 1, 10, 6, 3]),
        (json!({ "field": "amount" }), vec![2, 5, 9, 1, 4, 8, 10, 7, 3, 6]),
        (json!({ "field": "amount", "order": "desc" }), vec![7, 10, 8, 4, 1, 9, 5, 2, 6, 3]),
        (json!({ "field": "big" }), vec![2, 8, 9, 10, 4, 5, 1, 7, 3, 6]),
        (json!({ "field": "big", "order": "desc" }), vec![7, 1, 5, 4, 10, 9, 8, 2, 6, 3]),
        (json!({ "field": "price" }), vec![6, 5, 2, 9, 10, 1, 4, 8, 7, 3]),
        (json!({ "field": "price", "order": "desc" }), vec![7, 8, 4, 1, 10, 9, 2, 5, 6, 3]),
        (json!({ "field": "weight" }), vec![8, 2, 5, 7, 1, 4, 10, 9, 6, 3]),
        (json!({ "field": "weight", "order": "desc" }), vec![6, 9, 10, 4, 1, 7, 5, 2, 8, 3]),
        (json!({ "field": "urgent" }), vec![2, 5, 8, 1, 4, 7, 10, 3, 6, 9]),
        (json!({ "field": "urgent", "order": "desc" }), vec![10, 7, 4, 1, 8, 5, 2, 9, 6, 3]),
        (json!({ "field": "created_at" }), vec![5, 1, 4, 2, 7, 8, 10, 9, 3, 6]),
        (json!({ "field": "created_at", "order": "desc" }), vec![9, 10, 8, 7, 2, 4, 1, 5, 6, 3]),
        (json!({ "field": "due_on" }), vec![5, 2, 1, 4, 9, 8, 7, 3, 6, 10]),
        (json!({ "field": "due_on", "order": "desc" }), vec![7, 8, 9, 4, 1, 2, 5, 10, 6, 3]),
        (json!([{ "field": "price", "order": "desc" }, { "field": "id" }]), vec![7, 1, 4, 8, 9, 10, 2, 5, 6, 3]),
        (json!([{ "field": "urgent" }, { "field": "price", "order": "desc" }]), vec![8, 2, 5, 7, 4, 1, 10, 9, 6, 3]),
        (
            json!([{ "field": "status", "order": "desc" }, { "field": "urgent" }, { "field": "weight", "order": "desc" }]),
            vec![5, 1, 6, 9, 4, 7, 2, 8, 10, 3],
        ),
        (json!([{ "field": "urgent" }, { "field": "status" }]), vec![2, 8, 5, 4, 7, 1, 10, 6, 9, 3]),
        // By kind: booleans, numbers, text, lists, objects; then missing values.
        (json!("meta.floor"), vec![8, 1, 9, 2, 5, 4, 3, 6, 7, 10]),
        (json!({ "field": "meta.floor", "order": "desc" }), vec![4, 5, 2, 9, 1, 8, 10, 7, 6, 3]),
        (json!("meta.ok"), vec![2, 1, 4, 3, 5, 6, 7, 8, 9, 10]),
        (json!("meta.room"), vec![1, 8, 2, 9, 5, 3, 4, 6, 7, 10]),
        (
            json!([{ "field": "meta.size.w", "order": "desc" }, { "field": "title" }]),
            vec![2, 1, 8, 10, 6, 3, 7, 9, 5, 4],
        ),
        (json!("meta.tags"), vec![1, 2, 4, 5, 3, 6, 7, 8, 9, 10]),
        (json!("memo.by"), vec![10, 9, 1, 2, 3, 4, 5, 6, 7, 8]),
        (json!("_computed.age_days"), vec![9, 10, 8, 2, 7, 4, 1, 5, 3, 6]),
        (json!({ "field": "_computed.age_days", "order": "desc" }), vec![5, 1, 4, 7, 2, 8, 10, 9, 6, 3]),
        (
            json!([{ "field": "_computed.parts_count", "order": "desc" }, { "field": "id" }]),
            vec![5, 1, 2, 3, 4, 6, 7, 8, 9, 10],
        ),
        (json!([{ "field": "_computed.size_class" }, { "field": "amount" }]), vec![6, 2, 5, 9, 1, 4, 8, 10, 7, 3]),
    ]
}

/// Invalid requests and their error codes.
pub(crate) fn refusals() -> Vec<(&'static str, Value, &'static str)> {
    let unknown = "VALIDATION_UNKNOWN_FIELD";
    let value = "VALIDATION_INVALID_VALUE";
    let of_type = "VALIDATION_INVALID_TYPE";
    let mut all = vec![];
    all.push(("list_things", json!({ "shape": "grid" }), value));
    all.push(("list_things", json!({ "shape": "table", "edges": true }), value));
    for (filter, code) in [
        (json!({ "titel": "x" }), unknown),
        (json!({ "title.x": "x" }), unknown),
        (json!({ "meta..x": 1 }), unknown),
        (json!({ "_computed.size": 1 }), unknown),
        (json!({ "_etag": "x" }), unknown),
        (json!({ "title_after": "2026-01-01" }), unknown),
        (json!({ "title": 5 }), of_type),
        (json!({ "title": true }), of_type),
        (json!({ "title": { "contains": 5 } }), of_type),
        (json!({ "title": { "like": "x" } }), value),
        (json!({ "title": {} }), value),
        (json!({ "title": { "in": "x" } }), of_type),
        (json!({ "title": { "between": ["a"] } }), of_type),
        (json!({ "title": { "between": ["a", null] } }), of_type),
        (json!({ "title": { "is_null": 1 } }), of_type),
        (json!({ "title": { "gt": null } }), of_type),
        (json!({ "status": "opne" }), value),
        (json!({ "grade": ["a", "d"] }), value),
        (json!({ "amount": 1.5 }), of_type),
        (json!({ "amount": "three" }), of_type),
        (json!({ "amount": { "contains": "3" } }), value),
        (json!({ "big": "9223372036854775808" }), of_type),
        (json!({ "price": "ten" }), of_type),
        (json!({ "price": "NaN" }), of_type),
        (json!({ "urgent": 1 }), of_type),
        (json!({ "urgent": "true" }), of_type),
        (json!({ "created_at": "yesterday" }), of_type),
        (json!({ "created_at": 5 }), of_type),
        (json!({ "created_after": null }), of_type),
        (json!({ "due_on": "2026-02-30" }), of_type),
        (json!({ "data": "not base64" }), of_type),
        (json!({ "data": { "gt": "AAE=" } }), value),
        (json!({ "data": { "contains": "A" } }), value),
        (json!({ "meta": { "floor": 1 } }), value),
        (json!({ "meta.floor": [[1]] }), value),
        (json!({ "meta.floor": { "is_null": "yes" } }), of_type),
        (json!({ "or": { "title": "x" } }), of_type),
        (json!({ "and": ["x"] }), of_type),
        (json!({ "not": [] }), of_type),
    ] {
        all.push(("list_things", json!({ "filter": filter }), code));
    }
    for (params, code) in [
        (json!({ "filter": "x" }), of_type),
        (json!({ "sort": "titel" }), unknown),
        (json!({ "sort": { "field": "title", "order": "up" } }), value),
        (json!({ "sort": { "order": "asc" } }), "VALIDATION_MISSING_PARAM"),
        (json!({ "sort": "data" }), value),
        (json!({ "sort": "meta" }), value),
        (json!({ "sort": "_etag" }), unknown),
        (json!({ "order": "desc" }), value),
        (json!({ "fields": "tiny" }), value),
        (json!({ "fields": [] }), value),
        (json!({ "fields": ["titel"] }), unknown),
        (json!({ "fields": ["title.x"] }), unknown),
        (json!({ "preset": "tiny" }), value),
        (json!({ "aggregate": {} }), value),
        (json!({ "aggregate": { "x": 1 } }), of_type),
        (json!({ "aggregate": { "x": {} } }), value),
        (json!({ "aggregate": { "x": { "median": "price" } } }), unknown),
        (json!({ "aggregate": { "x": { "sum": "title" } } }), value),
        (json!({ "aggregate": { "x": { "sum": "meta" } } }), value),
        (json!({ "aggregate": { "x": { "max": "data" } } }), value),
        (json!({ "aggregate": { "x": { "max": "nothing" } } }), unknown),
        (json!({ "aggregate": { "x": { "group_by": [] } } }), value),
        (json!({ "aggregate": { "x": { "group_by": "nothing" } } }), unknown),
        (json!({ "aggregate": { "x": { "count": 1 } } }), of_type),
        (json!({ "first": -1 }), value),
        (json!({ "first": 1, "last": 1 }), of_type),
        (json!({ "after": "x" }), of_type),
        (json!({ "before": "x" }), of_type),
        (json!({ "first": 1, "before": "x" }), of_type),
        (json!({ "last": 1, "after": "x" }), of_type),
        (json!({ "first": 1, "after": "forged" }), value),
        (json!({ "last": 1, "before": "forged" }), value),
        (json!({ "first": 1, "limit": 1 }), of_type),
        (json!({ "offset": 1, "page": 1 }), of_type),
        (json!({ "offset": 1_000_001 }), value),
        (json!({ "page": 0 }), value),
        (json!({ "page_size": 0 }), value),
        (json!({ "query": "door" }), "VALIDATION_UNKNOWN_PARAM"),
    ] {
        all.push(("list_things", params, code));
    }
    all.push(("search_things", json!({}), "VALIDATION_MISSING_PARAM"));
    all.push(("search_things", json!({ "query": 5 }), of_type));
    all.push(("get_thing", json!({ "id": 99 }), "NOT_FOUND_RESOURCE"));
    all.push(("get_thing", json!({ "id": 1, "fields": ["titel"] }), unknown));
    all
}

/// Searches and the things they find, the best first.
pub(crate) fn searches() -> Vec<(&'static str, Vec<i64>)> {
    vec![
        ("door", vec![1, 3]),
        ("DOOR", vec![1, 3]),
        ("window", vec![2, 3]),
        ("broken window", vec![3, 1, 2]),
        ("window broken", vec![3, 1, 2]),
        ("broken window door", vec![3, 1, 2]),
        ("door door door window", vec![3, 1, 2]),
        ("\"broken window\"", vec![3]),
        ("\"window broken\"", vec![]),
        ("\"Broken   WINDOW,and\"", vec![3]),
        ("\"broken door\" window", vec![1, 2, 3]),
        ("\"broken door", vec![1, 3]),
        ("doo", vec![]),
        ("oor", vec![]),
        ("ÉCOLE", vec![5]),
        ("résumé", vec![5]),
        ("resume", vec![]),
        ("ecole", vec![]),
        ("straße", vec![8]),
        ("STRAẞE", vec![8]),
        ("strasse", vec![8]),
        ("sure", vec![6]),
        ("sure_thing", vec![6]),
        ("thing", vec![6]),
        ("100", vec![6]),
        ("100%", vec![6]),
        ("c dir", vec![6]),
        ("quoted", vec![7]),
        ("It's", vec![7]),
        ("s", vec![7]),
        ("😀", vec![]),
        ("null", vec![9]),
        ("", vec![]),
        ("   ", vec![]),
        ("\"", vec![]),
        ("\"\"", vec![]),
        ("!?* %_\\ ()[]{}^$.|+-:", vec![]),
        ("AND OR NOT NEAR(", vec![3]),
        ("door* -window title:door (door)", vec![3, 1, 2]),
        ("' OR 1=1 --", vec![]),
    ]
}
