//! Checks of field selection.

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::{Feature, declared_computed_fields, presets};
use crate::context::CheckContext;
use crate::description::{Operation, ValueKind};
use crate::mcp::rows::{Row, rows};
use crate::record::Purpose;
use crate::report::Category::LevelTwoFeatures;
use crate::report::Tally;

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "fields.subset",
        "Field selection returns exactly the requested fields",
        LevelTwoFeatures,
        "selections",
        "no working READ operation documents 'fields'",
        |context, tally| Box::pin(subset(context, tally)),
    )
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "fields.unknown",
        "Unknown fields are refused or cause a warning",
        LevelTwoFeatures,
        "selections",
        "no working READ operation documents 'fields'",
        |context, tally| Box::pin(unknown(context, tally)),
    )
    .depends_on(&["requests.effect", "requests.accepted"]),
    Check::new(
        "fields.presets",
        "Each preset includes the fields of the smaller ones",
        LevelTwoFeatures,
        "presets",
        "there was no row to select from",
        |context, tally| Box::pin(preset(context, tally)),
    )
    .for_feature(Feature::Presets)
    .depends_on(&["fields.subset"]),
    Check::new(
        "fields.computed",
        "Declared computed fields can be selected",
        LevelTwoFeatures,
        "computed fields",
        "there was no row to select from",
        |context, tally| Box::pin(computed_fields(context, tally)),
    )
    .for_feature(Feature::Computed)
    .depends_on(&["fields.subset", "requests.effect"]),
];

/// READ operations that document `fields`, with parameters known to work.
fn selecting(context: &CheckContext<'_>) -> Vec<(Operation, Map<String, Value>)> {
    let found = context
        .valid_requests
        .iter()
        .filter_map(|(name, params)| Some((context.description.operation(name)?.clone(), params.clone())));
    found.filter(|(operation, _)| operation.has_parameter("fields")).take(40).collect()
}

/// The first row of a collection, or the data itself if it is not a collection.
fn first_row(data: &Value) -> Option<Row> {
    match rows(data) {
        Some(rows) if data.get("items").is_some() || data.is_array() || data.get("edges").is_some() => {
            rows.into_iter().next()
        }
        _ => data.as_object().cloned(),
    }
}

/// Formats a selection as the operation documents it.
fn selection(operation: &Operation, fields: &[&str]) -> Value {
    let list = operation
        .parameter("fields")
        .is_some_and(|own| own.accepts_list() || own.accepts(&ValueKind::Any) || !own.named_types().is_empty());
    if list { json!(fields) } else { json!(fields.join(",")) }
}

async fn subset(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for (operation, params) in selecting(context) {
        let whole = context.call(&operation, params.clone()).await;
        let Some(row) = first_row(whole.data()) else { continue };
        let names: Vec<&str> = row.keys().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
        let (Some(first), Some(last)) = (names.first(), names.last()) else { continue };
        for wanted in [vec![*last], vec![*first, *last]] {
            let mut wanted = wanted;
            wanted.dedup();
            let mut asked = params.clone();
            asked.insert("fields".into(), selection(&operation, &wanted));
            let reply = context.call(&operation, asked).await;
            tally.count();
            let Some(selected) = first_row(reply.data()).filter(|_| reply.is_success()) else {
                tally.fail(&operation.name, "fields of its rows cannot be selected", Some(&reply));
                continue;
            };
            let missing = wanted.iter().find(|name| !selected.contains_key(**name));
            let surplus = selected.keys().find(|name| !wanted.contains(&name.as_str()) && !name.starts_with('_'));
            if let Some(missing) = missing {
                tally.fail(&operation.name, format!("'{missing}' was selected, but is missing"), Some(&reply));
            } else if let Some(surplus) = surplus {
                tally.fail(&operation.name, format!("'{surplus}' is present, but was not selected"), Some(&reply));
            } else if wanted.iter().any(|name| selected.get(*name) != row.get(*name)) {
                tally.fail(&operation.name, "a selected field has another value", Some(&reply));
            } else {
                context.record_exchange(Purpose::Valid { operation: operation.name.clone() }, &reply);
            }
        }
    }
}

async fn unknown(context: &mut CheckContext<'_>, tally: &mut Tally) {
    const NAME: &str = "no_such_field_7f3a";
    for (operation, params) in selecting(context) {
        let mut asked = params.clone();
        asked.insert("fields".into(), selection(&operation, &[NAME]));
        let reply = context.call(&operation, asked).await;
        let problem = "an unknown field was neither refused by name nor reported as a warning";
        tally.expect(reply.reports_unknown(NAME), &operation.name, problem, Some(&reply));
    }
}

async fn preset(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for (operation, params) in selecting(context) {
        let mut smaller: Option<Row> = None;
        for preset in presets(&operation) {
            let mut asked = params.clone();
            asked.insert("fields".into(), json!(preset));
            let reply = context.call(&operation, asked).await;
            if !reply.is_success() {
                tally.count();
                tally.fail(&operation.name, format!("the documented preset '{preset}' is refused"), Some(&reply));
                continue;
            }
            let Some(row) = first_row(reply.data()) else { continue };
            tally.count();
            if let Some(lost) = smaller.iter().flat_map(Row::keys).find(|name| !row.contains_key(*name)) {
                tally.fail(
                    &operation.name,
                    format!("'{lost}' is in a smaller preset, but not in '{preset}'"),
                    Some(&reply),
                );
            }
            smaller = Some(row);
        }
    }
}

async fn computed_fields(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for (operation, params) in selecting(context) {
        // If the operation serves several kinds, each may have its own computed fields.
        let mut ways = vec![params];
        let kinds =
            context.resources.iter().filter(|own| own.list.as_ref().is_some_and(|list| list.name == operation.name));
        ways.extend(kinds.map(|own| own.list_params.clone()).filter(|params| !params.is_empty()));
        let serves_kinds = context
            .resources
            .iter()
            .any(|own| own.list_params.keys().next().is_some_and(|selector| operation.parameter(selector).is_some()));
        for name in declared_computed_fields(&operation) {
            let path = format!("_computed.{name}");
            let mut refused = None;
            let mut there = false;
            for params in &ways {
                let mut asked = params.clone();
                asked.insert("fields".into(), selection(&operation, &[path.as_str()]));
                let reply = context.call(&operation, asked).await;
                let row = first_row(reply.data());
                if reply.is_success() && row.is_none() {
                    continue;
                }
                there = row.as_ref().and_then(|row| row.get("_computed")?.get(&name)).is_some();
                if there {
                    break;
                }
                refused = refused.or(Some(reply));
            }
            let subject = format!("{}.{path}", operation.name);
            if there || refused.is_some() && !serves_kinds {
                tally.expect(there, &subject, "it is declared, but cannot be selected", refused.as_ref());
            } else if refused.is_some() {
                tally.note(format!("{subject} belongs to a kind outside the sample"));
            }
        }
    }
}
