//! Queries and their results.

use aquifer_query::collection::{Field, PageLimits};
use aquifer_query::evaluate::evaluate;
use aquifer_query::{Collection, FieldType, QueryKind, parse_query};
use serde_json::{Value, json};

use crate::fixture::{ask, ask_as, collection, ids, items, key};

#[test]
fn r_col_3_filters() {
    for (filter, expected) in [
        (json!({}), vec![1, 2, 3, 4]),
        (json!({ "status": "open" }), vec![1, 3]),
        (json!({ "status": ["open", "late"] }), vec![1, 3, 4]),
        (json!({ "price": null }), vec![3]),
        (json!({ "price": [10, null] }), vec![1, 3, 4]),
        (json!({ "price": 10.0 }), vec![1, 4]),
        (json!({ "price": "10" }), vec![1, 4]),
        (json!({ "id": 3.0 }), vec![3]),
        (json!({ "price": { "gt": 2.5 } }), vec![1, 4]),
        (json!({ "price": { "gte": 2.5, "lt": 10 } }), vec![2]),
        (json!({ "price": { "lte": 10 } }), vec![1, 2, 4]),
        (json!({ "price": { "ne": 10 } }), vec![2, 3]),
        (json!({ "price": { "not_in": [10] } }), vec![2, 3]),
        (json!({ "price": { "between": [2, 9] } }), vec![2]),
        (json!({ "price": { "is_null": false } }), vec![1, 2, 4]),
        (json!({ "title": { "contains": "DOOR" } }), vec![1, 3]),
        (json!({ "title": { "starts_with": "open" } }), vec![2]),
        (json!({ "title": { "ends_with": "door" } }), vec![1, 3]),
        (json!({ "not": { "title": { "contains": "door" } } }), vec![2, 4]),
        (json!({ "urgent": true, "status": "late" }), vec![4]),
        (json!({ "or": [{ "id": 1 }, { "id": 2 }] }), vec![1, 2]),
        (json!({ "or": [] }), vec![]),
        (json!({ "and": [{ "urgent": true }, { "not": { "id": 1 } }] }), vec![4]),
        (json!({ "created_at": { "gte": "2026-01-15" } }), vec![2, 4]),
        (json!({ "created_after": "2026-01-15T10:00:00Z" }), vec![2]),
        (json!({ "created_before": "2026-01-15T10:00:01Z" }), vec![1, 4]),
        (json!({ "meta.room.floor": 2 }), vec![2]),
        (json!({ "meta.room.floor": { "gte": 1 } }), vec![1, 2]),
        (json!({ "meta.room": "attic" }), vec![4]),
        (json!({ "meta.nothing": null }), vec![1, 2, 3, 4]),
        (json!({ "_computed.age_days": { "lt": 30 } }), vec![2, 4]),
    ] {
        assert_eq!(ids(json!({ "filter": filter })), expected, "{filter}");
    }
}

#[test]
fn r_col_8_missing_values_sort_last_in_both_directions_by_default() {
    for (sort, expected) in [
        (json!({ "sort": { "field": "price" } }), vec![2, 1, 4, 3]),
        (json!({ "sort": { "field": "price", "order": "desc" } }), vec![4, 1, 2, 3]),
        (json!({ "sort": { "field": "price", "nulls": "first" } }), vec![3, 2, 1, 4]),
        (json!({ "sort": { "field": "price", "order": "desc", "nulls": "first" } }), vec![3, 4, 1, 2]),
        (json!({ "sort": { "field": "price", "order": "desc", "nulls": "last" } }), vec![4, 1, 2, 3]),
        (json!({ "sort": [{ "field": "price", "order": "desc" }, { "field": "id" }] }), vec![1, 4, 2, 3]),
        (json!({ "sort": "title" }), vec![1, 3, 2, 4]),
        // In the syntax of other query languages.
        (json!({ "sort": "-price" }), vec![4, 1, 2, 3]),
        (json!({ "sort": "price DESC" }), vec![4, 1, 2, 3]),
        (json!({ "sort": ["price:asc", "-id"] }), vec![2, 4, 1, 3]),
        (json!({ "sort": "title", "order": "desc" }), vec![2, 3, 1, 4]),
        (json!({ "sort": "created_at" }), vec![1, 4, 2, 3]),
        (json!({ "sort": "_computed.age_days" }), vec![4, 2, 1, 3]),
        (json!({ "sort": "meta.room.floor" }), vec![1, 2, 3, 4]),
    ] {
        assert_eq!(ids(sort.clone()), expected, "{sort}");
    }
}

