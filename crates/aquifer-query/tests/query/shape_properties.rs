//! Properties of shaping: it agrees with the evaluator, pages lose nothing, and no input breaks it.

use aquifer_protocol::operation::RowPlace;
use aquifer_query::collection::PageLimits;
use aquifer_query::evaluate::evaluate;
use aquifer_query::shape::{
    self, Cursors, Observation, PageStart, ResultContent, RowSelection, Rows, ShapingRequest, TextPage,
};
use aquifer_query::{QueryKind, Work, parse_query};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::fixture::key;
use crate::shape::{PAGES, controls, shaped, shaped_at};

/// A value of any kind, so that columns are often mixed.
fn scalar() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-2.0_f64..2.0).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
        (1_u32..28).prop_map(|day| json!(format!("2026-01-{day:02}T00:00:00Z"))),
    ]
}

fn rows() -> impl Strategy<Value = Vec<Value>> {
    let one_kind = prop_oneof![
        (-3_i64..4).prop_map(Value::from).boxed(),
        "[a-c]{0,2}".prop_map(Value::from).boxed(),
        scalar().boxed(),
    ];
    let row = (
        prop::option::of(one_kind),
        prop::option::of(scalar()),
        prop::option::of(prop::option::of(scalar())),
        prop::collection::vec("[a-c]", 0..3),
    )
        .prop_map(|(a, created_at, nested, tags)| {
            let mut row = Map::new();
            a.map(|a| row.insert("a".to_owned(), a));
            created_at.map(|at| row.insert("created_at".to_owned(), at));
            nested.map(|inner| {
                row.insert("n".to_owned(), inner.map_or(json!({}), |x| json!({ "x": x, "y": { "z": 1 } })))
            });
            row.insert("tags".to_owned(), json!(tags));
            Value::Object(row)
        });
    prop::collection::vec(row, 0..30)
}

/// The rows in the forms that servers use, and the envelope.
fn wrapped(rows: &[Value], way: usize) -> (Value, Value) {
    match way {
        0 => (json!(rows), Value::Null),
        1 => (json!({ "total": 3, "items": rows }), json!({ "total": 3 })),
        2 => (json!({ "data": { "nodes": rows, "count": 1 } }), json!({ "data": { "count": 1 } })),
        3 => (json!({ "result": { "rows": rows } }), json!({})),
        4 => {
            let edges: Vec<Value> = rows.iter().map(|row| json!({ "node": row, "cursor": "c" })).collect();
            (json!({ "edges": edges, "k": null }), json!({ "k": null }))
        }
        5 => (json!(json!({ "things": rows }).to_string()), json!({})),
        _ => (json!({ "content": [{ "type": "text", "text": json!(rows).to_string() }] }), Value::Null),
    }
}

fn name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["a", "created_at", "n.x", "n.y.z", "n", "tags", "missing", "missing.too"])
}

fn filter() -> impl Strategy<Value = Value> {
    let test = (name(), scalar(), prop::sample::select(vec!["eq", "ne", "gt", "lte", "in", "contains", "is_null"]))
        .prop_map(|(name, value, operator)| {
            let operand = match operator {
                "in" => json!([value, 1, "b"]),
                "contains" => json!("a"),
                "is_null" => json!(value == true),
                _ => value,
            };
            let mut filter = Map::new();
            let mut test = Map::new();
            test.insert(operator.to_owned(), operand);
            filter.insert(name.to_owned(), Value::Object(test));
            Value::Object(filter)
        });
    prop_oneof![
        Just(json!({})),
        test.clone(),
        prop::collection::vec(test.clone(), 1..3).prop_map(|all| json!({ "or": all })),
        test.prop_map(|inner| json!({ "not": inner })),
    ]
}

fn any_request() -> impl Strategy<Value = Value> {
    (
        filter(),
        prop::collection::vec((name(), any::<bool>()), 0..3),
        prop::option::of(prop::collection::vec(name(), 1..4)),
        prop::option::of(name()),
        1_usize..8,
        0_usize..10,
    )
        .prop_map(|(filter, sort, fields, group, limit, offset)| {
            let sort: Vec<Value> = sort
                .iter()
                .map(|(field, down)| json!({ "field": field, "order": if *down { "desc" } else { "asc" } }))
                .collect();
            let mut params = json!({ "filter": filter, "sort": sort, "limit": limit, "offset": offset });
            // What is inside a field is kept where a database leaves it out: see below.
            if let Some(fields) = fields {
                params["fields"] = fields.iter().filter(|name| !name.contains('.')).copied().chain(["a"]).collect();
            }
            if let Some(group) = group {
                params["aggregate"] = json!({ "by": { "group_by": group, "count": true, "min": "a" } });
                params["include_items"] = json!(true);
            }
            params
        })
}

