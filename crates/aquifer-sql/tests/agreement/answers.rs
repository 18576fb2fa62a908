//! Runs the tables of cases on all engines.

use serde_json::{Value, json};

use crate::cases;
use crate::engines::{EngineSet, Extras};
use crate::shop::{shop, shop_without, tables};
use crate::tables::{StorageFormat, TimeFormat};

/// A single page with nothing before or after it.
fn page(ids: &[i64], total: bool) -> Value {
    let items: Value = ids.iter().map(|id| json!({ "id": id })).collect();
    let mut page = json!({ "items": items, "pageInfo": { "hasNextPage": false, "hasPreviousPage": false } });
    if total {
        page["pageInfo"]["totalCount"] = ids.len().into();
    }
    page
}

async fn filters(engines: &EngineSet, about: impl Fn(&Value) -> bool) {
    let ask = |(filter, ids): (Value, Vec<i64>)| {
        ("list_things", json!({ "filter": filter, "fields": ["id"], "total": true }), page(&ids, true))
    };
    engines.check(cases::filters().into_iter().filter(|(case, _)| about(case)).map(ask)).await;
}

async fn sorts(engines: &EngineSet, about: impl Fn(&Value) -> bool) {
    let ask =
        |(sort, ids): (Value, Vec<i64>)| ("list_things", json!({ "sort": sort, "fields": ["id"] }), page(&ids, false));
    engines.check(cases::sorts().into_iter().filter(|(case, _)| about(case)).map(ask)).await;
}

async fn sums(engines: &EngineSet, about: impl Fn(&Value) -> bool) {
    let ask = |(aggregate, expected): (Value, Value)| {
        ("list_things", json!({ "aggregate": aggregate }), json!({ "aggregations": expected }))
    };
    engines.check(cases::sums().into_iter().filter(|(case, _)| about(case)).map(ask)).await;
}

#[tokio::test]
async fn r_col_3_every_operator_on_every_type() {
    filters(&shop(StorageFormat::default()).await, |_| true).await;
}

#[tokio::test]
async fn r_col_4_every_order() {
    sorts(&shop(StorageFormat::default()).await, |_| true).await;
}

#[tokio::test]
async fn r_col_6_every_sum() {
    sums(&shop(StorageFormat::default()).await, |_| true).await;
}

#[tokio::test]
async fn r_col_3_to_r_col_8_refusals_have_the_same_code() {
    let engines = shop(StorageFormat::default()).await;
    let refusals = cases::refusals().into_iter();
    engines.check(refusals.map(|(operation, params, code)| (operation, params, json!({ "error": code })))).await;
}

#[tokio::test]
async fn r_col_1_r_col_5_r_col_7_r_col_9_fields_and_pages() {
    shop(StorageFormat::default()).await.check(cases::pages()).await;
}

/// `pageInfo` has the cursors of the first and the last item of any page with items, and only then.
#[tokio::test]
async fn r_col_7_every_page_with_items_has_its_cursors() {
    let engines = shop(StorageFormat::default()).await;
    for participant in &engines.participants {
        for (params, has_items) in [
            (json!({}), true),
            (json!({ "first": 100, "sort": "-price" }), true),
            (json!({ "last": 100 }), true),
            (json!({ "filter": { "id": 3 } }), true),
            (json!({ "filter": { "id": 0 } }), false),
            (json!({ "first": 0 }), false),
        ] {
            let answer = participant.ask("list_things", &params).await;
            let info = &answer["data"]["pageInfo"];
            for name in ["startCursor", "endCursor"] {
                assert_eq!(info[name].is_string(), has_items, "{} {params}: {info}", participant.name);
            }
            if has_items {
                let mut after = params.clone();
                after.as_object_mut().unwrap().remove("last");
                (after["first"], after["after"]) = (json!(5), info["endCursor"].clone());
                let next = participant.ask("list_things", &after).await;
                assert_eq!(next["data"]["items"], json!([]), "{} {after}", participant.name);
            }
        }
    }
}

#[tokio::test]
async fn r_col_7_r_col_11_a_page_size_too_large_is_clamped_with_a_warning() {
    let engines = shop(StorageFormat::default()).await;
    for style in ["first", "last", "limit", "page_size"] {
        let answer = engines.ask("list_things", &json!({ style: 5000, "fields": ["id"] })).await;
        assert_eq!(answer["warnings"], json!(["VALIDATION_PAGE_SIZE_CLAMPED"]), "{style}");
        assert_eq!(answer["data"]["items"].as_array().unwrap().len(), 10, "{style}");
    }
}

#[tokio::test]
async fn r_col_3_to_r_col_7_an_empty_table_gives_empty_answers() {
    let extras = Extras { types: "CREATE TYPE grade AS ENUM ('a', 'b', 'c')", ..Extras::default() };
    EngineSet::new(tables(), &[], extras).await.check(cases::of_nothing()).await;
}

#[tokio::test]
async fn r_col_2_words_and_phrases_without_an_index() {
    let ask = |(query, ids): (&str, Vec<i64>)| {
        ("search_things", json!({ "query": query, "fields": ["id"] }), page(&ids, false))
    };
    shop(StorageFormat::default()).await.check(cases::searches().into_iter().map(ask)).await;
}

