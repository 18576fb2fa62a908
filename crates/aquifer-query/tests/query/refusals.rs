//! Refused queries and their messages.

use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_query::collection::{Cardinality, Collection, Field, FieldType, QueryRoot, Reference, Related};
use aquifer_query::plan::GroupOrder;
use aquifer_query::{QueryKind, parse_query};
use serde_json::{Value, json};

use crate::fixture::{collection, key};

fn refusal(params: &Value) -> aquifer_protocol::error::Failure {
    parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key())
        .err()
        .unwrap_or_else(|| panic!("accepted: {params}"))
}

#[test]
fn r_col_3_to_r_col_7_invalid_queries_are_refused() {
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
        (json!({ "sort": { "by": "title" } }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'field'?"),
        (json!({ "sort": { "field": "title", "direction": "desc" } }), "VALIDATION_UNKNOWN_FIELD", "mean 'order'?"),
        (json!({ "sort": [{ "field": "id", "dir": "desc" }] }), "VALIDATION_UNKNOWN_FIELD", "mean 'order'?"),
        (json!({ "sort": { "field": "title", "desc": true } }), "VALIDATION_UNKNOWN_FIELD", "mean 'order'?"),
        (json!({ "sort": "tags" }), "VALIDATION_INVALID_VALUE", "cannot sort by 'tags': values of type array"),
        (json!({ "sort": "meta" }), "VALIDATION_INVALID_VALUE", "Name a path inside it, such as 'meta.x'"),
        (json!({ "order": "desc" }), "VALIDATION_INVALID_VALUE", "requires 'sort'"),
        (json!({ "fields": "tiny" }), "VALIDATION_INVALID_VALUE", "is not a preset"),
        (json!({ "fields": ["titel"] }), "VALIDATION_UNKNOWN_FIELD", "Did you mean 'title'?"),
        (json!({ "fields": [] }), "VALIDATION_INVALID_VALUE", "is empty"),
        (json!({ "aggregate": {} }), "VALIDATION_INVALID_VALUE", "1 to 32"),
        (json!({ "aggregate": { "n": { "median": "price" } } }), "VALIDATION_UNKNOWN_FIELD", "Unknown field 'median'"),
        (
            json!({ "aggregate": { "n": { "sum": "title" } } }),
            "VALIDATION_INVALID_VALUE",
            "needs a number, and the field is of type string",
        ),
        (json!({ "aggregate": { "n": { "sum": "cost" } } }), "VALIDATION_UNKNOWN_FIELD", "Unknown field 'cost'"),
        (json!({ "aggregate": { "n": {} } }), "VALIDATION_INVALID_VALUE", "calculates nothing"),
        (json!({ "first": 1, "last": 1 }), "VALIDATION_INVALID_TYPE", "'first', 'last' cannot be combined"),
        (json!({ "after": "x" }), "VALIDATION_INVALID_TYPE", "requires 'first'"),
        (json!({ "before": "x" }), "VALIDATION_INVALID_TYPE", "requires 'last'"),
        (json!({ "first": 1, "before": "x" }), "VALIDATION_INVALID_TYPE", "requires 'last'"),
        (json!({ "last": 1, "after": "x" }), "VALIDATION_INVALID_TYPE", "requires 'first'"),
        (json!({ "first": 1, "limit": 1 }), "VALIDATION_INVALID_TYPE", "Parameters 'first', 'limit' belong to"),
        (json!({ "offset": 1, "page": 1 }), "VALIDATION_INVALID_TYPE", "different styles"),
        (json!({ "offset": 2_000_000 }), "VALIDATION_INVALID_VALUE", "Page with 'first' and 'after'"),
    ] {
        let failure = refusal(&params);
        assert_eq!(failure.code().as_str(), code, "{params}: {}", failure.message());
        assert!(failure.message().contains(words), "{params}: {}", failure.message());
        assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
    }
}

#[test]
fn r_col_3_every_problem_is_reported_at_once() {
    let failure = refusal(
        &json!({ "filter": { "a": 1, "price": "x" }, "sort": "b", "fields": ["c"], "aggregate": { "n": { "sum": "d" } }, "include_items": true, "first": 1, "last": 2 }),
    );
    assert_eq!(failure.details()["errors"].as_array().unwrap().len(), 6, "{:?}", failure.details());
}

#[test]
fn hostile_filters_are_bounded() {
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
        let failure = refusal(&json!({ "filter": { "title": { operator: "x" } } }));
        assert!(failure.message().contains(meant), "{operator}: {}", failure.message());
    }
}

