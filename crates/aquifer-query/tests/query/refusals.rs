//! What is refused, and with which words.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_query::{Family, read};
use serde_json::{Value, json};

use crate::fixture::{collection, key};

fn refusal(params: &Value) -> aquifer_protocol::error::Failure {
    read(&collection(), Family::List, params.as_object().unwrap(), &key())
        .err()
        .unwrap_or_else(|| panic!("accepted: {params}"))
}

#[test]
fn r_col_3_to_r_col_7_mistakes_are_told() {
    for (params, code, words) in [
        (json!({ "filter": { "statsu": "open" } }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'status'?"),
        (json!({ "filter": { "status": "opne" } }), "VALIDATION_INVALID_VALUE", "must be one of: open, closed, late"),
        (json!({ "filter": { "price": "cheap" } }), "VALIDATION_INVALID_TYPE", "a number"),
        (json!({ "filter": { "title": { "contain": "x" } } }), "VALIDATION_INVALID_VALUE", "Did you mean 'contains'?"),
        (json!({ "filter": { "price": {} } }), "VALIDATION_INVALID_VALUE", "has no operator"),
        (json!({ "filter": { "price": { "between": [1] } } }), "VALIDATION_INVALID_TYPE", "a list of two values"),
        (json!({ "filter": { "price": { "contains": "1" } } }), "VALIDATION_INVALID_VALUE", "not text"),
        (json!({ "filter": { "tags": { "gt": 1 } } }), "VALIDATION_INVALID_VALUE", "no order"),
        (json!({ "filter": { "tags": "a" } }), "VALIDATION_INVALID_TYPE", "a list"),
        (json!({ "filter": { "tags": [1] } }), "VALIDATION_INVALID_TYPE", "a list"),
        (json!({ "filter": { "created_at": "soon" } }), "VALIDATION_INVALID_TYPE", "a time such as"),
        (json!({ "filter": [] }), "VALIDATION_INVALID_TYPE", "an object"),
        (json!({ "filter": { "or": {} } }), "VALIDATION_INVALID_TYPE", "a list of conditions"),
        (json!({ "filter": { "_computed.size": 1 } }), "VALIDATION_UNKNOWN_FIELD", "_computed.size"),
        (json!({ "filter": { "title.x": 1 } }), "VALIDATION_UNKNOWN_FIELD", "title.x"),
        (json!({ "sort": { "field": "titel" } }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'title'?"),
        (json!({ "sort": { "field": "title", "order": "up" } }), "VALIDATION_INVALID_VALUE", "'asc' or 'desc'"),
        (json!({ "sort": { "by": "title" } }), "VALIDATION_UNKNOWN_FIELD", "Valid: field, order"),
        (json!({ "sort": "tags" }), "VALIDATION_INVALID_VALUE", "without an order"),
        (json!({ "order": "desc" }), "VALIDATION_INVALID_VALUE", "needs 'sort'"),
        (json!({ "fields": "tiny" }), "VALIDATION_INVALID_VALUE", "Valid: minimal, standard, full"),
        (json!({ "fields": ["titel"] }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'title'?"),
        (json!({ "fields": [] }), "VALIDATION_INVALID_VALUE", "is empty"),
        (json!({ "aggregate": {} }), "VALIDATION_INVALID_VALUE", "1 to 32"),
        (json!({ "aggregate": { "n": { "median": "price" } } }), "VALIDATION_UNKNOWN_FIELD", "Valid: count, group_by"),
        (json!({ "aggregate": { "n": { "sum": "title" } } }), "VALIDATION_INVALID_VALUE", "Valid: id, price"),
        (json!({ "aggregate": { "n": { "sum": "cost" } } }), "VALIDATION_UNKNOWN_FIELD", "Unknown field 'cost'"),
        (json!({ "aggregate": { "n": {} } }), "VALIDATION_INVALID_VALUE", "calculates nothing"),
        (json!({ "first": 1, "last": 1 }), "VALIDATION_INVALID_VALUE", "cannot stand beside 'last'"),
        (json!({ "after": "x" }), "VALIDATION_INVALID_VALUE", "needs 'first'"),
        (json!({ "before": "x" }), "VALIDATION_INVALID_VALUE", "needs 'last'"),
        (json!({ "first": 1, "before": "x" }), "VALIDATION_INVALID_VALUE", "needs 'last'"),
        (json!({ "last": 1, "after": "x" }), "VALIDATION_INVALID_VALUE", "needs 'first'"),
        (json!({ "first": 1, "limit": 1 }), "VALIDATION_INVALID_VALUE", "different styles"),
        (json!({ "offset": 1, "page": 1 }), "VALIDATION_INVALID_VALUE", "different styles"),
        (json!({ "offset": 2_000_000 }), "VALIDATION_INVALID_VALUE", "Page with 'first' and 'after'"),
    ] {
        let failure = refusal(&params);
        assert_eq!(failure.code().as_str(), code, "{params}: {}", failure.message());
        assert!(failure.message().contains(words), "{params}: {}", failure.message());
        assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
    }
}

#[test]
fn r_col_3_every_mistake_is_told_at_once() {
    let failure = refusal(
        &json!({ "filter": { "a": 1, "price": "x" }, "sort": "b", "fields": ["c"], "aggregate": { "n": { "sum": "d" } }, "first": 1, "last": 2 }),
    );
    assert_eq!(failure.details()["errors"].as_array().unwrap().len(), 6, "{:?}", failure.details());
}

#[test]
fn hostile_filters_end() {
    let mut deep = json!({ "id": 1 });
    for _ in 0..60 {
        deep = json!({ "not": deep });
    }
    assert!(refusal(&json!({ "filter": deep })).message().contains("deeper"));
}

#[test]
fn r_col_3_operators_of_other_languages_are_translated() {
    for (operator, meant) in [
        ("$gt", "'gt'"),
        (">", "'gt'"),
        (">=", "'gte'"),
        ("!=", "'ne'"),
        ("like", "'contains'"),
        ("startsWith", "'starts_with'"),
        ("is_not_null", "'is_null: false'"),
        ("exists", "'is_null: false'"),
        ("$nin", "'not_in'"),
    ] {
        let params = json!({ "filter": { "price": { operator: 1 } } });
        let failure = read(&collection(), Family::List, params.as_object().unwrap(), &key()).unwrap_err();
        assert!(failure.message().contains(meant), "{operator}: {}", failure.message());
    }
}