#[tokio::test]
async fn r_col_5_a_version_is_stable_until_the_row_changes() {
    let engines = shop(StorageFormat::default()).await;
    for participant in engines.participants.iter().filter(|participant| participant.name != "memory") {
        let version = async || participant.ask("get_thing", &json!({ "id": 1 })).await["data"]["_etag"].clone();
        let before = version().await;
        assert!(before.as_str().is_some_and(|text| !text.is_empty()), "{}: {before}", participant.name);
        assert_eq!(version().await, before, "{}", participant.name);
        let listed = participant.ask("list_things", &json!({ "fields": ["id", "_etag"], "first": 2 })).await;
        let items = listed["data"]["items"].as_array().unwrap();
        assert_eq!(items[0]["_etag"], before, "{}", participant.name);
        assert_ne!(items[1]["_etag"], before, "{}", participant.name);
        let unasked = participant.ask("get_thing", &json!({ "id": 1, "fields": ["title"] })).await;
        assert_eq!(unasked["data"], json!({ "title": "Broken door" }), "{}", participant.name);
        participant.run("UPDATE things SET memo = NULL WHERE id = 1").await;
        assert_ne!(version().await, before, "{}", participant.name);
    }
}

/// The maximum number of conditions and list elements.
#[tokio::test]
async fn r_col_3_large_filters() {
    let engines = shop(StorageFormat::default()).await;
    let many: Vec<Value> = (0..500).map(|id| json!({ "id": id })).collect();
    let numbers: Vec<i64> = (5..10_000).collect();
    let texts: Vec<String> = (0..9_999).map(|n| format!("title {n}")).chain(["null".to_owned()]).collect();
    let halves: Vec<f64> = (0..5_000).map(|n| f64::from(n) / 2.0).collect();
    let nested = (0..15).fold(json!({ "id": 3 }), |inner, _| json!({ "not": inner }));
    let cases = [
        (json!({ "or": many }), vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        (json!({ "id": numbers }), vec![5, 6, 7, 8, 9, 10]),
        (json!({ "big": { "not_in": numbers }, "id": numbers }), vec![5, 6, 7, 8]),
        (json!({ "title": texts }), vec![9]),
        (json!({ "weight": halves }), vec![1, 4, 5, 9, 10]),
        (json!({ "meta.room": texts }), vec![9]),
        (json!({ "meta.floor": halves }), vec![1, 2, 5, 9]),
        (nested, vec![1, 2, 4, 5, 6, 7, 8, 9, 10]),
    ];
    let ask = |(filter, ids): (Value, Vec<i64>)| {
        ("list_things", json!({ "filter": filter, "fields": ["id"] }), page(&ids, false))
    };
    engines.check(cases.into_iter().map(ask)).await;
}

/// The storage format of times and JSON in a SQLite column does not change their meaning.
#[tokio::test]
async fn r_col_3_r_col_4_r_col_6_times_and_json_in_every_form() {
    let about =
        |case: &Value| ["created", "meta", "memo", "age_days"].iter().any(|name| case.to_string().contains(name));
    for times in TimeFormat::ALL {
        let engines = shop_without(StorageFormat { times, binary_json: true }, &["postgres"]).await;
        filters(&engines, about).await;
        sorts(&engines, about).await;
        sums(&engines, about).await;
    }
}

/// Fractions of a second, if the column can store them.
#[tokio::test]
async fn r_col_3_r_col_4_fractions_of_a_second() {
    for times in [TimeFormat::BlankMillis, TimeFormat::ZuluMillis, TimeFormat::Milliseconds, TimeFormat::Mixed] {
        let moments = ["10:00:00.25", "10:00:00.5", "10:00:00", "09:59:59.999", "10:00:00.25"];
        let rows: Vec<Value> = moments
            .iter()
            .enumerate()
            .map(|(index, time)| json!({ "id": index + 1, "created_at": format!("2026-02-28T{time}Z") }))
            .collect();
        let extras = Extras {
            format: StorageFormat { times, ..StorageFormat::default() },
            types: "CREATE TYPE grade AS ENUM ('a', 'b', 'c')",
            ..Extras::default()
        };
        let engines = EngineSet::new(tables(), &[("things", rows)], extras).await;
        let filters = [
            (json!({ "created_at": "2026-02-28T10:00:00.25Z" }), vec![1, 5]),
            (json!({ "created_at": "2026-02-28T10:00:00.250Z" }), vec![1, 5]),
            (json!({ "created_at": "2026-02-28T10:00:00.2500001Z" }), vec![]),
            (json!({ "created_at": { "gt": "2026-02-28T10:00:00Z" } }), vec![1, 2, 5]),
            (json!({ "created_at": { "gte": "2026-02-28T10:00:00.2500001Z" } }), vec![2]),
            (json!({ "created_at": { "lt": "2026-02-28T10:00:00.2500001Z" } }), vec![1, 3, 4, 5]),
            (json!({ "created_at": { "lt": "2026-02-28T10:00:00.25Z" } }), vec![3, 4]),
            (json!({ "created_at": ["2026-02-28T09:59:59.999Z", "2026-02-28T09:59:59.9999Z"] }), vec![4]),
        ];
        let ask = |(filter, ids): (Value, Vec<i64>)| {
            ("list_things", json!({ "filter": filter, "fields": ["id"] }), page(&ids, false))
        };
        engines.check(filters.into_iter().map(ask)).await;
        let sorted = ("list_things", json!({ "sort": "created_at", "fields": ["id"] }), page(&[4, 3, 1, 5, 2], false));
        let shown = json!({ "id": 4, "created_at": "2026-02-28T09:59:59.999Z" });
        let one = ("get_thing", json!({ "id": 4, "fields": ["id", "created_at"] }), shown);
        engines.check([sorted, one]).await;
    }
}