#[test]
fn r_col_5_fields_presets_and_paths() {
    let first = |family: QueryKind, params: Value| {
        let mut params = params;
        params["first"] = json!(1);
        if family == QueryKind::Search {
            params["query"] = json!("door");
        }
        ask_as(family, params)["items"][0].clone()
    };
    let names = |value: Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        names(first(QueryKind::List, json!({}))),
        ["id", "title", "status", "price", "urgent", "created_at", "tags"]
    );
    assert_eq!(names(first(QueryKind::Search, json!({}))), ["id", "title"]);
    assert_eq!(names(first(QueryKind::Get, json!({}))).len(), 8);
    assert_eq!(
        first(QueryKind::List, json!({ "fields": ["title", "meta.room.floor", "_computed.size"] })),
        json!({ "title": "Broken door", "meta": { "room": { "floor": 1 } }, "_computed": { "size": 1 } })
    );
    assert_eq!(
        names(first(QueryKind::List, json!({ "preset": "minimal", "fields": ["status"] }))),
        ["id", "title", "status"]
    );
    assert_eq!(names(first(QueryKind::List, json!({ "preset": "minimal" }))), ["id", "title"]);
    let lacking = ask(json!({ "filter": { "id": 4 }, "fields": ["id", "meta.room.floor"] }));
    assert_eq!(lacking["items"][0], json!({ "id": 4 }), "missing fields are omitted");
}

#[test]
fn r_col_6_aggregates() {
    let sums = |aggregate: Value| ask(json!({ "aggregate": aggregate }))["aggregations"].clone();
    for (aggregate, expected) in [
        (json!({ "n": { "count": true } }), json!({ "n": 4 })),
        (json!({ "s": { "sum": "price" }, "a": { "avg": "price" } }), json!({ "s": 22.5, "a": 7.5 })),
        (
            json!({ "lo": { "min": "created_at" }, "hi": { "max": "title" } }),
            json!({ "lo": "2026-01-01T00:00:00Z", "hi": "Open window" }),
        ),
        (
            json!({ "by": { "group_by": "status", "count": true } }),
            json!({ "by": { "closed": 1, "late": 1, "open": 2 } }),
        ),
        (json!({ "by": { "group_by": "status" } }), json!({ "by": { "closed": 1, "late": 1, "open": 2 } })),
        (
            json!({ "by": { "group_by": "urgent", "count": true, "sum": "price" } }),
            json!({ "by": { "false": { "count": 1, "sum": 2.5 }, "true": { "count": 2, "sum": 20 }, "null": { "count": 1, "sum": null } } }),
        ),
        (
            json!({ "by": { "group_by": ["status", "urgent"], "count": true } }),
            json!({ "by": { "closed": { "false": 1 }, "late": { "true": 1 }, "open": { "true": 1, "null": 1 } } }),
        ),
    ] {
        assert_eq!(sums(aggregate.clone()), expected, "{aggregate}");
    }
    let filtered = ask(json!({ "filter": { "status": "open" }, "aggregate": { "n": { "count": true } } }));
    assert_eq!(filtered, json!({ "aggregations": { "n": 2 } }), "after the filter, and without items");
    let both = ask(json!({ "aggregate": { "n": { "count": true } }, "include_items": true, "first": 1 }));
    assert_eq!(both["items"].as_array().unwrap().len(), 1);
    assert_eq!(both["aggregations"]["n"], 4);
}

