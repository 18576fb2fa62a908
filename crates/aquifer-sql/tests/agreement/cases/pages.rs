//! Pages, empty and not, as complete answers.

use serde_json::{Value, json};

/// Pages as complete answers.
pub(crate) fn pages() -> Vec<(&'static str, Value, Value)> {
    let first = json!({
        "id": 1, "title": "Broken door", "status": "open", "grade": "a", "amount": 3, "big": "9007199254740993", "price": 10,
        "weight": 1.5, "urgent": true, "created_at": "2026-01-01T00:00:00Z", "due_on": "2026-02-01",
    });
    let mut full = first.clone();
    full["data"] = json!("AAE=");
    full["meta"] = json!({ "floor": 1, "room": "Hall", "tags": ["red", "blue"], "ok": true, "size": { "w": 2.5 } });
    full["memo"] = json!({ "by": "Ann" });
    let one = |item: Value| json!({ "items": [item], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    let ids = |ids: &[i64]| -> Value { ids.iter().map(|id| json!({ "id": id })).collect() };
    let only = |fields: Value, id: i64| json!({ "filter": { "id": id }, "fields": fields });
    let mut all = vec![
        // No items, only totals and aggregates.
        (
            "list_things",
            json!({ "first": 0, "total": true, "aggregate": { "s": { "sum": "amount" } }, "include_items": true }),
            json!({ "aggregations": { "s": 15 }, "items": [],
                "pageInfo": { "hasNextPage": true, "hasPreviousPage": false, "totalCount": 10 } }),
        ),
        (
            "list_things",
            json!({ "first": 0, "shape": "table", "fields": ["id"] }),
            json!({ "columns": ["id"], "rows": [], "pageInfo": { "hasNextPage": true, "hasPreviousPage": false } }),
        ),
        // Tables.
        (
            "list_things",
            json!({ "filter": { "id": [1, 3, 4] }, "shape": "table",
                "fields": ["id", "title", "meta.floor", "meta.tags.-1", "meta.size", "_computed.age_days", "urgent"] }),
            json!({ "columns": ["id", "title", "meta.floor", "meta.tags.-1", "meta.size", "_computed.age_days", "urgent"],
                "rows": [[1, "Broken door", 1, "blue", { "w": 2.5 }, 59, true], [3, "Broken window and door", null, null, null, null, null],
                    [4, null, "2", "blue", null, 45, true]],
                "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } }),
        ),
        (
            "list_things",
            json!({ "shape": "table", "fields": "brief", "sort": "-id", "limit": 2, "offset": 1 }),
            json!({ "columns": ["id", "status"], "rows": [[9, "open"], [8, "closed"]],
                "pagination": { "limit": 2, "offset": 1, "returned": 2, "has_more": true } }),
        ),
        ("list_things", json!({ "shape": "items", "filter": { "id": 1 }, "fields": ["id"] }), one(json!({ "id": 1 }))),
        // Selected fields.
        ("list_things", json!({ "filter": { "id": 1 } }), one(first.clone())),
        ("list_things", only(json!("standard"), 1), one(first.clone())),
        ("list_things", only(json!("full"), 1), one(full.clone())),
        ("list_things", only(json!("minimal"), 1), one(json!({ "id": 1, "title": "Broken door" }))),
        ("list_things", only(json!("brief"), 1), one(json!({ "id": 1, "status": "open" }))),
        ("list_things", json!({ "filter": { "id": 1 }, "preset": "brief" }), one(json!({ "id": 1, "status": "open" }))),
        (
            "list_things",
            json!({ "filter": { "id": 4 }, "preset": "brief", "fields": ["title", "id", "meta.floor"] }),
            one(json!({ "id": 4, "status": "late", "title": null, "meta": { "floor": "2" } })),
        ),
        (
            "list_things",
            json!({ "filter": { "id": 4 }, "preset": "brief", "fields": "minimal" }),
            one(json!({ "id": 4, "status": "late", "title": null })),
        ),
        (
            "list_things",
            only(json!(["meta.size.w", "meta.tags.1", "meta.tags.-1", "meta.ok", "meta.nothing", "meta.floor.x"]), 1),
            one(json!({ "meta": { "size": { "w": 2.5 }, "tags": ["blue"], "ok": true } })),
        ),
        (
            "list_things",
            only(json!(["meta.ok", "meta.room", "memo.by"]), 5),
            one(json!({ "meta": { "room": "École" } })),
        ),
        ("list_things", only(json!(["meta.floor", "data"]), 3), one(json!({ "data": null }))),
        ("list_things", only(json!(["meta.floor"]), 3), one(json!({}))),
        ("list_things", only(json!(["meta", "memo"]), 10), one(json!({ "meta": null, "memo": { "by": 12 } }))),
        ("list_things", only(json!(["meta", "meta.floor"]), 9), one(json!({ "meta": { "floor": 1, "room": "null" } }))),
        ("list_things", only(json!(["meta.floor", "meta"]), 9), one(json!({ "meta": { "floor": 1, "room": "null" } }))),
        ("list_things", only(json!(["meta.0", "meta.-1", "meta.2"]), 6), one(json!({ "meta": ["a", "b"] }))),
        (
            "list_things",
            only(json!(["meta.tags.-2", "meta.tags.1", "meta.floor.0", "meta.tags.5"]), 1),
            one(json!({ "meta": { "tags": ["red", "blue"] } })),
        ),
        (
            "list_things",
            only(json!(["meta.tags.0", "meta"]), 9),
            one(json!({ "meta": { "floor": 1, "room": "null" } })),
        ),
        ("list_things", only(json!(["meta.0.x", "meta.7"]), 6), one(json!({}))),
        ("list_things", only(json!(["meta.0", "memo.1"]), 7), one(json!({}))),
        (
            "get_thing",
            json!({ "id": 1, "fields": ["meta.tags.1", "id"] }),
            json!({ "meta": { "tags": ["blue"] }, "id": 1 }),
        ),
        ("list_things", only(json!(["meta", "memo"]), 7), one(json!({ "meta": "plain", "memo": 12 }))),
        (
            "list_things",
            only(json!(["_computed.age_days", "_computed.parts_count", "_computed.size_class"]), 1),
            one(json!({ "_computed": { "age_days": 59, "parts_count": 2, "size_class": "light" } })),
        ),
        (
            "list_things",
            only(json!(["_computed.age_days", "id", "_computed.size_class"]), 3),
            one(json!({ "_computed": { "age_days": null, "size_class": "unknown" }, "id": 3 })),
        ),
        ("list_things", only(json!(["id", "id", "_etag"]), 3), one(json!({ "id": 3 }))),
        ("get_thing", json!({ "id": 1 }), full.clone()),
        ("get_thing", json!({ "id": 1, "fields": "standard" }), first),
        ("get_thing", json!({ "id": 1, "preset": "minimal" }), json!({ "id": 1, "title": "Broken door" })),
        (
            "get_thing",
            json!({ "id": 2, "fields": ["meta.room", "_computed.parts_count"] }),
            json!({ "meta": { "room": "hall" }, "_computed": { "parts_count": 1 } }),
        ),
        // Aggregates together with items.
        (
            "list_things",
            json!({ "aggregate": { "n": { "count": true } }, "include_items": true, "first": 1, "fields": ["id"],
                "filter": { "urgent": true }, "total": true }),
            json!({ "aggregations": { "n": 4 }, "items": [{ "id": 1 }],
                "pageInfo": { "hasNextPage": true, "hasPreviousPage": false, "totalCount": 4 } }),
        ),
        (
            "list_things",
            json!({ "aggregate": { "n": { "group_by": "urgent" } }, "include_items": true, "limit": 1, "fields": ["id"],
                "filter": { "grade": "a" }, "total": true }),
            json!({ "aggregations": { "n": { "true": 1, "false": 1, "null": 1 } }, "items": [{ "id": 1 }],
                "pagination": { "limit": 1, "offset": 0, "returned": 1, "total_items": 3, "has_more": true } }),
        ),
        (
            "list_things",
            json!({ "aggregate": { "n": { "count": true } }, "include_items": false, "total": false }),
            json!({ "aggregations": { "n": 10 } }),
        ),
        (
            "search_things",
            json!({ "query": "door window", "aggregate": { "n": { "count": true }, "by": { "group_by": "urgent" } } }),
            json!({ "aggregations": { "n": 3, "by": { "true": 1, "false": 1, "null": 1 } } }),
        ),
        // One item too large a number away.
        (
            "list_things",
            json!({ "edges": true, "first": 2, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 1 } }, { "node": { "id": 2 } }],
                "pageInfo": { "hasNextPage": true, "hasPreviousPage": false } }),
        ),
        (
            "list_things",
            json!({ "edges": true, "last": 1, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 10 } }], "pageInfo": { "hasNextPage": false, "hasPreviousPage": true } }),
        ),
        (
            "list_things",
            json!({ "edges": true, "page": 1, "page_size": 1, "fields": ["id"] }),
            json!({ "edges": [{ "node": { "id": 1 } }], "pagination": { "page": 1, "page_size": 1, "has_more": true } }),
        ),
    ];
    for (params, found, more) in [
        (json!({ "first": 3 }), &[1, 2, 3][..], (true, false)),
        (json!({ "first": 10 }), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (false, false)),
        (json!({ "last": 3 }), &[8, 9, 10], (false, true)),
        (json!({ "last": 10 }), &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], (false, false)),
        (json!({ "last": 2, "sort": "price" }), &[7, 3], (false, true)),
        (json!({ "first": 3, "filter": { "id": 0 } }), &[], (false, false)),
        (json!({ "first": 0 }), &[], (true, false)),
        (json!({ "first": 0, "sort": "-price" }), &[], (true, false)),
        (json!({ "last": 0 }), &[], (false, true)),
        (json!({ "first": 0, "filter": { "id": 0 } }), &[], (false, false)),
    ] {
        let mut params = params;
        params["fields"] = json!(["id"]);
        let answer = json!({ "items": ids(found), "pageInfo": { "hasNextPage": more.0, "hasPreviousPage": more.1 } });
        all.push(("list_things", params, answer));
    }
    for (limit, offset, found, more) in [
        (3, 0, &[1, 2, 3][..], true),
        (3, 7, &[8, 9, 10], false),
        (3, 8, &[9, 10], false),
        (3, 10, &[], false),
        (100, 0, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], false),
        (3, 1_000_000, &[], false),
        (0, 0, &[], true),
        (0, 9, &[], true),
        (0, 10, &[], false),
    ] {
        let params = json!({ "limit": limit, "offset": offset, "fields": ["id"], "total": true });
        let pagination = json!({
            "limit": limit, "offset": offset, "returned": found.len(), "total_items": 10, "has_more": more,
        });
        all.push(("list_things", params, json!({ "items": ids(found), "pagination": pagination })));
    }
    for (page, size, found, pages, more) in [
        (1, 4, &[1, 2, 3, 4][..], 3, true),
        (3, 4, &[9, 10], 3, false),
        (2, 5, &[6, 7, 8, 9, 10], 2, false),
        (4, 4, &[], 3, false),
        (1000, 100, &[], 1, false),
    ] {
        let params = json!({ "page": page, "page_size": size, "fields": ["id"], "total": true });
        let pagination =
            json!({ "page": page, "page_size": size, "total_items": 10, "total_pages": pages, "has_more": more });
        all.push(("list_things", params, json!({ "items": ids(found), "pagination": pagination })));
    }
    all
}

