//! Properties that hold for any items and any query.

use aquifer_query::evaluate::evaluate;
use aquifer_query::{QueryKind, parse_query};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixture::{collection, key};

fn any_items() -> impl Strategy<Value = Vec<Value>> {
    let item = (
        prop::option::of("[a-c]{0,3}"),
        prop::option::of(prop::sample::select(vec!["open", "closed", "late"])),
        prop::option::of(prop_oneof![(-3_i64..3).prop_map(Value::from), (-3.0_f64..3.0).prop_map(Value::from)]),
        prop::option::of(any::<bool>()),
    );
    prop::collection::vec(item, 0..40).prop_map(|all| {
        all.into_iter()
            .enumerate()
            .map(|(index, (title, status, price, urgent))| json!({ "id": index, "title": title, "status": status, "price": price, "urgent": urgent }))
            .collect()
    })
}

fn any_sort() -> impl Strategy<Value = Value> {
    let criterion = (
        prop::sample::select(vec!["title", "status", "price", "urgent", "id"]),
        prop::sample::select(vec!["asc", "desc"]),
    )
        .prop_map(|(field, order)| json!({ "field": field, "order": order }));
    prop::collection::vec(criterion, 0..3).prop_map(Value::from)
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,6}".prop_map(Value::from)
    ];
    let name = prop_oneof![
        Just("price".to_owned()),
        Just("title".to_owned()),
        Just("meta.a".to_owned()),
        Just("and".to_owned()),
        Just("or".to_owned()),
        Just("not".to_owned()),
        Just("in".to_owned()),
        Just("gt".to_owned()),
        Just("count".to_owned()),
        Just("sum".to_owned()),
        ".{0,5}",
    ];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn walk(items: &[Value], sort: &Value, size: usize, forwards: bool) -> Vec<i64> {
    let (collection, key) = (collection(), key());
    let mut seen: Vec<i64> = Vec::new();
    let mut params = json!({ "sort": sort, "fields": ["id"] });
    params[if forwards { "first" } else { "last" }] = json!(size);
    for _ in 0..=items.len() {
        let plan = parse_query(&collection, QueryKind::List, params.as_object().unwrap(), &key).unwrap().plan;
        let answer = evaluate(&collection, &plan, items, &key).data;
        let ids = answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap());
        if forwards {
            seen.extend(ids);
        } else {
            seen.splice(0..0, ids);
        }
        let info = &answer["pageInfo"];
        let (more, cursor, name) =
            if forwards { ("hasNextPage", "endCursor", "after") } else { ("hasPreviousPage", "startCursor", "before") };
        if info[more] != json!(true) {
            return seen;
        }
        params[name] = info[cursor].clone();
    }
    panic!("the pages do not end");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Pages visit every item exactly once, forwards and backwards, in the same order.
    #[test]
    fn r_col_8_cursors_visit_everything_once(items in any_items(), sort in any_sort(), size in 1_usize..7) {
        let forwards = walk(&items, &sort, size, true);
        let backwards = walk(&items, &sort, size, false);
        prop_assert_eq!(&forwards, &backwards);
        let mut sorted = forwards.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..items.len() as i64).collect::<Vec<_>>());
    }

    /// Paging returns every unchanged item exactly once, while others are inserted and deleted.
    #[test]
    fn r_col_8_cursors_are_stable_under_change(items in any_items(), sort in any_sort(), deleted in prop::collection::btree_set(0_i64..40, 0..10)) {
        let (collection, key) = (collection(), key());
        let mut params = json!({ "sort": sort, "fields": ["id"], "first": 3 });
        let mut present = items.clone();
        let mut seen: Vec<i64> = Vec::new();
        for step in 0..60_i64 {
            let plan = parse_query(&collection, QueryKind::List, params.as_object().unwrap(), &key).unwrap().plan;
            let answer = evaluate(&collection, &plan, &present, &key).data;
            seen.extend(answer["items"].as_array().unwrap().iter().map(|item| item["id"].as_i64().unwrap()));
            if answer["pageInfo"]["hasNextPage"] != json!(true) {
                break;
            }
            params["after"] = answer["pageInfo"]["endCursor"].clone();
            present.retain(|item| !(deleted.contains(&item["id"].as_i64().unwrap()) && item["id"].as_i64().unwrap() % 5 == step % 5));
            present.push(json!({ "id": 1_000 + step, "title": "b", "price": 0 }));
        }
        for item in &items {
            let id = item["id"].as_i64().unwrap();
            let times = seen.iter().filter(|other| **other == id).count();
            prop_assert!(times <= 1);
            prop_assert!(times == 1 || deleted.contains(&id), "{} was lost", id);
        }
    }

    /// Groups add up to the total, and a filter and its negation partition the items.
    #[test]
    fn r_col_6_groups_add_up(items in any_items(), bound in -3.0_f64..3.0) {
        let (collection, key) = (collection(), key());
        let ask = |params: Value| {
            let plan = parse_query(&collection, QueryKind::List, params.as_object().unwrap(), &key).unwrap().plan;
            evaluate(&collection, &plan, &items, &key).data
        };
        let count = |filter: Value| ask(json!({ "filter": filter, "aggregate": { "n": { "count": true } } }))["aggregations"]["n"].as_i64().unwrap();
        let groups = ask(json!({ "aggregate": { "by": { "group_by": ["status", "urgent"], "count": true } } }));
        let total: i64 = groups["aggregations"]["by"].as_object().unwrap().values().flat_map(|inner| inner.as_object().unwrap().values()).map(|n| n.as_i64().unwrap()).sum();
        prop_assert_eq!(total, items.len() as i64);
        let test = json!({ "price": { "gt": bound } });
        prop_assert_eq!(count(test.clone()) + count(json!({ "not": test })), items.len() as i64);
    }

    /// No input makes parsing or evaluation panic.
    #[test]
    fn r_col_3_anything_is_read_or_refused(filter in any_json(), sort in any_json(), fields in any_json(), aggregate in any_json(), items in any_items()) {
        let (collection, key) = (collection(), key());
        for params in [
            json!({ "filter": filter }), json!({ "sort": sort }), json!({ "fields": fields }), json!({ "aggregate": aggregate }),
            json!({ "filter": filter, "sort": sort, "fields": fields, "aggregate": aggregate, "include_items": true }),
        ] {
            if let Ok(parsed) = parse_query(&collection, QueryKind::List, params.as_object().unwrap(), &key) {
                let _ = evaluate(&collection, &parsed.plan, &items, &key);
            }
        }
    }
}