#[test]
fn r_col_2_text_is_any_word_or_an_exact_phrase() {
    let search = |query: &str| -> Vec<i64> {
        let answer = ask_as(QueryKind::Search, json!({ "query": query }));
        answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(search("window"), [2, 3]);
    assert_eq!(search("broken window"), [3, 1, 2], "an item with both words comes first");
    assert_eq!(search("\"broken window\""), [3]);
    assert_eq!(search("\"window broken\""), Vec::<i64>::new());
    assert_eq!(search("BROKEN!!! (door)"), [1, 3]);
    for odd in ["", "\"", "\"\"", "AND OR NOT", "*", "a:b^2 -c", "NEAR(", "\u{0}"] {
        search(odd);
    }
}

#[test]
fn r_col_7_pages_in_three_styles() {
    let page = ask(json!({ "limit": 2, "offset": 1, "total": true, "fields": ["id"] }));
    assert_eq!(
        page,
        json!({ "items": [{ "id": 2 }, { "id": 3 }], "pagination": { "limit": 2, "offset": 1, "returned": 2, "total_items": 4, "has_more": true } })
    );
    let page = ask(json!({ "page": 2, "page_size": 3, "total": true, "fields": ["id"] }));
    assert_eq!(
        page,
        json!({ "items": [{ "id": 4 }], "pagination": { "page": 2, "page_size": 3, "total_items": 4, "total_pages": 2, "has_more": false } })
    );
    let page = ask(json!({ "first": 2, "fields": ["id"] }));
    assert_eq!(page["items"], json!([{ "id": 1 }, { "id": 2 }]));
    assert_eq!(page["pageInfo"]["hasNextPage"], true);
    assert_eq!(page["pageInfo"]["hasPreviousPage"], false);
    assert!(
        page["pageInfo"].get("totalCount").is_none(),
        "a total costs a second scan, so it is returned only on request"
    );
    let next = ask(json!({ "first": 2, "after": page["pageInfo"]["endCursor"], "fields": ["id"], "total": true }));
    assert_eq!(next["items"], json!([{ "id": 3 }, { "id": 4 }]));
    assert_eq!(next["pageInfo"]["totalCount"], 4);
    let back = ask(json!({ "last": 1, "before": next["pageInfo"]["startCursor"], "fields": ["id"] }));
    assert_eq!(back["items"], json!([{ "id": 2 }]));
    assert_eq!(back["pageInfo"]["hasPreviousPage"], true);
    let end = ask(json!({ "last": 2, "fields": ["id"] }));
    assert_eq!(end["items"], json!([{ "id": 3 }, { "id": 4 }]));
    let edges = ask(json!({ "first": 1, "edges": true, "fields": ["id"] }));
    assert_eq!(edges["edges"][0]["node"], json!({ "id": 1 }));
    assert_eq!(edges["edges"][0]["cursor"], edges["pageInfo"]["endCursor"]);
}

#[test]
fn r_col_7_and_r_col_11_a_too_large_page_is_clamped_with_a_warning() {
    let parsed =
        parse_query(&collection(), QueryKind::List, json!({ "first": 5000 }).as_object().unwrap(), &key()).unwrap();
    assert_eq!(parsed.plan.page.size(), 100);
    assert_eq!(parsed.warnings[0].code(), "VALIDATION_PAGE_SIZE_CLAMPED");
}

#[test]
fn r_col_8_cursors_are_opaque_and_bound_to_their_query() {
    let page = ask(json!({ "first": 1, "sort": "title" }));
    let cursor = page["pageInfo"]["endCursor"].as_str().unwrap().to_owned();
    assert!(cursor.len() < 80, "{cursor}");
    assert!(cursor.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_'));
    let again = ask(json!({ "first": 1, "sort": "title" }));
    assert_eq!(again["pageInfo"]["endCursor"], json!(cursor), "the same place, the same cursor");
    let refused = |params: Value| {
        let failure = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap_err();
        assert_eq!(failure.code().as_str(), "VALIDATION_INVALID_VALUE", "{params}");
        assert!(failure.message().contains("not a cursor of this query"), "{}", failure.message());
    };
    refused(json!({ "first": 1, "after": cursor }));
    refused(json!({ "first": 1, "sort": "title", "order": "desc", "after": cursor }));
    refused(json!({ "first": 1, "sort": "title", "filter": { "id": 1 }, "after": cursor }));
    for (index, _) in cursor.char_indices() {
        let mut forged: Vec<char> = cursor.chars().collect();
        forged[index] = if forged[index] == 'A' { 'B' } else { 'A' };
        refused(json!({ "first": 1, "sort": "title", "after": forged.into_iter().collect::<String>() }));
    }
    for forged in ["", "x", "cursor_123", &"A".repeat(100_000)] {
        refused(json!({ "first": 1, "sort": "title", "after": forged }));
    }
    let other_key = aquifer_query::CursorKey::new([8; 32]);
    let params = json!({ "first": 1, "sort": "title", "after": cursor });
    assert!(parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &other_key).is_err());
    let _ = items();
}

#[test]
fn r_col_3_zero_has_no_sign_and_large_numbers_keep_their_digits() {
    let filtered = |items: &[Value], field_type: FieldType, filter: Value| -> Vec<usize> {
        let field = Field { name: "n".into(), field_type, nullable: true, description: None };
        let collection = Collection { fields: vec![field], ..Collection::default() };
        let plan = parse_query(&collection, QueryKind::List, json!({ "filter": filter }).as_object().unwrap(), &key())
            .unwrap()
            .plan;
        let answer = evaluate(&collection, &plan, items, &key()).data;
        let shown = answer["items"].as_array().unwrap();
        (0..items.len()).filter(|index| shown.contains(&items[*index])).collect()
    };
    let zeros = [json!({ "n": -0.0 }), json!({ "n": 0 }), json!({ "n": 0.5 })];
    assert_eq!(filtered(&zeros, FieldType::Number, json!({ "n": 0 })), [0, 1]);
    assert_eq!(filtered(&zeros, FieldType::Number, json!({ "n": { "gt": -0.0 } })), [2]);
    let large =
        [json!({ "n": "9007199254740993" }), json!({ "n": "9007199254740992" }), json!({ "n": "-9007199254740993" })];
    assert_eq!(filtered(&large, FieldType::Integer, json!({ "n": "9007199254740993" })), [0]);
    assert_eq!(filtered(&large, FieldType::Integer, json!({ "n": { "lt": "9007199254740993" } })), [1, 2]);
    let tokens = [json!({ "n": "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11" })];
    assert_eq!(filtered(&tokens, FieldType::Uuid, json!({ "n": "A0EEBC999C0B4EF8BB6D6BB9BD380A11" })), [0]);
}

#[test]
fn r_col_3_case_is_folded_character_by_character() {
    let holds = |title: &str, part: &str| {
        let items = [json!({ "id": 1, "title": title })];
        let params = json!({ "filter": { "title": { "contains": part } } });
        let plan = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap().plan;
        !evaluate(&collection(), &plan, &items, &key()).data["items"].as_array().unwrap().is_empty()
    };
    for (title, part, expected) in [
        ("Résumé", "SUMÉ", true),
        ("straße", "STRASSE", false),
        ("STRAẞE", "straße", true),
        // A final sigma is written differently; inside a word there is none.
        ("ΟΔΟΣΑΒ", "οδοσ", true),
        ("ΟΔΟΣΑΒ", "ΟΔΟΣ", true),
        ("İstanbul", "is", true),
    ] {
        assert_eq!(holds(title, part), expected, "{title} {part}");
    }
}

#[test]
fn r_col_6_groups_of_any_kind_are_distinguished() {
    let items: Vec<Value> = [
        json!(1),
        json!(1.0),
        json!("1"),
        json!(true),
        json!("true"),
        json!(null),
        json!("null"),
        json!("a"),
        json!(["x"]),
        json!([]),
        json!({ "b": 1 }),
        json!("[…]"),
    ]
    .into_iter()
    .map(|a| json!({ "meta": { "a": a } }))
    .collect();
    let params = json!({ "aggregate": { "by": { "group_by": "meta.a" } } });
    let plan = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap().plan;
    let answer = evaluate(&collection(), &plan, &items, &key()).data;
    assert_eq!(
        answer["aggregations"]["by"],
        json!({ "1": 2, "\"1\"": 1, "true": 1, "\"true\"": 1, "null": 1, "\"null\"": 1, "a": 1, "[…]": 2, "{…}": 1, "\"[…]\"": 1 })
    );
}

#[test]
fn r_col_6_integer_sums_are_exact() {
    let items: Vec<Value> =
        ["9223372036854775807", "9223372036854775807", "1"].iter().map(|id| json!({ "id": id })).collect();
    let params = json!({ "aggregate": { "s": { "sum": "id" }, "hi": { "max": "id" } } });
    let plan = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap().plan;
    let answer = evaluate(&collection(), &plan, &items, &key()).data;
    assert_eq!(answer["aggregations"], json!({ "s": "18446744073709551615", "hi": "9223372036854775807" }));
}

#[test]
fn r_col_5_an_unknown_path_in_an_open_collection_is_a_warning() {
    let open = Collection { open: true, ..Collection::default() };
    let items = [json!({ "a": { "b": null } }), json!({ "a": 1 })];
    let warnings = |fields: Value, items: &[Value]| {
        let plan =
            parse_query(&open, QueryKind::List, json!({ "fields": fields }).as_object().unwrap(), &key()).unwrap().plan;
        evaluate(&open, &plan, items, &key()).warnings
    };
    assert!(warnings(json!(["a", "a.b"]), &items).is_empty(), "a field that only some items have causes no warning");
    let issued = warnings(json!(["a", "b", "a.c"]), &items);
    assert_eq!(issued.len(), 1);
    assert_eq!(issued[0].code(), "FIELD_NOT_FOUND");
    assert_eq!(serde_json::to_value(&issued[0]).unwrap()["details"]["fields"], json!(["b", "a.c"]));
    assert!(warnings(json!(["b"]), &[]).is_empty(), "nothing is known of nothing");
}

#[test]
fn r_col_7a_pages_of_every_style_obey_the_size_limit() {
    let collection = Collection { pages: PageLimits { max_bytes: 130, ..PageLimits::default() }, ..collection() };
    let items: Vec<Value> = (0..9).map(|id| json!({ "id": id, "title": "x".repeat(20) })).collect();
    let ask = |params: Value| {
        let parsed = parse_query(&collection, QueryKind::List, params.as_object().unwrap(), &key()).unwrap();
        let evaluated = evaluate(&collection, &parsed.plan, &items, &key());
        let warning = evaluated.warnings.first().map(|warning| json!(warning));
        (evaluated.data, warning.unwrap_or_default())
    };
    // The request, the number of items, and the start of the rest.
    for (request, shown, next) in [
        (json!({ "page_size": 8 }), 3, Some(3)),
        (json!({ "page": 2, "page_size": 5 }), 3, Some(8)),
        (json!({ "limit": 8 }), 3, Some(3)),
        (json!({ "limit": 5, "offset": 4 }), 3, Some(7)),
        (json!({ "first": 8 }), 3, None),
    ] {
        let mut params = request.clone();
        params["fields"] = json!(["id", "title"]);
        let (data, warning) = ask(params.clone());
        assert_eq!(data["items"].as_array().unwrap().len(), shown, "{request}");
        assert_eq!(warning["code"], "RESULT_PAGED", "{request}");
        assert_eq!(warning["details"]["next_offset"].as_u64(), next, "{warning}");
        let more = data["pagination"]["has_more"].as_bool().or(data["pageInfo"]["hasNextPage"].as_bool());
        assert_eq!(more, Some(true), "{request}");
        if let Some(next) = next {
            let (rest, _) = ask(json!({ "limit": 1, "offset": next }));
            assert_eq!(rest["items"][0]["id"], next, "nothing is skipped");
            assert!(warning["message"].as_str().unwrap().contains(&format!("'offset' {next}")), "{warning}");
        }
    }
    let (whole, warning) = ask(json!({ "page_size": 8, "fields": ["id"] }));
    assert_eq!((whole["items"].as_array().unwrap().len(), warning), (8, Value::Null));
}

#[test]
fn r_col_7_zero_asks_for_no_items() {
    for (params, page) in [
        (json!({ "first": 0 }), json!({ "hasNextPage": true, "hasPreviousPage": false })),
        (json!({ "last": 0 }), json!({ "hasNextPage": false, "hasPreviousPage": true })),
        (
            json!({ "first": 0, "total": true }),
            json!({ "hasNextPage": true, "hasPreviousPage": false, "totalCount": 4 }),
        ),
        (json!({ "first": 0, "filter": { "id": 9 } }), json!({ "hasNextPage": false, "hasPreviousPage": false })),
    ] {
        assert_eq!(ask(params.clone()), json!({ "items": [], "pageInfo": page }), "{params}");
    }
    let counted = ask(json!({ "limit": 0, "offset": 1, "total": true }));
    let expected = json!({ "limit": 0, "offset": 1, "returned": 0, "total_items": 4, "has_more": true });
    assert_eq!(counted, json!({ "items": [], "pagination": expected }));
    let sums = json!({ "n": { "count": true } });
    let both = ask(json!({ "aggregate": sums, "include_items": true, "limit": 0 }));
    assert_eq!((&both["aggregations"]["n"], &both["items"]), (&json!(4), &json!([])));
}

#[test]
fn r_col_7_every_page_with_items_has_its_cursors() {
    for params in [json!({}), json!({ "first": 100 }), json!({ "last": 100 }), json!({ "filter": { "id": 2 } })] {
        let page = ask(params.clone());
        let info = &page["pageInfo"];
        assert_eq!((&info["hasNextPage"], &info["hasPreviousPage"]), (&json!(false), &json!(false)), "{params}");
        let (start, end) = (&info["startCursor"], &info["endCursor"]);
        assert!(start.is_string() && end.is_string(), "{params}: {page}");
        let mut after = params.as_object().unwrap().clone();
        after.remove("last");
        after.extend([("first".to_owned(), json!(5)), ("after".to_owned(), end.clone())]);
        assert_eq!(ask(Value::Object(after))["items"], json!([]), "{params}");
    }
    let empty = ask(json!({ "filter": { "id": 9 } }));
    assert_eq!(empty["pageInfo"], json!({ "hasNextPage": false, "hasPreviousPage": false }));
}