/// Requests to an empty table, and their answers.
pub(crate) fn of_nothing() -> Vec<(&'static str, Value, Value)> {
    let nothing = json!({ "items": [], "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    vec![
        ("list_things", json!({ "first": 0 }), nothing.clone()),
        ("list_things", json!({}), nothing.clone()),
        ("list_things", json!({ "filter": { "not": { "created_after": "2026-01-01" } } }), nothing.clone()),
        ("list_things", json!({ "last": 5, "sort": "meta.floor" }), nothing.clone()),
        ("search_things", json!({ "query": "door" }), nothing),
        (
            "list_things",
            json!({ "page": 1, "total": true }),
            json!({ "items": [],
                "pagination": { "page": 1, "page_size": 20, "total_items": 0, "total_pages": 0, "has_more": false } }),
        ),
        (
            "list_things",
            json!({ "limit": 5, "edges": true }),
            json!({ "edges": [], "pagination": { "limit": 5, "offset": 0, "returned": 0, "has_more": false } }),
        ),
        (
            "list_things",
            json!({ "aggregate": {
                "n": { "count": true }, "s": { "sum": "amount" }, "a": { "avg": "price" }, "lo": { "min": "created_at" },
                "hi": { "max": "urgent" }, "f": { "sum": "meta.floor" }, "by": { "group_by": "status" } } }),
            json!({ "aggregations": { "n": 0, "s": null, "a": null, "lo": null, "hi": null, "f": null, "by": {} } }),
        ),
        ("get_thing", json!({ "id": 1 }), json!({ "error": "NOT_FOUND_RESOURCE" })),
    ]
}
