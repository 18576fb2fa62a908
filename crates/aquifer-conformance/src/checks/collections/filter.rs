//! Checks of filters.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::{Feature, documents_ranges};
use crate::context::{CheckContext, Collection, Paging, Walk};
use crate::mcp::Reply;
use crate::mcp::rows::{Row, values_equal};
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

/// Compares a value with a bound.
type Comparison = fn(f64, f64) -> bool;

/// Maximum number of rows read from a filtered collection.
const MAX_FILTERED: usize = 300;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "filter.equal",
        "An equality filter returns exactly the matching rows",
        LevelTwoFeatures,
        "filters",
        "no collection that documents 'filter' has rows",
        |context, tally| Box::pin(equal(context, tally)),
    )
    .for_feature(Feature::Filters)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "filter.range",
        "Comparison filters return exactly the matching rows",
        LevelTwoFeatures,
        "filters",
        "no collection with comparisons has numbers",
        |context, tally| Box::pin(range(context, tally)),
    )
    .for_feature(Feature::Ranges)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "filter.unknown",
        "Unknown filter fields are refused or cause a warning",
        LevelTwoFeatures,
        "filters",
        "no collection that documents 'filter' works",
        |context, tally| Box::pin(unknown(context, tally)),
    )
    .for_feature(Feature::Filters)
    .depends_on(&["requests.effect", "requests.accepted"]),
];

/// Collections that document `filter`.
fn filtered(context: &CheckContext<'_>) -> Vec<Arc<Collection>> {
    context.collections.iter().filter(|collection| collection.operation.has_parameter("filter")).cloned().collect()
}

/// The fields to filter by: those in the type of the filter, or else those in the rows. Names that only combine
/// conditions are not fields.
pub(crate) fn fields_to_filter(context: &CheckContext<'_>, collection: &Collection) -> Vec<String> {
    const COMBINE: [&str; 3] = ["and", "or", "not"];
    let named = collection.operation.parameter("filter").map(|filter| filter.named_types()).unwrap_or_default();
    let typed_fields: Vec<&str> = named
        .iter()
        .filter_map(|name| context.description.types.get(*name))
        .flat_map(|own| own.fields.iter().map(|field| field.name.as_str()))
        .filter(|name| !COMBINE.contains(name))
        .collect();
    let fields = collection.plain_fields().into_iter();
    fields.filter(|field| typed_fields.is_empty() || typed_fields.contains(&field.as_str())).take(4).collect()
}

async fn walk_with(context: &mut CheckContext<'_>, collection: &Collection, filter: Value) -> Walk {
    let mut params = collection.params.clone();
    params.insert("filter".into(), filter);
    let paging = Paging::documented_by(&collection.operation).first().copied().unwrap_or(Paging::Whole);
    context.walk(&collection.operation, &params, paging, 100, MAX_FILTERED).await
}

/// Compares the returned rows with the rows that match.
fn compare(collection: &Collection, walk: &Walk, subject: &str, matches: &dyn Fn(&Row) -> bool, tally: &mut Tally) {
    tally.count();
    let seen = walk.first.as_ref();
    if !walk.rows.iter().all(matches) {
        return tally.fail(subject, "some returned rows do not match the filter", seen);
    }
    let expected = collection.rows.iter().filter(|row| matches(row)).count();
    if collection.complete && walk.complete && walk.rows.len() != expected {
        let problem = format!("{} rows were returned, {expected} match", walk.rows.len());
        tally.fail(subject, problem, seen);
    }
}

/// Whether the server refuses to filter by the field, which is allowed.
fn not_filterable(reply: Option<&Reply>) -> bool {
    reply.is_some_and(Reply::is_invalid_request)
}

async fn equal(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in filtered(context) {
        let mut refused: Option<Reply> = None;
        let mut worked = false;
        for field in fields_to_filter(context, &collection) {
            let Some(value) = middle(&collection, &field) else { continue };
            let walk = walk_with(context, &collection, json!({&field: value})).await;
            if not_filterable(walk.first.as_ref()) {
                refused = refused.or(walk.first);
                continue;
            }
            worked = true;
            let subject = format!("{}.filter.{field}", collection.operation.name);
            let matches = |row: &Row| row.get(&field).is_some_and(|own| values_equal(own, &value));
            compare(&collection, &walk, &subject, &matches, tally);
        }
        if let Some(refused) = refused.filter(|_| !worked) {
            tally.count();
            tally.fail(&collection.operation.name, "it cannot be filtered by any of its fields", Some(&refused));
        }
    }
}

/// The value of a row in the middle, because the first row might also be returned without a filter.
fn middle(collection: &Collection, field: &str) -> Option<Value> {
    let values = collection.rows.iter().filter_map(|row| row.get(field)).filter(|value| !value.is_null());
    let values: Vec<&Value> = values.collect();
    values.get(values.len() / 2).map(|value| (*value).clone())
}

async fn range(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in filtered(context).into_iter().filter(|collection| documents_ranges(&collection.operation)) {
        let numeric = |field: &String| {
            collection.rows.iter().all(|row| row.get(field).is_some_and(Value::is_number))
                && collection.distinct(field) > 2
        };
        let Some(field) = collection.plain_fields().into_iter().find(numeric) else { continue };
        let number = |row: &Row| row.get(&field).and_then(Value::as_f64).unwrap_or_default();
        let mut values: Vec<f64> = collection.rows.iter().map(number).collect();
        values.sort_by(f64::total_cmp);
        let Some(bound) = values.get(values.len() / 2).copied() else { continue };
        let exact = collection.rows.iter().find_map(|row| row.get(&field).filter(|_| number(row) == bound)).cloned();
        let bound_value = exact.unwrap_or(json!(bound));
        let cases: [(&str, Comparison); 4] = [
            ("gt", |value, bound| value > bound),
            ("gte", |value, bound| value >= bound),
            ("lt", |value, bound| value < bound),
            ("lte", |value, bound| value <= bound),
        ];
        for (operator, holds) in cases {
            let walk = walk_with(context, &collection, json!({&field: {operator: bound_value}})).await;
            let subject = format!("{}.filter.{field}.{operator}", collection.operation.name);
            if not_filterable(walk.first.as_ref()) {
                tally.note(format!("{subject} is refused"));
                continue;
            }
            compare(&collection, &walk, &subject, &|row| holds(number(row), bound), tally);
        }
    }
}

async fn unknown(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_field_7f3a";
    for collection in filtered(context) {
        let mut params: Map<String, Value> = collection.params.clone();
        params.insert("filter".into(), json!({NAME: "x"}));
        let reply = context.call(&collection.operation, params).await;
        let problem = "a filter by an unknown field was neither refused by name nor reported as a warning";
        tally.expect(reply.reports_unknown(NAME), &collection.operation.name, problem, Some(&reply));
    }
}