#[test]
fn r_col_3_no_operator_is_suggested_or_listed_that_the_field_refuses() {
    let samples = [
        ("id", json!(1)),
        ("title", json!("x")),
        ("status", json!("open")),
        ("price", json!(1)),
        ("urgent", json!(true)),
        ("created_at", json!("2026-01-01T00:00:00Z")),
        ("meta", json!("x")),
        ("tags", json!(["a"])),
        ("_computed.age_days", json!(1)),
    ];
    let takes = |field: &str, operator: &str, value: &Value| {
        let operand = match operator {
            "in" | "not_in" => json!([value]),
            "between" => json!([value, value]),
            "is_null" => json!(true),
            "contains" | "starts_with" | "ends_with" => json!("x"),
            _ => value.clone(),
        };
        let params = json!({ "filter": { field: { operator: operand } } });
        parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).is_ok()
    };
    for (field, value) in samples {
        for wrong in ["like", "ilike", "regex", "prefix", "gtt", "range", "$gt", "containz", "has"] {
            let failure = refusal(&json!({ "filter": { field: { wrong: value.clone() } } }));
            let Some(valid) = failure.details().get("valid").and_then(Value::as_array) else {
                assert_eq!(field, "meta", "only of nested values an object may be a value");
                continue;
            };
            let valid: Vec<&str> = valid.iter().map(|name| name.as_str().unwrap()).collect();
            assert!(valid.len() > 3, "{field}: {valid:?}");
            for operator in &valid {
                assert!(takes(field, operator, &value), "{field} does not take {operator}");
            }
            if let Some((_, meant)) = failure.message().split_once("Did you mean '") {
                let meant = meant.trim_end_matches("'?");
                assert!(valid.contains(&meant), "{field} {wrong}: {}", failure.message());
            }
        }
    }
}

#[test]
fn r_col_9_valid_names_include_usable_computed_fields() {
    for (params, has, lacks) in [
        (json!({ "fields": ["x"] }), &["id", "_computed.age_days", "_computed.size"][..], &[][..]),
        (json!({ "filter": { "x": 1 } }), &["id", "tags", "_computed.age_days"], &["_computed.size"]),
        (json!({ "sort": "x" }), &["id", "meta.*", "_computed.age_days"], &["_computed.size", "tags", "meta"]),
        (json!({ "sort": "tags" }), &["id", "_computed.age_days"], &["tags"]),
        (json!({ "aggregate": { "n": { "sum": "x" } } }), &["price", "_computed.age_days"], &["_computed.size"]),
        (json!({ "aggregate": { "n": { "sum": "title" } } }), &["price", "_computed.age_days"], &["title"]),
        (json!({ "aggregate": { "n": { "max": "tags" } } }), &["title", "_computed.age_days"], &["tags", "meta"]),
    ] {
        let failure = refusal(&params);
        let details = failure.details();
        let valid = details.get("valid_fields").or(details.get("valid")).unwrap().as_array().unwrap();
        for name in has {
            assert!(valid.contains(&json!(name)), "{params}: {valid:?} lacks {name}");
        }
        for name in lacks {
            assert!(!valid.contains(&json!(name)), "{params}: {valid:?} has {name}");
        }
        assert!(!failure.message().contains("Valid:"), "told once: {}", failure.message());
    }
    // Without the prefix a computed field is unknown, but the message suggests it.
    for params in [json!({ "filter": { "age_days": 1 } }), json!({ "sort": "age_days" }), json!({ "fields": ["size"] })]
    {
        let failure = refusal(&params);
        assert!(failure.message().contains("Did you mean '_computed."), "{params}: {}", failure.message());
    }
}

