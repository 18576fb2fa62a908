//! Groups: different values, buckets of time, conditions, order and pages (R-EXT-3).

use serde_json::{Value, json};

use crate::engines::EngineSet;
use crate::shop::{shop, shop_without};
use crate::tables::{StorageFormat, TimeFormat};

/// Aggregates by `by`, and the expected `data` as text: the order of the groups matters.
fn cases() -> Vec<(Value, &'static str)> {
    vec![
        // Different values.
        (json!({ "count_distinct": "status" }), r#"{"aggregations":{"by":3}}"#),
        (json!({ "count_distinct": "title" }), r#"{"aggregations":{"by":9}}"#),
        (json!({ "count_distinct": "amount" }), r#"{"aggregations":{"by":5}}"#),
        (json!({ "count_distinct": "price" }), r#"{"aggregations":{"by":6}}"#),
        (json!({ "count_distinct": "weight" }), r#"{"aggregations":{"by":7}}"#),
        (json!({ "count_distinct": "big" }), r#"{"aggregations":{"by":7}}"#),
        (json!({ "count_distinct": "urgent" }), r#"{"aggregations":{"by":2}}"#),
        (json!({ "count_distinct": "created_at" }), r#"{"aggregations":{"by":7}}"#),
        (json!({ "count_distinct": "due_on" }), r#"{"aggregations":{"by":5}}"#),
        (json!({ "count_distinct": "meta.floor" }), r#"{"aggregations":{"by":4}}"#),
        (json!({ "count_distinct": "_computed.parts_count" }), r#"{"aggregations":{"by":4}}"#),
        (
            json!({ "group_by": "status", "count": true, "count_distinct": "urgent" }),
            r#"{"aggregations":{"by":{"closed":{"count":2,"count_distinct":1},"late":{"count":2,"count_distinct":1},"open":{"count":4,"count_distinct":2},"null":{"count":2,"count_distinct":1}}}}"#,
        ),
        // Buckets of time.
        (
            json!({ "group_by": { "field": "created_at", "by": "year" } }),
            r#"{"aggregations":{"by":{"2025":1,"2026":7,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "year", "time_zone": "Europe/Berlin" } }),
            r#"{"aggregations":{"by":{"2026":8,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "quarter", "time_zone": "America/New_York" } }),
            r#"{"aggregations":{"by":{"2025-Q4":2,"2026-Q1":6,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "month" }, "max": "id" }),
            r#"{"aggregations":{"by":{"2025-12":5,"2026-01":4,"2026-02":8,"2026-03":10,"null":6}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "week" } }),
            r#"{"aggregations":{"by":{"2026-W01":2,"2026-W03":1,"2026-W05":2,"2026-W09":3,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "day", "time_zone": "Asia/Tokyo" } }),
            r#"{"aggregations":{"by":{"2026-01-01":2,"2026-01-15":1,"2026-02-01":2,"2026-02-28":1,"2026-03-01":2,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "created_at", "by": "hour", "time_zone": "Asia/Kolkata" } }),
            r#"{"aggregations":{"by":{"2026-01-01T05":2,"2026-01-15T15":1,"2026-02-01T05":2,"2026-02-28T17":1,"2026-03-01T17":2,"null":2}}}"#,
        ),
        (
            json!({ "group_by": { "field": "due_on", "by": "month" } }),
            r#"{"aggregations":{"by":{"2024-02":1,"2026-01":1,"2026-02":4,"2026-03":1,"null":3}}}"#,
        ),
        (
            json!({ "group_by": [{ "field": "due_on", "by": "year" }, "urgent"] }),
            r#"{"aggregations":{"by":{"2024":{"false":1},"2026":{"false":2,"true":3,"null":1},"null":{"true":1,"null":2}}}}"#,
        ),
        // Order, conditions and pages.
        (
            json!({ "group_by": "status", "count": true, "order": "desc", "first": 2 }),
            r#"{"groups":{"by":{"returned":2,"total":4,"next_offset":2}},"aggregations":{"by":{"open":4,"closed":2}}}"#,
        ),
        (
            json!({ "group_by": "status", "count": true, "order": "desc", "first": 2, "offset": 2 }),
            r#"{"groups":{"by":{"returned":2,"total":4}},"aggregations":{"by":{"late":2,"null":2}}}"#,
        ),
        (
            json!({ "group_by": "grade", "sum": "amount", "order": "asc" }),
            r#"{"aggregations":{"by":{"b":2,"null":3,"a":4,"c":6}}}"#,
        ),
        (
            json!({ "group_by": "grade", "sum": "amount", "order": "desc", "having": { "gt": 2, "lt": 6 } }),
            r#"{"aggregations":{"by":{"a":4,"null":3}}}"#,
        ),
        (json!({ "group_by": "amount", "having": { "gte": 2 } }), r#"{"aggregations":{"by":{"3":4,"null":2}}}"#),
        (
            json!({ "group_by": "urgent", "count": true, "max": "price", "having": { "max": { "between": [3, 10] }, "count": { "ne": 0 } } }),
            r#"{"aggregations":{"by":{"false":{"count":3,"max":10},"null":{"count":3,"max":3}}}}"#,
        ),
        (
            json!({ "group_by": "status", "max": "created_at", "order": "desc", "first": 1 }),
            r#"{"groups":{"by":{"returned":1,"total":4,"next_offset":1}},"aggregations":{"by":{"open":"2026-03-01T12:00:01Z"}}}"#,
        ),
        (json!({ "group_by": "status", "having": { "gt": 100 } }), r#"{"aggregations":{"by":{}}}"#),
    ]
}

#[tokio::test]
async fn r_ext_3_groups_have_conditions_order_and_pages() {
    check(&shop(StorageFormat::default()).await, "", "").await;
}

/// Asks every case about this field, and reports all wrong answers.
async fn check(engines: &EngineSet, format: &str, about: &str) {
    let mut wrong = Vec::new();
    for (aggregate, expected) in cases().into_iter().filter(|(aggregate, _)| aggregate.to_string().contains(about)) {
        for participant in &engines.participants {
            let answer = participant.ask("list_things", &json!({ "aggregate": { "by": aggregate } })).await;
            // The order of groups is part of the answer. Databases write all times of a column with the same digits.
            let data = answer["data"].to_string().replace(".000000Z\"", "Z\"").replace(".000Z\"", "Z\"");
            if data != expected {
                wrong.push(format!(
                    "{format} {} {aggregate}\n  expected {expected}\n  received {answer}",
                    participant.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn r_ext_3_buckets_do_not_depend_on_how_times_are_stored() {
    for times in TimeFormat::ALL {
        let engines = shop_without(StorageFormat { times, binary_json: false }, &["postgres"]).await;
        check(&engines, &format!("{times:?}"), "created_at").await;
    }
}

#[tokio::test]
async fn r_ext_3_refused_groups_say_what_to_write() {
    let engines = shop(StorageFormat::default()).await;
    for (aggregate, expected) in [
        (json!({ "count": true, "first": 3 }), "needs 'group_by'"),
        (json!({ "group_by": "status", "first": 0 }), "a number from 1 to 1000"),
        (json!({ "group_by": "status", "first": 1001 }), "a number from 1 to 1000"),
        (json!({ "group_by": "status", "order": "up" }), "must be 'asc' or 'desc'"),
        (json!({ "group_by": "status", "having": 3 }), "{\"gte\": 10}"),
        (json!({ "group_by": "status", "having": { "count": 3 } }), "{\"gte\": 10}"),
        (json!({ "group_by": "status", "having": { "gte": "many" } }), "a number"),
        (json!({ "group_by": "status", "max": "title", "having": { "gte": 1 } }), "compares numbers"),
        (json!({ "group_by": "status", "count": true, "sum": "amount", "having": { "gte": 1 } }), "which result"),
        (json!({ "group_by": { "field": "title", "by": "month" } }), "needs a time or a date"),
        (json!({ "group_by": { "field": "created_at", "by": "fortnight" } }), "unit of time"),
        (json!({ "group_by": { "field": "due_on", "by": "hour" } }), "holds days"),
        (json!({ "group_by": { "field": "created_at", "by": "day", "time_zone": "Mars/Olympus" } }), "Europe/Berlin"),
        (json!({ "group_by": { "by": "month" } }), "needs 'field'"),
        (json!({ "count_distinct": "data" }), "values with an order"),
        (json!({ "count": "title" }), "count_distinct"),
        (json!({ "count_unique": "title" }), "count_unique"),
    ] {
        let answer = engines.participants[0].ask("list_things", &json!({ "aggregate": { "by": aggregate } })).await;
        let message = answer["error"]["message"].as_str().unwrap_or_default();
        assert!(message.contains(expected), "{aggregate}: {answer}");
    }
}
