//! Results of other servers: the location of their rows, and shaping.

use aquifer_protocol::operation::{Operation, RowPlace, Shaping};
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use aquifer_query::Work;
use aquifer_query::collection::PageLimits;
use aquifer_query::shape::{
    self, Controls, Cursors, PageStart, ResultContent, ResultShape, RowSelection, Rows, ShapingRequest, TextPage,
    parse_json_text,
};
use serde_json::{Map, Value, json};

pub(crate) fn controls(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

/// Results that have rows.
const ROWS: ResultShape = ResultShape::Rows(RowPlace::Detected);

pub(crate) const PAGES: PageLimits = PageLimits { default_size: 1, max_size: 1_000, max_bytes: usize::MAX };

/// Shapes a result with these controls. Cursors are plain positions.
pub(crate) fn shaped(result: Value, params: Value, from: PageStart) -> Value {
    shaped_at(&RowPlace::Detected, result, params, from)
}

/// Shapes a result whose rows are known to be at this place.
pub(crate) fn shaped_at(place: &RowPlace, result: Value, params: Value, from: PageStart) -> Value {
    let request = ShapingRequest::new(controls(params), |_| true).unwrap();
    match ResultContent::new(result, place, request.controls()) {
        ResultContent::Rows { rows, envelope, .. } => {
            let picked = RowSelection::new(&rows, &request, from, PAGES).unwrap();
            let shows_items = picked.has_items();
            let seal = |location: usize| Some(location.to_string());
            let (mut data, _) = picked.write(Rows::Owned(rows), &Cursors { seal: &seal });
            if shows_items {
                shape::add_envelope(&mut data, envelope, false);
            }
            Value::Object(data)
        }
        ResultContent::One(value) => shape::shape_object(value, &request, &Work::unlimited()).unwrap().0,
        ResultContent::NoRows(value) => shape::without_rows(value, &request).0,
        ResultContent::Text(text) => text.into(),
    }
}

fn place(result: Value) -> Option<String> {
    match ResultContent::new(result, &RowPlace::Detected, &Map::new()) {
        ResultContent::Rows { location, .. } => {
            Some(if location.list_path.is_empty() { "$".to_owned() } else { location.to_string() })
        }
        _ => None,
    }
}

#[test]
fn r_dis_8_rows_are_found_where_servers_put_them() {
    let row = || json!({ "id": 1 });
    let cases = [
        (json!([row()]), Some("$")),
        (json!([]), Some("$")),
        (json!(["a", "b"]), Some("$")),
        (json!({ "items": [row()], "total_count": 1 }), Some("items")),
        (json!({ "items": [], "users": [row()] }), Some("items")),
        (json!({ "object": "list", "results": [row()], "has_more": false, "next_cursor": null }), Some("results")),
        (json!({ "data": [row()], "paging": { "next": "x" } }), Some("data")),
        (json!({ "data": { "items": [row()] } }), Some("data.items")),
        (json!({ "result": { "rows": [row()], "columns": ["id"] } }), Some("result.rows")),
        (
            json!({ "data": { "repository": { "issues": { "nodes": [row()], "totalCount": 1 } } } }),
            Some("data.repository.issues.nodes"),
        ),
        (json!({ "edges": [{ "node": row(), "cursor": "a" }], "pageInfo": {} }), Some("edges[].node")),
        (json!({ "data": { "viewer": { "edges": [{ "node": row() }] } } }), Some("data.viewer.edges[].node")),
        (json!({ "hits": { "total": 1, "hits": [row()] } }), Some("hits.hits")),
        (json!({ "kind": "PodList", "metadata": { "continue": "" }, "items": [row()] }), Some("items")),
        (json!({ "issues": [row()], "pageInfo": { "hasNextPage": false } }), Some("issues")),
        (json!({ "issues": [], "total": 0 }), Some("issues")),
        (json!({ "errors": [row()], "data": { "things": [row()] } }), Some("data.things")),
        (json!({ "errors": [row()] }), Some("errors")),
        (json!({ "files": ["a", "b"] }), Some("files")),
        (json!({ "values": [1, 2], "tags": ["x"] }), Some("values")),
        // Ambiguous results are not guessed.
        (json!({ "users": [row()], "groups": [row()] }), None),
        (json!({ "a": { "nodes": [row()] }, "b": { "nodes": [row()] } }), None),
        (json!({ "id": 1, "name": "x" }), None),
        (json!({}), None),
        (json!(5), None),
        (json!(null), None),
    ];
    for (result, expected) in cases {
        assert_eq!(place(result.clone()).as_deref(), expected, "{result}");
    }
}

#[test]
fn r_dis_8_a_configured_path_is_used_if_it_leads_to_a_list() {
    let result = json!({ "items": [{ "a": 1 }], "deep": { "er": [{ "x": { "b": 1 } }, { "x": { "b": 2 } }] } });
    let find = |path: &str| match ResultContent::new(result.clone(), &RowPlace::configured(path), &Map::new()) {
        ResultContent::Rows { rows, .. } => json!(rows),
        other => panic!("{other:?}"),
    };
    assert_eq!(find("deep.er"), json!([{ "x": { "b": 1 } }, { "x": { "b": 2 } }]));
    assert_eq!(find("deep.er[].x"), json!([{ "b": 1 }, { "b": 2 }]));
    // No other list is taken for the rows, and `null` is a list without elements.
    let elsewhere = ResultContent::new(result.clone(), &RowPlace::configured("nowhere"), &Map::new());
    assert_eq!(elsewhere, ResultContent::NoRows(result.clone()));
    let nothing = ResultContent::new(json!({ "items": null }), &RowPlace::known("items"), &Map::new());
    assert!(matches!(nothing, ResultContent::Rows { rows, .. } if rows.is_empty()));
    assert!(matches!(
        ResultContent::new(json!([1]), &RowPlace::configured("$"), &Map::new()),
        ResultContent::Rows { .. }
    ));
}

/// What a name in `fields` refers to follows from the request and from what is known about the operation.
#[test]
fn r_dis_8_fields_are_those_of_the_object_or_of_its_rows_whatever_a_result_contains() {
    let part = |result: Value, params: Value| shaped_at(&RowPlace::part("items"), result, params, PageStart::Start);
    let order = json!({ "id": 7, "sent": [], "items": [{ "id": 1, "name": "door" }, { "id": 2, "name": "key" }] });
    assert_eq!(
        part(order.clone(), json!({ "fields": ["id", "items.name"] })),
        json!({ "id": 7, "items": [{ "name": "door" }, { "name": "key" }] })
    );
    // Not even if a name exists only in the rows, or in no part of this result.
    assert_eq!(part(order.clone(), json!({ "fields": ["name", "sent.code"] })), json!({ "sent": [] }));
    assert_eq!(part(json!({ "id": 8 }), json!({ "fields": ["id", "items.name"] })), json!({ "id": 8 }));
    assert_eq!(part(order.clone(), json!({ "fields": "full" })), order);
    assert_eq!(part(order, json!({ "fields": ["id"], "first": 1 }))["items"], json!([{ "id": 1 }]));

    let list = |result: Value, fields: Value| {
        shaped_at(&RowPlace::known("items"), result, json!({ "fields": fields }), PageStart::Start)
    };
    let page = json!({ "total": 1, "items": [{ "id": 1, "name": "door" }] });
    assert_eq!(list(page.clone(), json!(["id"])), json!({ "items": [{ "id": 1 }], "total": 1 }));
    assert_eq!(list(page, json!(["total", "items.id"])), json!({ "total": 1, "items": [{ "id": 1 }] }));
    assert_eq!(list(json!({ "total": 0, "items": [] }), json!(["id"])), json!({ "items": [], "total": 0 }));
    // What is returned in place of the rows is not cut to their fields.
    let refusal = json!({ "error": "too many requests" });
    assert_eq!(list(refusal.clone(), json!(["id"])), refusal);
}

/// A list without elements does not show which fields its elements have.
#[test]
fn r_col_5_a_field_is_missing_only_if_something_shows_it() {
    let fields = json!({ "fields": ["id", "orders.total", "orders.0"] });
    let request = ShapingRequest::new(controls(fields), |_| true).unwrap();
    let of_object = |value: Value| {
        let (_, warnings) = shape::shape_object(value, &request, &Work::unlimited()).unwrap();
        warnings.iter().map(|warning| json!(warning)["message"].clone()).collect::<Vec<_>>()
    };
    let of_rows = |rows: Value| {
        let rows: Vec<Value> = rows.as_array().unwrap().clone();
        let picked = RowSelection::new(&rows, &request, PageStart::Start, PAGES).unwrap();
        let missing = picked.warnings.iter().filter(|warning| warning.code() == "FIELD_NOT_FOUND");
        missing.map(|warning| json!(warning)["details"]["fields"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of_object(json!({ "id": 7, "orders": [] })), ["The result has no orders.0. Did you mean 'orders'?"]);
    assert!(of_object(json!({ "id": 7, "orders": [{ "total": 1 }] })).is_empty());
    let lacking = of_object(json!({ "id": 7, "orders": [{}] }));
    assert!(lacking[0].as_str().unwrap().starts_with("The result has no orders.total."), "{lacking:?}");
    assert_eq!(of_rows(json!([{ "id": 1, "orders": [] }, { "id": 2, "orders": [{}] }])), [json!(["orders.total"])]);
    assert_eq!(of_rows(json!([{ "id": 1, "orders": [] }, { "id": 2, "orders": [] }])), [json!(["orders.0"])]);
    // A row without the list shows nothing about its elements either.
    assert_eq!(of_rows(json!([{ "id": 1, "orders": [] }, { "id": 2 }])), [json!(["orders.0"])]);
    assert_eq!(of_rows(json!([{ "id": 1 }, { "id": 2 }])), [json!(["orders.total", "orders.0"])]);
    // Every element counts, not only the first.
    assert!(of_object(json!({ "id": 7, "orders": [{}, { "total": 1 }] })).is_empty());
}

/// A page of a database in the form of Notion.
fn notion() -> Value {
    let page = |id: &str, title: &str, done: bool, points: Value| {
        json!({
            "object": "page", "id": id, "created_time": "2026-01-01T00:00:00.000Z", "archived": false,
            "parent": { "type": "database_id", "database_id": "d" },
            "properties": {
                "Name": { "id": "title", "type": "title", "title": [{ "type": "text", "plain_text": title, "annotations": { "bold": false } }] },
                "Done": { "id": "d", "type": "checkbox", "checkbox": done },
                "Points": { "id": "p", "type": "number", "number": points },
            },
            "url": format!("https://notion.example/{id}"),
        })
    };
    json!({
        "object": "list",
        "results": [page("a", "One", true, json!(3)), page("b", "Two", false, json!(null)), page("c", "Three", false, json!(1.5))],
        "next_cursor": "abc", "has_more": true,
    })
}

#[test]
fn r_dis_8_nested_results_of_notion_are_shaped() {
    let answer = shaped(
        notion(),
        json!({
            "fields": ["id", "properties.Name.title.plain_text", "properties.Points.number"],
            "filter": { "properties.Done.checkbox": false, "created_after": "2025-12-31" },
            "sort": { "field": "properties.Points.number", "order": "asc" },
        }),
        PageStart::Start,
    );
    assert_eq!(
        answer,
        json!({
            "items": [
                { "id": "c", "properties": { "Name": { "title": [{ "plain_text": "Three" }] }, "Points": { "number": 1.5 } } },
                { "id": "b", "properties": { "Name": { "title": [{ "plain_text": "Two" }] }, "Points": { "number": null } } },
            ],
            "object": "list", "next_cursor": "abc", "has_more": true,
        })
    );
    let answer = shaped(
        notion(),
        json!({ "filter": { "properties.Name.title.plain_text": { "contains": "THR" } }, "fields": ["id"] }),
        PageStart::Start,
    );
    assert_eq!(answer["items"], json!([{ "id": "c" }]));
    let sums = shaped(
        notion(),
        json!({ "aggregate": { "points": { "sum": "properties.Points.number" }, "done": { "group_by": "properties.Done.checkbox", "count": true } } }),
        PageStart::Start,
    );
    assert_eq!(sums["aggregations"], json!({ "points": 4.5, "done": { "false": 2, "true": 1 } }));
}

#[test]
fn r_dis_8_plain_values_are_rows_of_one_field() {
    let answer = shaped(
        json!(["b", "a", "c"]),
        json!({ "filter": { "value": { "ne": "b" } }, "sort": "-value" }),
        PageStart::Start,
    );
    assert_eq!(answer, json!({ "items": [{ "value": "c" }, { "value": "a" }] }));
    let answer = shaped(
        json!({ "files": ["x.rs", "y.md"], "dir": "src" }),
        json!({ "filter": { "value": { "ends_with": ".rs" } } }),
        PageStart::Start,
    );
    assert_eq!(answer, json!({ "items": [{ "value": "x.rs" }], "dir": "src" }));
    let mixed = shaped(json!([{ "a": 1 }, 5, null, [1]]), json!({ "first": 9 }), PageStart::Start);
    assert_eq!(mixed["items"], json!([{ "a": 1 }, { "value": 5 }, { "value": null }, { "value": [1] }]));
}

#[test]
fn r_dis_8_tables_are_rows_with_the_names_of_their_columns() {
    for columns in [json!(["id", "name"]), json!([{ "name": "id", "type": "int" }, { "name": "name" }])] {
        let table = json!({ "result": { "columns": columns, "rows": [[1, "a"], [2, "b"]], "took": 5 } });
        let answer = shaped(table, json!({ "filter": { "id": { "gt": 1 } }, "fields": ["name"] }), PageStart::Start);
        assert_eq!(answer["items"], json!([{ "name": "b" }]));
        assert_eq!(answer["result"]["took"], 5);
    }
    let uneven = json!({ "columns": ["id"], "rows": [[1], [2, 3]] });
    assert_eq!(shaped(uneven, json!({ "first": 1 }), PageStart::Start)["items"], json!([{ "value": [1] }]), "no table");
}

#[test]
fn r_dis_8_python_literals_are_parsed() {
    let printed = "[{'id': 1, 'name': \"O'Hara\", 'x': None, 'ok': True, 'f': -1.5e3, 't': (1, 2), 'e': 'a\\n\\u00e9\\x41\\''}, {'id': 2, 'name': 'é', 'd': {}}]";
    let answer = shaped(json!(printed), json!({ "sort": "-id" }), PageStart::Start);
    assert_eq!(
        answer["items"],
        json!([
            { "id": 2, "name": "é", "d": {} },
            { "id": 1, "name": "O'Hara", "x": null, "ok": true, "f": -1500.0, "t": [1, 2], "e": "a\néA'" },
        ])
    );
    for text in [
        "['a', 'b'",
        "{'a'}",
        "[datetime.date(2026, 1, 1)]",
        "[x for x in y]",
        "(1)",
        "{'a': 1} and more",
        "['a' 'b']",
        "[b'x']",
        "{1: 2}",
        "['\\ud800']",
    ] {
        let subject = ResultContent::new(json!(text), &RowPlace::Detected, &Map::new());
        assert_eq!(subject, ResultContent::Text(text.to_owned()), "not understood, so text");
    }
    let deep = format!("{}'x'{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(matches!(ResultContent::new(json!(deep), &RowPlace::Detected, &Map::new()), ResultContent::Text(_)));
}

#[test]
fn r_dis_8_rows_need_not_be_alike() {
    let rows = json!([{ "v": 10, "w": "x" }, { "v": "9" }, { "w": null }, { "v": true }, { "v": [1] }, { "v": 9.5 }]);
    let sorted = shaped(rows.clone(), json!({ "sort": "v", "fields": ["v"] }), PageStart::Start);
    assert_eq!(
        sorted["items"],
        json!([{ "v": true }, { "v": 9.5 }, { "v": 10 }, { "v": "9" }, { "v": [1] }, {}]),
        "by kind, missing last"
    );
    let greater = shaped(rows, json!({ "filter": { "v": { "gt": 9 } }, "fields": ["v"] }), PageStart::Start);
    assert_eq!(greater["items"], json!([{ "v": 10 }, { "v": 9.5 }]), "only among its own kind");
}

#[test]
fn r_dis_8_names_with_dots_and_lists_of_words() {
    let rows = json!([{ "a.b": 1, "a": { "b": 2 }, "": 0, "tags": ["x", "y"] }, { "a.b": 3, "tags": [] }]);
    let show = |params: Value| shaped(rows.clone(), params, PageStart::Start)["items"].clone();
    assert_eq!(show(json!({ "fields": ["a.b"] })), json!([{ "a.b": 1 }, { "a.b": 3 }]));
    assert!(ShapingRequest::new(controls(json!({ "fields": [""] })), |_| true).is_err());
    assert_eq!(show(json!({ "filter": { "tags": { "contains": "y" } }, "fields": ["a.b"] })), json!([{ "a.b": 1 }]));
    assert_eq!(show(json!({ "fields": ["tags.1"] })), json!([{ "tags": ["y"] }, { "tags": [] }]));
}

#[test]
fn r_col_5_inferred_collections_have_presets() {
    let rows = json!([{ "id": 1, "title": "a", "meta": { "x": 1 }, "n": 2 }]);
    let show = |params: Value| shaped(rows.clone(), params, PageStart::Start)["items"][0].clone();
    assert_eq!(show(json!({ "fields": "minimal" })), json!({ "id": 1, "title": "a" }));
    assert_eq!(show(json!({ "fields": "standard" })), json!({ "id": 1, "title": "a", "n": 2 }));
    assert_eq!(show(json!({ "fields": "full" })), rows[0]);
    assert_eq!(
        show(json!({ "preset": "minimal", "fields": ["meta.x"] })),
        json!({ "id": 1, "title": "a", "meta": { "x": 1 } })
    );
}

#[test]
fn r_dis_8_the_envelope_is_kept_unless_it_is_large() {
    let result = json!({ "data": { "items": [{ "a": 1 }], "total": 5 }, "pageInfo": { "next": "t" }, "schema": "x".repeat(5_000) });
    let ResultContent::Rows { envelope, .. } = ResultContent::new(result, &RowPlace::Detected, &Map::new()) else {
        panic!()
    };
    let mut data = controls(json!({ "items": [], "pageInfo": {} }));
    let warning = shape::add_envelope(&mut data, envelope, false).unwrap();
    assert_eq!(
        Value::Object(data),
        json!({ "items": [], "pageInfo": {}, "data": { "total": 5 }, "_upstream": { "pageInfo": { "next": "t" } } })
    );
    assert_eq!(json!(warning)["details"]["left_out"], json!(["schema"]));
    let ResultContent::Rows { envelope, .. } =
        ResultContent::new(json!({ "data": { "items": [] }, "ok": true }), &RowPlace::Detected, &Map::new())
    else {
        panic!()
    };
    assert_eq!(envelope, json!({ "ok": true }), "an object that contained nothing else is removed");
}

fn upstream(own: &[&str]) -> Operation {
    let mut operation = Operation::new("list_things", aquifer_protocol::category::Category::Read, "Lists things.");
    operation.origin.native = false;
    operation.parameters = own.iter().map(|name| Parameter::optional(name, Schema::new(Kind::Any))).collect();
    operation
}

#[test]
fn r_dis_8_controls_do_not_replace_parameters_of_the_upstream() {
    let offered = |own: &[&str], controls: Controls| {
        let mut operation = upstream(own);
        assert!(shape::add_controls(&mut operation, &ROWS, controls));
        assert!(!shape::add_controls(&mut operation, &ROWS, controls), "only once");
        let names: Vec<String> =
            operation.capabilities.shaping.unwrap().controls.iter().map(|name| name.to_string()).collect();
        assert!(names.iter().all(|name| !own.contains(&name.as_str())));
        names
    };
    assert_eq!(
        offered(&[], Controls::Few),
        ["fields", "filter", "sort", "aggregate", "first", "after", "last", "before", "total", "shape", "max_tokens"]
    );
    assert_eq!(
        offered(&["after", "sort", "query"], Controls::Few),
        ["fields", "filter", "aggregate", "last", "before", "shape", "max_tokens"]
    );
    assert_eq!(
        offered(&["limit", "page", "sort"], Controls::All),
        [
            "fields",
            "filter",
            "aggregate",
            "first",
            "after",
            "last",
            "before",
            "total",
            "shape",
            "preset",
            "include_items",
            "edges",
            "max_tokens"
        ]
    );
    let shaping = Shaping { controls: vec!["first".into(), "fields".into()], ..Shaping::default() };
    let mut params = controls(json!({ "a": 1, "first": 2, "b": 3, "sort": "x" }));
    assert_eq!(shape::take_controls(&shaping, &mut params), controls(json!({ "first": 2 })));
    assert_eq!(params, controls(json!({ "a": 1, "b": 3, "sort": "x" })));
    let mut native = Operation::new("list_x", aquifer_protocol::category::Category::Read, "");
    assert!(!shape::add_controls(&mut native, &ROWS, Controls::Few), "native operations are not touched");
}

#[test]
fn r_dis_8_descriptions_of_controls_are_short_and_harmless() {
    let shown: Vec<String> = shape::control_parameters(&[], &ROWS, Controls::All)
        .iter()
        .map(|parameter| parameter.schema.description.as_deref().unwrap().to_owned())
        .collect();
    for words in &shown {
        assert!(!aquifer_protocol::error::wording::looks_like_a_leak(words), "{words}");
        assert!(words.len() <= 100, "{words}");
    }
    let few: usize = shape::control_parameters(&[], &ROWS, Controls::Few)
        .iter()
        .map(|p| p.schema.description.as_deref().unwrap().len())
        .sum();
    assert!(few <= 300, "{few}");
}

#[test]
fn r_dis_8_json_is_found_in_text() {
    assert_eq!(parse_json_text(" [1]\n"), Some(json!([1])));
    assert_eq!(parse_json_text("{\"a\":1}\n{\"a\":2}\r\n"), Some(json!([{ "a": 1 }, { "a": 2 }])));
    for text in ["", "plain", "5", "\"x\"", "{broken", "[1] and more", "{\"a\":1}\nnot json", "{\"a\":1}\n5"] {
        assert_eq!(parse_json_text(text), None, "{text}");
    }
}

#[test]
fn r_dis_8_text_is_split_between_characters() {
    let family = "👩‍👩‍👧";
    let text = format!("ab{family}e\u{301}\r\n🇩🇪🇫🇷");
    let mut pages = Vec::new();
    let mut from = 0;
    loop {
        let page = TextPage::new(&text, from, 4, None);
        pages.push(page.text);
        match page.next {
            Some(next) => from = next,
            None => break,
        }
    }
    assert_eq!(pages.concat(), text);
    assert_eq!(pages, ["ab", family, "e\u{301}", "\r\n", "🇩🇪", "🇫🇷"]);
    assert_eq!(TextPage::new("äöü", 0, 100, Some(2)).text, "äö");
    assert_eq!(TextPage::new("one line\nanother line", 0, 10, None).text, "one line\n");
    assert_eq!(TextPage::new("", 0, 10, None).next, None);
    // An endless grapheme, and a page smaller than one code point.
    let endless = format!("a{}", "\u{301}".repeat(100_000));
    assert!(TextPage::new(&endless, 0, 50_000, None).text.len() >= 40_000);
    assert_eq!(TextPage::new("😀😀", 0, 1, None).text, "😀");
}