#[test]
fn r_col_7_parameters_of_two_styles_are_named_one_by_one() {
    for (params, names) in [
        (json!({ "first": 1, "limit": 1 }), &["first", "limit"][..]),
        (json!({ "first": 1, "after": "x", "offset": 1, "page": 1 }), &["first", "after", "offset", "page"]),
    ] {
        let failure = refusal(&params);
        assert_eq!(failure.details()["param_name"], names[0]);
        assert_eq!(failure.code().as_str(), "VALIDATION_INVALID_TYPE");
        assert_eq!(failure.details()["provided"], json!(names));
        assert_eq!(failure.details()["actual_type"], "conflicting parameters");
        for name in names {
            assert!(failure.message().contains(&format!("'{name}'")), "{}", failure.message());
        }
    }
}

#[test]
fn r_col_11_parameters_that_cannot_continue_an_aggregate_are_refused() {
    let sums = json!({ "n": { "count": true } });
    for (name, value) in [("last", json!(1)), ("page", json!(1)), ("page_size", json!(1)), ("edges", json!(true))] {
        let failure = refusal(&json!({ "aggregate": sums, name: value }));
        assert_eq!(failure.code().as_str(), "VALIDATION_INVALID_VALUE");
        assert_eq!(failure.details()["param_name"], name);
        assert!(failure.message().contains("set 'include_items' to true"), "{}", failure.message());
        assert!(!looks_like_a_leak(failure.message()), "{}", failure.message());
        let with_items = json!({ "aggregate": sums, name: value, "include_items": true });
        assert!(
            parse_query(&collection(), QueryKind::List, with_items.as_object().unwrap(), &key()).is_ok(),
            "{with_items}"
        );
    }
    for params in [
        json!({ "aggregate": sums }),
        json!({ "aggregate": sums, "filter": { "id": 1 } }),
        json!({ "aggregate": sums, "include_items": false, "edges": false, "total": false }),
        json!({ "aggregate": sums, "first": 0 }),
        json!({ "aggregate": sums, "last": 0 }),
        json!({ "aggregate": sums, "limit": 0 }),
    ] {
        let parsed = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap();
        assert!(parsed.warnings.is_empty(), "{params}");
    }
}

/// Visits, which refer to a home site, which is referred to by staff members.
struct Clinic([Collection; 3]);

impl Related for Clinic {
    fn collection(&self, index: usize) -> Option<&Collection> {
        self.0.get(index)
    }
}

fn clinic() -> Clinic {
    let field = |(name, field_type): &(&str, FieldType)| Field {
        name: (*name).into(),
        field_type: field_type.clone(),
        nullable: true,
        description: None,
    };
    let reference = |(name, to, cardinality): &(&str, usize, Cardinality)| Reference {
        name: (*name).into(),
        aliases: vec![],
        to: *to,
        cardinality: *cardinality,
    };
    let collection = |fields: &[(&str, FieldType)], references: &[(&str, usize, Cardinality)]| Collection {
        fields: fields.iter().map(field).collect(),
        references: references.iter().map(reference).collect(),
        key: vec!["id".into()],
        ..Collection::default()
    };
    let (to_one, to_many) = (Cardinality::One, Cardinality::Many);
    let (number, time) = (FieldType::Integer, FieldType::Time);
    Clinic([
        collection(
            &[("id", number.clone()), ("starts_at", time.clone()), ("price_cents", number.clone())],
            &[("home_site", 1, to_one)],
        ),
        collection(
            &[("id", number.clone()), ("opened_at", time), ("open_beds", number.clone())],
            &[("staff_members", 2, to_many), ("all_visits", 0, to_many)],
        ),
        collection(&[("id", number.clone()), ("room_number", number)], &[("home_site", 1, to_one)]),
    ])
}

