//! Checks of aggregates, compared with the rows.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::{CheckContext, Collection};
use crate::mcp::Reply;
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "aggregate.count",
        "Counts match the number of rows",
        LevelTwoFeatures,
        "counts",
        "no collection with aggregates could be read completely",
        |context, tally| Box::pin(count(context, tally)),
    )
    .for_feature(Feature::Aggregates)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "aggregate.groups",
        "Group counts match the rows of each value",
        LevelTwoFeatures,
        "groupings",
        "no collection with aggregates has a field to group by",
        |context, tally| Box::pin(groups(context, tally)),
    )
    .for_feature(Feature::Aggregates)
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "aggregate.numbers",
        "Sum, average, minimum and maximum match the rows",
        LevelTwoFeatures,
        "numbers",
        "no collection with aggregates has a field of numbers",
        |context, tally| Box::pin(numbers(context, tally)),
    )
    .for_feature(Feature::Aggregates)
    .depends_on(&["requests.effect", "requests.accepted"]),
];

fn aggregated(context: &CheckContext<'_>) -> Vec<Arc<Collection>> {
    let with =
        |own: &&Arc<Collection>| own.complete && own.operation.has_parameter("aggregate") && !own.rows.is_empty();
    context.collections.iter().filter(with).cloned().collect()
}

async fn request_aggregate(context: &mut CheckContext<'_>, collection: &Collection, expression: Value) -> Reply {
    let mut params = collection.params.clone();
    params.insert("aggregate".into(), json!({"asked": expression}));
    context.call(&collection.operation, params).await
}

fn aggregate_result(reply: &Reply) -> Option<&Value> {
    reply.data().pointer("/aggregations/asked")
}

/// A number, plain or wrapped: `7` or `{"count": 7}`.
fn number(value: &Value, function: &str) -> Option<f64> {
    value.as_f64().or_else(|| value.get(function)?.as_f64())
}

async fn count(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in aggregated(context) {
        let reply = request_aggregate(context, &collection, json!({"count": true})).await;
        let counted = aggregate_result(&reply).and_then(|value| number(value, "count"));
        let right = counted == Some(collection.rows.len() as f64);
        let problem = format!("the count is {counted:?} for {} rows", collection.rows.len());
        tally.expect(right, &collection.operation.name, &problem, Some(&reply));
    }
}

fn declared(collection: &Collection, key: &str) -> Vec<String> {
    let support = collection.operation.raw.get("aggregation_support").and_then(|support| support.get(key)?.as_array());
    support.into_iter().flatten().filter_map(|field| field.as_str().map(str::to_owned)).collect()
}

/// Whether a value has an unambiguous group name.
fn can_be_named(value: &Value) -> bool {
    value.is_string() || value.is_boolean() || value.is_i64()
}

/// The group name of a value.
fn group_name(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn groups(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in aggregated(context) {
        let groupable = declared(&collection, "groupable_fields");
        let fits = |field: &&String| {
            let few = collection.distinct(field) < 50;
            few && (groupable.is_empty() || groupable.contains(field))
                && collection.rows.iter().all(|row| row.get(*field).is_some_and(can_be_named))
        };
        let fields = collection.plain_fields();
        let Some(field) = fields.iter().find(fits) else { continue };
        let reply = request_aggregate(context, &collection, json!({"group_by": field, "count": true})).await;
        tally.count();
        let subject = format!("{}.{field}", collection.operation.name);
        let Some(found) = aggregate_result(&reply).and_then(Value::as_object) else {
            tally.fail(&subject, "the answer is not a map from values to counts", Some(&reply));
            continue;
        };
        for (value, counted) in found {
            let rows = collection
                .rows
                .iter()
                .filter(|row| row.get(field).is_some_and(|own| group_name(own) == *value))
                .count();
            if number(counted, "count") != Some(rows as f64) {
                tally.fail(&subject, format!("'{value}' is counted {counted} times, there are {rows}"), Some(&reply));
            }
        }
        if found.len() != collection.distinct(field) {
            let problem = format!("there are {} groups for {} values", found.len(), collection.distinct(field));
            tally.fail(&subject, problem, Some(&reply));
        }
    }
}

async fn numbers(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for collection in aggregated(context) {
        let numeric = declared(&collection, "numeric_fields");
        let fits = |field: &&String| {
            (numeric.is_empty() || numeric.contains(field))
                && collection.rows.iter().all(|row| row.get(*field).is_some_and(Value::is_number))
        };
        let fields = collection.plain_fields();
        let Some(field) = fields.iter().rfind(fits) else { continue };
        let values: Vec<f64> = collection.rows.iter().filter_map(|row| row.get(field)?.as_f64()).collect();
        let sum: f64 = values.iter().sum();
        let cases = [
            ("sum", sum),
            ("avg", sum / values.len() as f64),
            ("min", values.iter().copied().fold(f64::INFINITY, f64::min)),
            ("max", values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        ];
        let functions = declared(&collection, "functions");
        for (function, expected) in cases {
            if !functions.is_empty() && !functions.iter().any(|own| own == function) {
                continue;
            }
            let reply = request_aggregate(context, &collection, json!({function: field})).await;
            let result = aggregate_result(&reply).and_then(|value| number(value, function));
            let near = result.is_some_and(|result| (result - expected).abs() <= 1e-6 * expected.abs().max(1.0));
            let subject = format!("{}.{function}.{field}", collection.operation.name);
            tally.expect(near, &subject, &format!("it is {result:?}, but {expected} for the rows"), Some(&reply));
        }
    }
}