/// An object as servers return it. Every part may be missing, null or empty.
fn entity() -> impl Strategy<Value = Value> {
    let part = |value: BoxedStrategy<Value>| {
        prop_oneof![1 => Just(None), 1 => Just(Some(Value::Null)), 4 => value.prop_map(Some)].boxed()
    };
    let member = move |name: &'static str, value| part(value).prop_map(move |value| value.map(|value| (name, value)));
    let object = |members: Vec<BoxedStrategy<Option<(&'static str, Value)>>>| {
        members
            .prop_map(|all| all.into_iter().flatten().map(|(name, value)| (name.to_owned(), value)).collect())
            .boxed()
    };
    let list = |element: BoxedStrategy<Value>| prop::collection::vec(element, 0..3).prop_map(Value::Array).boxed();
    let event = object(vec![member("code", scalar().boxed()).boxed(), member("id", scalar().boxed()).boxed()]);
    let item = object(vec![
        member("id", scalar().boxed()).boxed(),
        member("options", object(vec![member("size", scalar().boxed()).boxed()])).boxed(),
        member("events", list(event.clone())).boxed(),
    ]);
    object(vec![
        member("id", scalar().boxed()).boxed(),
        member("total", scalar().boxed()).boxed(),
        member("address", object(vec![member("city", scalar().boxed()).boxed()])).boxed(),
        member("tags", list("[a-c]".prop_map(Value::from).boxed())).boxed(),
        member("events", list(event)).boxed(),
        member("items", list(item)).boxed(),
    ])
}

fn entity_path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "id",
        "total",
        "address",
        "address.city",
        "address.zip",
        "tags",
        "events",
        "events.code",
        "items",
        "items.id",
        "items.options.size",
        "items.events.code",
        "missing",
        "missing.too",
    ])
}

/// Any JSON of few names, so that paths often lead somewhere.
fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(document_step(), inner, 0..4)
                .prop_map(|map| map.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
        ]
    })
}

/// A step of a path. An object can have members with numbers as their names.
fn document_step() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec!["a", "b", "id", "items", "total", "0", "1", "-1"])
}

/// A selection from any JSON in plain code. `None` if the value cannot have what is selected.
fn selected_parts(value: &Value, paths: &[&[&str]]) -> Option<Value> {
    let behind = |step: &dyn Fn(&str) -> bool| -> Vec<&[&str]> {
        paths.iter().filter(|path| step(path[0])).map(|path| &path[1..]).collect()
    };
    if value.is_null() || paths.iter().any(|path| path.is_empty()) {
        return Some(value.clone());
    }
    match value {
        Value::Object(object) => {
            let member = |(name, member): (&String, &Value)| {
                let inside = behind(&|step| step == name);
                Some((name.clone(), selected_parts(member, &inside).filter(|_| !inside.is_empty())?))
            };
            Some(object.iter().filter_map(member).collect())
        }
        Value::Array(elements) => {
            let number = |step: &str| step.parse::<i64>().ok();
            let length = i64::try_from(elements.len()).unwrap();
            let named: Vec<&[&str]> = paths.iter().copied().filter(|path| number(path[0]).is_none()).collect();
            let mut parts = Vec::new();
            for (position, element) in (0..).zip(elements) {
                let chosen = behind(&|step| number(step).is_some_and(|n| n == position || n + length == position));
                // A name means the objects in the list, not those in lists of the list.
                let own = if element.is_array() && !named.is_empty() { &[] } else { named.as_slice() };
                let all: Vec<&[&str]> = own.iter().copied().chain(chosen).collect();
                let part = if all.is_empty() { None } else { selected_parts(element, &all) };
                // With a name the list keeps its length.
                parts.extend(part.or_else(|| (!named.is_empty()).then(|| json!({}))));
            }
            Some(Value::Array(parts))
        }
        _ => None,
    }
}