#[test]
fn r_ext_3_names_in_camel_case_are_suggested_in_snake_case() {
    let clinic = clinic();
    let visits = QueryRoot::new(&clinic.0[0], &clinic);
    let sites = QueryRoot::new(&clinic.0[1], &clinic);
    for (root, params, meant) in [
        (visits, json!({ "filter": { "startsAt": null } }), "starts_at"),
        (visits, json!({ "filter": { "home_site.openBeds": 1 } }), "home_site.open_beds"),
        (visits, json!({ "filter": { "homeSite.openBeds": 1 } }), "home_site.open_beds"),
        (visits, json!({ "filter": { "homeSite.staffMembers": { "some": {} } } }), "home_site.staff_members"),
        (visits, json!({ "filter": { "id": { "gt": { "field": "homeSite.openBeds" } } } }), "home_site.open_beds"),
        (visits, json!({ "sort": "-homeSite.openedAt" }), "home_site.opened_at"),
        (visits, json!({ "sort": { "field": "homeSite.openedAt" } }), "home_site.opened_at"),
        (visits, json!({ "fields": ["homeSite.openedAt"] }), "home_site.opened_at"),
        (visits, json!({ "fields": [{ "homeSite.staffMembers": {} }] }), "home_site.staff_members"),
        (visits, json!({ "aggregate": { "n": { "sum": "homeSite.openBeds" } } }), "home_site.open_beds"),
        (visits, json!({ "aggregate": { "n": { "count": true, "group_by": "homeSite.id" } } }), "home_site.id"),
        (sites, json!({ "fields": [{ "staffMembers": {} }] }), "staff_members"),
        (sites, json!({ "fields": [{ "staff_members": { "fields": ["roomNumber"] } }] }), "room_number"),
        (sites, json!({ "fields": [{ "all_visits": { "sort": "homeSite.openedAt" } }] }), "home_site.opened_at"),
        (sites, json!({ "filter": { "staffMembers": { "some": { "id": 1 } } } }), "staff_members"),
        (sites, json!({ "filter": { "staff_members": { "some": { "roomNumber": 1 } } } }), "room_number"),
    ] {
        let failure = parse_query(root, QueryKind::List, params.as_object().unwrap(), &key()).err();
        let failure = failure.unwrap_or_else(|| panic!("accepted: {params}"));
        let hint = format!("Did you mean '{meant}'?");
        assert!(failure.message().contains(&hint), "{params}: {}", failure.message());
    }
    // A path cannot lead through many items, but the suggestion is spelled correctly.
    let failure = parse_query(
        sites,
        QueryKind::List,
        json!({ "fields": ["staffMembers.roomNumber"] }).as_object().unwrap(),
        &key(),
    );
    let message = failure.err().unwrap().message().to_owned();
    assert!(message.contains(r#"{"staff_members": {"fields": ["room_number"]}}"#), "{message}");
    // A name that resembles no other gets no suggestion.
    let failure =
        parse_query(visits, QueryKind::List, json!({ "fields": ["homeSite.colour"] }).as_object().unwrap(), &key());
    assert!(!failure.err().unwrap().message().contains("Did you mean"));
}

#[test]
fn r_col_11_parameters_of_items_without_effect_on_aggregates_are_reported() {
    let sums = json!({ "n": { "count": true } });
    for (name, value) in [
        ("first", json!(1)),
        ("limit", json!(1)),
        ("offset", json!(1)),
        ("sort", json!("id")),
        ("sort", json!([{ "field": "price", "order": "desc" }])),
        ("order", json!("desc")),
        ("fields", json!(["id"])),
        ("preset", json!("minimal")),
        ("total", json!(true)),
    ] {
        let params = json!({ "aggregate": sums, name: value });
        let parsed = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap();
        assert_eq!(parsed.warnings.len(), 1, "{params}");
        let warning = json!(parsed.warnings[0]);
        assert_eq!(warning["code"], "PARAMETER_NOT_APPLIED", "{params}");
        assert_eq!(warning["details"]["param_names"], json!([name]), "{params}");
    }
}

#[test]
fn r_col_6_parameters_beside_an_aggregate_apply_to_its_groups() {
    let by = json!({ "group_by": "status", "count": true, "sum": "price" });
    let parse = |params: &Value| {
        let parsed = parse_query(&collection(), QueryKind::List, params.as_object().unwrap(), &key()).unwrap();
        assert!(parsed.warnings.is_empty(), "{params}");
        parsed.plan.aggregates[0].clone()
    };
    let down = GroupOrder::ByValue { descending: true };
    for (sort, order) in [
        (json!("-count"), down),
        (json!("-by"), down),
        (json!("by.count"), GroupOrder::ByValue { descending: false }),
        (json!([{ "field": "count", "order": "desc" }]), down),
        (json!("status"), GroupOrder::ByGroup),
        (json!("-status"), GroupOrder::ByGroupDescending),
    ] {
        assert_eq!(parse(&json!({ "aggregate": { "by": by }, "sort": sort })).order, order, "{sort}");
    }
    assert_eq!(parse(&json!({ "aggregate": { "by": by }, "order": "desc" })).order, down);
    let page = parse(&json!({ "aggregate": { "by": by }, "first": 2, "offset": 1 })).page;
    assert_eq!((page.first, page.offset), (Some(2), 1));
    let best = parse(&json!({ "aggregate": { "by": by }, "first": 2, "sort": "-count" }));
    assert_eq!(best.page.first, Some(2));
    // A caller who wants a single item, or none, does not expect groups to be missing.
    let alone = json!({ "aggregate": { "by": by }, "first": 1 });
    let alone = parse_query(&collection(), QueryKind::List, alone.as_object().unwrap(), &key()).unwrap();
    assert_eq!(alone.plan.aggregates[0].page.first, None);
    assert_eq!(alone.warnings[0].code(), "PARAMETER_NOT_APPLIED");
    let own = json!({ "group_by": "status", "first": 3, "offset": 4, "order": "asc" });
    let kept = parse(&json!({ "aggregate": { "by": own }, "limit": 2, "offset": 1, "order": "desc" }));
    assert_eq!((kept.page.first, kept.page.offset), (Some(3), 4));
    let failure = refusal(&json!({ "aggregate": { "by": by }, "sort": "-sum" }));
    assert!(failure.message().contains("Put it first in 'aggregate.by'"), "{}", failure.message());
}

/// Everything that is refused for its value says what is valid instead.
#[test]
fn r_req_4_values_are_refused_with_the_valid_ones() {
    for (params, valid) in [
        (json!({ "filter": { "status": "opne" } }), json!(["open", "closed", "late"])),
        (json!({ "filter": { "status": ["open", "opne"] } }), json!(["open", "closed", "late"])),
        (json!({ "sort": { "field": "title", "order": "up" } }), json!(["asc", "desc"])),
        (json!({ "sort": { "field": "title", "nulls": "up" } }), json!(["first", "last"])),
        (json!({ "fields": "tiny" }), json!(["minimal", "standard", "full"])),
        (json!({ "shape": "tree" }), json!(["items", "table"])),
        (json!({ "aggregate": { "n": {} } }), json!(["count", "count_distinct", "sum", "avg", "min", "max"])),
        (
            json!({ "aggregate": { "n": { "group_by": { "field": "created_at", "by": "era" } } } }),
            json!(["year", "quarter", "month", "week", "day", "hour"]),
        ),
    ] {
        let failure = refusal(&params);
        assert_eq!(failure.details()["valid"], valid, "{params}: {}", failure.message());
    }
    let unsorted = refusal(&json!({ "sort": { "order": "asc" } }));
    assert!(unsorted.details()["valid"].as_array().unwrap().contains(&json!("title")), "{:?}", unsorted.details());
    let wrong = refusal(&json!({ "filter": { "price": "cheap" } }));
    assert_eq!(wrong.details()["expected_type"], "a number");
}
