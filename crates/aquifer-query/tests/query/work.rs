//! What a call over a result may cost (R-REQ-7).

use aquifer_protocol::error::Failure;
use aquifer_query::shape::{self, PageStart, RowSelection, ShapingRequest};
use aquifer_query::{Work, WorkLimits};
use serde_json::{Value, json};

use crate::shape::{PAGES, controls};

const LIMITS: WorkLimits = WorkLimits { max_steps: 20_000, max_bytes: 4 * 1_024 * 1_024 };

fn rows(count: usize) -> Vec<Value> {
    let row = |id: usize| {
        let at = format!("2026-01-{:02}T{:02}:00:00Z", id % 28 + 1, id % 24);
        json!({ "id": id, "name": format!("row {}", id * 7_919 % count), "created_at": at, "size": id % 97, "tags": ["a", "b"] })
    };
    (0..count).map(row).collect()
}

fn shaped(rows: &[Value], params: &Value, limits: WorkLimits, must_stop: &dyn Fn() -> bool) -> Result<(), Failure> {
    let request = ShapingRequest::new(controls(params.clone()), |_| true)?;
    RowSelection::within(rows, &request, PageStart::Start, PAGES, 0, &Work::new(limits, must_stop)).map(|_| ())
}

/// Calls of a few kilobytes that multiply the size of the result.
fn attacks() -> Vec<(&'static str, Value)> {
    let aggregates = |one: Value| -> Value { (0..32).map(|number| (format!("a{number}"), one.clone())).collect() };
    let conditions: Vec<Value> =
        (0..400).map(|number| json!({ "name": { "contains": format!("x{number}") } })).collect();
    let names: Vec<String> = (0..1_000).map(|number| format!("tags.x{number}")).collect();
    vec![
        ("groups", aggregates(json!({ "group_by": ["name", "created_at", "id", "size"], "count": true }))),
        ("ordered groups", aggregates(json!({ "group_by": "name", "sum": "size", "order": "desc" }))),
        ("buckets", aggregates(json!({ "group_by": { "field": "created_at", "by": "day" }, "max": "name" }))),
        (
            "functions",
            aggregates(
                json!({ "count": true, "count_distinct": "name", "min": "name", "max": "created_at", "avg": "size" }),
            ),
        ),
        ("calculations", aggregates(json!({ "sum": "size * size + size * size + size * size + size * size" }))),
        ("conditions", json!({ "or": conditions })),
        ("values", json!({ "id": (0..2_000).map(|number| number + 1_000_000).collect::<Vec<u64>>() })),
        ("fields", json!(names)),
        ("order", json!(["name", "created_at", "size", "id"])),
    ]
}

fn params(kind: &str, value: &Value) -> Value {
    match kind {
        "conditions" | "values" => json!({ "filter": value }),
        "fields" => json!({ "fields": value }),
        "order" => json!({ "sort": value }),
        _ => json!({ "aggregate": value }),
    }
}

#[test]
fn r_req_7_all_work_of_a_call_is_paid_from_one_budget() {
    let many = rows(2_000);
    for (kind, value) in attacks() {
        let params = params(kind, &value);
        let refused = shaped(&many, &params, LIMITS, &|| false).expect_err(kind);
        assert_eq!(refused.code().as_str(), "VALIDATION_PAYLOAD_TOO_LARGE", "{kind}");
        assert!(refused.message().contains("Use fewer aggregates"), "{kind}: {}", refused.message());
        // Nobody waits for the answer any more.
        assert!(shaped(&many, &params, WorkLimits::DEFAULT, &|| true).is_err(), "{kind}");
        // The same is done for a result of ordinary size.
        assert!(shaped(&many[..50], &params, WorkLimits::DEFAULT, &|| false).is_ok(), "{kind}");
    }
    let object = json!({ "tags": many, "id": 1 });
    let names: Vec<String> = (0..1_000).map(|number| format!("tags.x{number}")).collect();
    let request = ShapingRequest::new(controls(json!({ "fields": names })), |_| true).unwrap();
    assert!(shape::shape_object(object, &request, &Work::new(LIMITS, &|| false)).is_err());
}

#[test]
fn r_req_7_groups_take_no_copies_of_what_they_are_grouped_by() {
    let long = "x".repeat(100_000);
    let rows: Vec<Value> = (0..100).map(|id| json!({ "id": id, "text": format!("{long}{}", id % 2) })).collect();
    let by_text = json!({ "aggregate": { "n": { "group_by": "text", "count": true } } });
    let limits = WorkLimits { max_steps: 1_000_000, ..LIMITS };
    assert!(shaped(&rows, &by_text, limits, &|| false).is_ok(), "two groups are two texts");
    let greatest: Value =
        (0..32).map(|number| (format!("a{number}"), json!({ "group_by": "id", "max": "text" }))).collect();
    let refused = shaped(&rows, &json!({ "aggregate": greatest }), limits, &|| false).unwrap_err();
    assert!(refused.message().contains("too much memory"), "{}", refused.message());
}

#[test]
fn r_req_7_a_large_result_can_be_sorted_and_grouped() {
    let many = rows(8_000);
    let params = json!({
        "filter": { "size": { "gt": 3 } },
        "sort": ["-created_at", "name"],
        "aggregate": {
            "days": { "group_by": { "field": "created_at", "by": "day" }, "count": true, "sum": "size" },
            "names": { "count_distinct": "name" },
        },
        "include_items": true,
        "first": 10,
    });
    shaped(&many, &params, WorkLimits::DEFAULT, &|| false).unwrap();
}