/// A selection in plain code, written without the code that is tested.
fn selected(value: &Value, paths: &[Vec<&str>]) -> Value {
    match value {
        Value::Array(elements) => elements.iter().map(|element| selected(element, paths)).collect(),
        Value::Object(object) => {
            let member = |(name, member): (&String, &Value)| {
                let own = paths.iter().filter(|path| path[0] == name);
                let inside: Vec<Vec<&str>> = own.map(|path| path[1..].to_vec()).collect();
                let is_whole = inside.iter().any(Vec::is_empty);
                let has_parts = member.is_object() || member.is_array() || member.is_null();
                match inside.is_empty() || !(is_whole || has_parts) {
                    true => None,
                    false => Some((name.clone(), if is_whole { member.clone() } else { selected(member, &inside) })),
                }
            };
            object.iter().filter_map(member).collect()
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// `fields` select the same from every result, whatever an earlier result has shown about the operation.
    #[test]
    fn r_dis_8_fields_select_what_plain_code_selects(earlier in entity(), entities in prop::collection::vec(entity(), 1..4),
                                                     fields in prop::collection::vec(entity_path(), 1..5)) {
        let paths: Vec<Vec<&str>> = fields.iter().map(|path| path.split('.').collect()).collect();
        let place = |result: &Value| {
            Observation::from_result(result, &RowPlace::Unknown).map(|seen| seen.shape()).unwrap_or_default().rows()
        };
        let first = |place: &RowPlace, result: &Value| {
            shaped_at(place, result.clone(), json!({ "fields": fields }), PageStart::Start)
        };
        // An object without a member of its own may be the envelope of a list.
        let earlier_place = Some(place(&earlier)).filter(|place| !place.is_known() || place.is_part());
        for entity in &entities {
            for place in earlier_place.iter().chain([&RowPlace::Unknown, &RowPlace::part("items"), &RowPlace::part("events")]) {
                prop_assert_eq!(first(place, entity), selected(entity, &paths), "{:?} {}", place, entity);
            }
        }
        let rows: Vec<Value> = entities.iter().map(|entity| selected(entity, &paths)).collect();
        let list = json!(entities);
        prop_assert_eq!(&first(&place(&list), &list)["items"], &json!(rows));
        let page = json!({ "results": list, "total_count": 9 });
        prop_assert_eq!(first(&place(&page), &page), json!({ "items": rows, "total_count": 9 }));
    }

    /// The same for any JSON: lists in lists, numbers as steps and as names, results as text.
    #[test]
    fn r_dis_8_fields_select_from_any_json_what_plain_code_selects(
        documents in prop::collection::vec(document(), 1..4),
        fields in prop::collection::vec(prop::collection::vec(document_step(), 1..5), 1..5),
    ) {
        let paths: Vec<&[&str]> = fields.iter().map(Vec::as_slice).collect();
        let params = json!({ "fields": fields.iter().map(|path| path.join(".")).collect::<Vec<_>>() });
        let shape = |place: &RowPlace, result: Value| shaped_at(place, result, params.clone(), PageStart::Start);
        let row = |value: &Value| if value.is_object() { value.clone() } else { json!({ "value": value }) };
        for document in documents.iter().filter(|document| document.is_object()) {
            let expected = selected_parts(document, &paths).unwrap();
            for place in [RowPlace::Unknown, RowPlace::part("items"), RowPlace::part("a.b")] {
                prop_assert_eq!(&shape(&place, document.clone()), &expected, "{:?} {}", place, document);
                let text = json!({ "content": [{ "type": "text", "text": document.to_string() }] });
                prop_assert_eq!(&shape(&place, text), &expected, "{:?} {}", place, document);
            }
        }
        let rows: Vec<Value> = documents.iter().map(|row_value| selected_parts(&row(row_value), &paths).unwrap()).collect();
        let answer = shape(&RowPlace::known("$"), json!(documents));
        prop_assert_eq!(&answer, &json!({ "items": rows }), "{:?}", documents);
    }

    /// Shaping a result gives the same as evaluating the query over its rows.
    #[test]
    fn r_dis_8_shaping_is_the_language_over_the_rows(rows in rows(), way in 0_usize..7, params in any_request()) {
        let (result, expected_around) = wrapped(&rows, way);
        let request = ShapingRequest::new(controls(params), |_| true);
        prop_assume!(request.is_ok());
        let request = request.unwrap();
        let ResultContent::Rows { rows: located, envelope, .. } = ResultContent::new(result, &RowPlace::Detected, request.controls()) else {
            prop_assert!(false, "no rows found");
            unreachable!()
        };
        prop_assert_eq!(&located, &rows);
        // Rows of only empty lists do not reveal edges.
        prop_assert_eq!(envelope, expected_around);
        let mut collection = shape::infer_collection(&located, PAGES);
        // Equal rows keep the order of the result; there is no key.
        collection.key.clear();
        let picked = RowSelection::new(&located, &request, PageStart::Start, PAGES);
        let reference = parse_query(&collection, QueryKind::Get, request.controls(), &key());
        prop_assert_eq!(picked.is_ok(), reference.is_ok());
        if let (Ok(picked), Ok(reference)) = (picked, reference) {
            let again = RowSelection::new(&located, &request, PageStart::Start, PAGES).unwrap();
            let expected = evaluate(&collection, &reference.plan, &located, &key()).data;
            let cursors = Cursors { seal: &|_| None };
            let copied = Value::Object(picked.write(Rows::Shared(&located), &cursors).0);
            prop_assert_eq!(&copied, &expected);
            let moved = Value::Object(again.write(Rows::Owned(located), &cursors).0);
            prop_assert_eq!(&moved, &expected);
        }
    }

    /// Pages visit every row once, in the same order, forwards and backwards.
    #[test]
    fn r_dis_8_pages_visit_every_row_once(count in 0_usize..40, size in 1_usize..9, bytes in 40_usize..400, forwards in any::<bool>()) {
        let rows: Vec<Value> = (0..count).map(|id| json!({ "id": id, "k": id % 3, "text": "x".repeat(id % 7) })).collect();
        let (size_name, cursor_name) = if forwards { ("first", "after") } else { ("last", "before") };
        let mut params = json!({ "sort": "-k" });
        params[size_name] = json!(size);
        let mut from = PageStart::Start;
        let mut pages: Vec<Vec<u64>> = Vec::new();
        for _ in 0..=count {
            let request = ShapingRequest::new(controls(params.clone()), |_| true).unwrap();
            let picked = RowSelection::new(&rows, &request, from, PageLimits { max_bytes: bytes, ..PAGES }).unwrap();
            let seal = |location: usize| Some(location.to_string());
            let data = Value::Object(picked.write(Rows::Shared(&rows), &Cursors { seal: &seal }).0);
            pages.push(data["items"].as_array().unwrap().iter().map(|row| row["id"].as_u64().unwrap()).collect());
            let info = &data["pageInfo"];
            let (more, cursor) = if forwards { ("hasNextPage", "endCursor") } else { ("hasPreviousPage", "startCursor") };
            if info[more] == false {
                break;
            }
            let location: usize = info[cursor].as_str().unwrap().parse().unwrap();
            from = if forwards { PageStart::After(location) } else { PageStart::Before(location) };
            params[cursor_name] = info[cursor].clone();
        }
        if !forwards {
            pages.reverse();
        }
        let seen: Vec<u64> = pages.concat();
        let mut expected: Vec<u64> = (0..count as u64).collect();
        expected.sort_by_key(|id| std::cmp::Reverse(id % 3));
        prop_assert_eq!(seen, expected);
    }

    /// Any JSON and any controls give a result or a failure.
    #[test]
    fn r_dis_8_anything_is_shaped_or_refused(result in any_json(), filter in any_json(), sort in any_json(), fields in any_json(), aggregate in any_json(), path in ".{0,8}") {
        for params in [
            json!({}), json!({ "first": 2 }), json!({ "filter": filter }), json!({ "sort": sort }), json!({ "fields": fields }),
            json!({ "aggregate": aggregate }), json!({ "filter": filter, "sort": sort, "fields": fields, "first": 1, "edges": true, "total": true }),
        ] {
            let Ok(request) = ShapingRequest::new(controls(params), |_| true) else { continue };
            let _ = request.cursor_binding(Some("o"), "op", request.controls());
            match ResultContent::new(result.clone(), &RowPlace::configured(&path), request.controls()) {
                ResultContent::Rows { rows, envelope, location } => {
                    let _ = Observation::from_rows(&rows, &location);
                    if let Ok(picked) = RowSelection::new(&rows, &request, PageStart::After(1), PAGES) {
                        let (mut data, _) = picked.write(Rows::Owned(rows), &Cursors { seal: &|_| None });
                        let _ = shape::add_envelope(&mut data, envelope, false);
                    }
                }
                ResultContent::One(value) => drop(shape::shape_object(value, &request, &Work::unlimited())),
                ResultContent::NoRows(_) | ResultContent::Text(_) => {}
            }
        }
        let _ = Observation::from_result(&result, &RowPlace::configured(&path));
        // Without controls nothing is lost.
        if let ResultContent::One(value) = ResultContent::new(result.clone(), &RowPlace::Detected, &Map::new()) {
            prop_assert!(value == result || result.is_object() || result.is_string());
        }
    }

    /// Pages of text add up to the text, each of them within its bounds.
    #[test]
    fn r_dis_8_pages_of_text_add_up(text in "(\\PC|\\n|\u{301}|\u{200d}|👩|🇩|\r\n){0,200}", bytes in 1_usize..50, characters in prop::option::of(1_usize..20)) {
        let mut from = 0;
        let mut whole = String::new();
        for _ in 0..=text.len() {
            let page = TextPage::new(&text, from, bytes, characters);
            whole.push_str(page.text);
            match page.next {
                Some(next) => {
                    prop_assert!(next > from && !page.text.is_empty());
                    from = next;
                }
                None => break,
            }
        }
        prop_assert_eq!(whole, text);
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        prop::sample::select(vec![
            "items",
            "data",
            "edges",
            "node",
            "content",
            "type",
            "text",
            "value",
            "_upstream",
            "_computed",
            "a",
            "",
            ".",
            "a.b",
            "and",
            "eq",
            "count",
            "sum",
            "field"
        ])
        .prop_map(str::to_owned),
        ".{0,4}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from),
        Just(json!("text")),
        Just(json!("{\"items\":[{\"a\":1}]}")),
        Just(json!("a")),
    ];
    leaf.prop_recursive(5, 48, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..5)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Without limits these would take hours or overflow the stack; the runner ends a test that hangs.
#[test]
fn r_dis_8_hostile_results_neither_hang_nor_overflow() {
    // Deeper than any parser limit: it stays text.
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert!(matches!(ResultContent::new(json!(deep), &RowPlace::Detected, &Map::new()), ResultContent::Text(_)));
    // As deep as the parsers allow.
    let nested = (0..120).fold(json!([{ "a": 1 }]), |inner, _| json!({ "x": inner }));
    shaped(nested, json!({ "fields": ["x.x.x.x"], "sort": "x.x", "filter": { "x.x.x": 1 } }), PageStart::Start);
    let lists = (0..120).fold(json!({ "a": 1 }), |inner, _| json!([inner]));
    shaped(lists, json!({ "fields": ["value.a.a"], "filter": { "value.a.b.c": 1 } }), PageStart::Start);
    // Wide objects, many rows, and no two rows alike.
    let wide: Map<String, Value> = (0..200_000).map(|n| (format!("k{n}"), json!({ "v": n }))).collect();
    shaped(Value::Object(wide), json!({ "fields": ["k5.v"] }), PageStart::Start);
    let many: Vec<Value> = (0..200_000).map(|n| json!({ "n": n % 1_000, "t": "x" })).collect();
    let page =
        shaped(json!(many), json!({ "first": 3, "sort": "-n", "filter": { "n": { "gt": 5 } } }), PageStart::Start);
    assert_eq!(page["items"][0]["n"], 999);
    let groups = json!({ "aggregate": { "by": { "group_by": "g", "count": true } } });
    let apart: Vec<Value> = (0..200_000).map(|n| json!({ "g": n * 7_919 % 200_003 })).collect();
    assert_eq!(shaped(json!(apart), groups, PageStart::Start)["aggregations"]["by"].as_object().unwrap().len(), 1_000);
    let unlike: Vec<Value> =
        (0..20_000).map(|n| Value::Object(Map::from_iter([(format!("f{n}"), json!(n))]))).collect();
    let answer =
        shaped(json!(unlike), json!({ "fields": ["f3", "f19999"], "filter": { "f19999": 19_999 } }), PageStart::Start);
    assert_eq!(answer["items"], json!([{ "f19999": 19_999 }]), "beyond what is described, paths still lead somewhere");
    let lines: String = (0..50_000).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    assert_eq!(
        shaped(json!(lines), json!({ "first": 1, "sort": "-n" }), PageStart::Start)["items"],
        json!([{ "n": 49_999 }])
    );
}
