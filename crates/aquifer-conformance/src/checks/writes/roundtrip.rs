//! Checks that written data can be read back.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::description::resources::CONTROLS;
use crate::description::{Operation, Parameter, ValueKind};
use crate::mcp::rows::{Row, object_with, values_equal};
use crate::record::Purpose;
use crate::report::Category::{LevelTwoFeatures, RoundTripIntegrity};
use crate::report::Tally;

const NO_CREATED_ROW: &str = "no row could be created and read back";

/// Maximum number of fields of a row that are tried to find one that can be changed.
const MAX_FIELDS_TRIED: usize = 5;

/// Maximum number of resources that dry runs are tried with.
const MAX_DRY_RUNS: usize = 6;

/// Runs before anything else changes the created rows.
pub(crate) const CREATE_CHECKS: &[Check] = &[Check::new(
    "roundtrip.create",
    "Create-read cycles preserve submitted fields",
    RoundTripIntegrity,
    "fields",
    NO_CREATED_ROW,
    |context, tally| Box::pin(create(context, tally)),
)
.applies_to(Feature::RoundTrips)
.writes()];

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "roundtrip.preserved",
        "Updates preserve non-targeted fields",
        RoundTripIntegrity,
        "updates",
        NO_CREATED_ROW,
        |context, tally| Box::pin(preserved(context, tally)),
    )
    .applies_to(Feature::Updates)
    .writes(),
    Check::new(
        "roundtrip.update",
        "Updates change the requested fields",
        RoundTripIntegrity,
        "updates",
        NO_CREATED_ROW,
        |context, tally| Box::pin(update(context, tally)),
    )
    .applies_to(Feature::Updates)
    .writes(),
    Check::new(
        "roundtrip.null",
        "An explicit null clears a field",
        RoundTripIntegrity,
        "updates",
        "no created row has a settable field allowing null",
        |context, tally| Box::pin(null(context, tally)),
    )
    .for_feature(Feature::Nullable)
    .depends_on(&["roundtrip.update"])
    .writes(),
    Check::new(
        "roundtrip.duplicate",
        "A duplicate identifier is refused",
        RoundTripIntegrity,
        "operations",
        NO_CREATED_ROW,
        |context, tally| Box::pin(duplicate(context, tally)),
    )
    .for_feature(Feature::OwnKeys)
    .writes(),
    Check::new(
        "dry_run.nothing",
        "A dry run changes nothing",
        LevelTwoFeatures,
        "operations",
        NO_CREATED_ROW,
        |context, tally| Box::pin(dry_run(context, tally)),
    )
    .for_feature(Feature::DryRuns)
    .applies_to(Feature::RoundTrips)
    .writes(),
];

pub(crate) const DELETE_CHECKS: &[Check] = &[Check::new(
    "roundtrip.delete",
    "Deleted rows are gone",
    RoundTripIntegrity,
    "rows",
    NO_CREATED_ROW,
    |context, tally| Box::pin(delete(context, tally)),
)
.applies_to(Feature::Deletion)
.depends_on(&["errors.not_found"])
.writes()];

/// Whether the server may change a field on its own.
fn is_volatile(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.starts_with('_')
        || ["updated", "modified", "version", "etag", "revision"].iter().any(|word| lower.contains(word))
}

fn is_scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array() && !value.is_null()
}

async fn create(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(create), Some(created)) = (&resource.create, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((reply, row)) = context.read_back(resource, &created.key).await else { continue };
        let mut expected = Map::new();
        for (name, value) in &created.submitted {
            let secret = create.parameter(name).is_none_or(|parameter| parameter.sensitive);
            if secret || CONTROLS.contains(&name.as_str()) {
                continue;
            }
            tally.count();
            let subject = format!("{}.{name}", resource.noun);
            match row.get(name) {
                None => tally.fail(subject, "it was submitted, but is missing", Some(&reply)),
                Some(returned) if !values_equal(returned, value) => {
                    tally.fail(subject, format!("{value} became {returned}"), Some(&reply))
                }
                Some(returned) => {
                    let flat = reply.data().get(name).is_some() && is_scalar(returned);
                    expected.extend(flat.then(|| (format!("data.{name}"), returned.clone())));
                }
            }
        }
        if !expected.is_empty() {
            context.record_exchange(Purpose::RoundTrip { resource: resource.noun.clone(), expected }, &reply);
        }
    }
}

/// Updates one field of each created row. Returns the rows before and after.
async fn update_each(context: &mut CheckContext<'_>, tally: &mut Tally) -> Vec<UpdateTrial> {
    let resources = context.resources.clone();
    let mut all = Vec::new();
    for resource in resources.iter() {
        let (Some(update), Some(created)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((_, before)) = context.read_back(resource, &created.key).await else { continue };
        let mut chosen = None;
        for (field, value) in context.possible_changes(resource, &before).into_iter().take(MAX_FIELDS_TRIED) {
            let params = CheckContext::update_params(update, &created.key, &field, value.clone());
            let answer = context.call_confirmed(update, params).await;
            // Introspection need not describe rules between fields or rows. They may not affect another field.
            let conflicts = answer.code().starts_with("CONFLICT");
            chosen = Some((field, value, answer));
            if !conflicts {
                break;
            }
        }
        let Some((field, value, answer)) = chosen else {
            tally.note(format!("{}: no field to change was found", resource.noun));
            continue;
        };
        if answer.code().starts_with("CONFLICT") {
            tally.note(format!("{}: every change conflicted with a rule of the server", resource.noun));
            continue;
        }
        let Some((reply, after)) = context.read_back(resource, &created.key).await else { continue };
        let noun = resource.noun.clone();
        let settable = context.updatable_fields(update).into_iter().map(|field| field.name);
        let kept = settable.chain(created.key.keys().cloned()).collect();
        all.push(UpdateTrial {
            noun,
            operation: update.name.clone(),
            field,
            value,
            before,
            after,
            kept,
            answer,
            reply,
        });
    }
    all
}

struct UpdateTrial {
    noun: String,
    operation: String,
    field: String,
    value: Value,
    before: Row,
    after: Row,
    /// Fields that should change only when they are updated. Fields that no update sets may be computed from others.
    kept: HashSet<String>,
    answer: crate::mcp::Reply,
    reply: crate::mcp::Reply,
}

async fn update(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for trial in update_each(context, tally).await {
        let subject = format!("{}.{}", trial.operation, trial.field);
        tally.count();
        if !trial.answer.is_success() {
            tally.fail(subject, "a valid update was refused", Some(&trial.answer));
        } else if !trial.after.get(&trial.field).is_some_and(|after| values_equal(after, &trial.value)) {
            tally.fail(subject, format!("after the update, the value is not {}", trial.value), Some(&trial.reply));
        }
    }
}

async fn preserved(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for trial in update_each(context, tally).await.into_iter().filter(|trial| trial.answer.is_success()) {
        tally.count();
        let is_other = |name: &String| *name != trial.field && trial.kept.contains(name) && !is_volatile(name);
        let others = trial.before.iter().filter(|(name, _)| is_other(name));
        let mut preserved = Map::new();
        for (name, before) in others {
            if trial.after.get(name).is_none_or(|after| !values_equal(after, before)) {
                let after = trial.after.get(name).map_or_else(|| "nothing".to_owned(), Value::to_string);
                let problem = format!("'{name}' was not updated, but became {after}");
                tally.fail(&trial.operation, problem, Some(&trial.reply));
            } else if is_scalar(before) && trial.reply.data().get(name).is_some() {
                preserved.insert(format!("data.{name}"), before.clone());
            }
        }
        if !preserved.is_empty() {
            context.record_exchange(Purpose::UpdatePreservation { resource: trial.noun, preserved }, &trial.reply);
        }
    }
}

async fn null(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(created)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((_, before)) = context.read_back(resource, &created.key).await else { continue };
        let nullable = context
            .updatable_fields(update)
            .into_iter()
            .filter(|field| field.accepts(&ValueKind::Null) && !field.sensitive);
        let Some(field) = set_field(context, update, &created.key, &before, nullable.collect()).await else { continue };
        let params = CheckContext::update_params(update, &created.key, &field.name, Value::Null);
        let answer = context.call_confirmed(update, params).await;
        let subject = format!("{}.{}", update.name, field.name);
        if !tally.expect(answer.is_success(), &subject, "it may be null, but null is refused", Some(&answer)) {
            continue;
        }
        let Some((reply, after)) = context.read_back(resource, &created.key).await else { continue };
        // An empty object or list counts as cleared.
        let empty = |value: &Value| value.is_null() || *value == json!({}) || *value == json!([]);
        let cleared = after.get(&field.name).is_none_or(empty);
        tally.expect(cleared, &subject, "null did not clear it", Some(&reply));
    }
}

/// Finds a field that has a value, setting one if necessary.
async fn set_field(
    context: &mut CheckContext<'_>,
    update: &Operation,
    key: &Map<String, Value>,
    row: &Row,
    fields: Vec<Parameter>,
) -> Option<Parameter> {
    let is_set = |field: &&Parameter| row.get(&field.name).is_some_and(|value| !value.is_null());
    if let Some(field) = fields.iter().find(is_set) {
        return Some(field.clone());
    }
    for field in fields.into_iter().take(MAX_FIELDS_TRIED) {
        let Some(value) = context.settable_value(&field) else { continue };
        let params = CheckContext::update_params(update, key, &field.name, value);
        if context.call_confirmed(update, params).await.is_success() {
            return Some(field);
        }
    }
    None
}

async fn duplicate(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(create), Some(created)) = (&resource.create, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        if !resource.key.iter().all(|key| create.has_parameter(key)) {
            continue;
        }
        let Some(mut params) = context.creation_params(resource) else { continue };
        params.extend(created.key.clone());
        let reply = context.call(create, params).await;
        let problem = "a second row with the same identifier was created";
        tally.expect(reply.is_refused(), &create.name, problem, Some(&reply));
    }
}

async fn dry_run(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    let ours = resources.iter().filter(|resource| context.sandbox.row(&resource.noun).is_some());
    let chosen: Vec<_> = ours.take(MAX_DRY_RUNS).cloned().collect();
    for resource in &chosen {
        let supports_dry_run = |operation: &&Operation| operation.has_parameter("dry_run");
        if let Some(create) = resource.create.as_ref().filter(supports_dry_run)
            && let Some(before) = context.count_rows(resource).await
            && let Some(mut params) = context.creation_params(resource)
        {
            params.insert("dry_run".into(), json!(true));
            let reply = context.call(create, params).await;
            let after = context.count_rows(resource).await;
            tally.expect(after == Some(before), &create.name, "a dry run created something", Some(&reply));
            if reply.is_success() && after != Some(before) {
                let row = object_with(reply.data(), &resource.key).cloned().unwrap_or_default();
                tally.note(format!("not deleted: {} {}", resource.noun, Value::Object(row)));
            }
        }
        let Some(created) = context.sandbox.row(&resource.noun).cloned() else { continue };
        let Some((_, before)) = context.read_back(resource, &created.key).await else { continue };
        if let Some(update) = resource.update.as_ref().filter(supports_dry_run)
            && let Some((field, value)) = context.pick_change(resource, &before)
        {
            let mut params = CheckContext::update_params(update, &created.key, &field, value);
            params.insert("dry_run".into(), json!(true));
            let reply = context.call_confirmed(update, params).await;
            let after = context.read_back(resource, &created.key).await.map(|(_, row)| row);
            tally.expect(after.as_ref() == Some(&before), &update.name, "a dry run changed something", Some(&reply));
        }
        if let Some(delete) = resource.delete.as_ref().filter(supports_dry_run) {
            let mut params = created.key.clone();
            params.insert("dry_run".into(), json!(true));
            let reply = context.call_confirmed(delete, params).await;
            let gone = context.read_back(resource, &created.key).await.is_some_and(|(read, _)| read.is_gone());
            if !tally.expect(!gone, &delete.name, "a dry run deleted something", Some(&reply)) {
                context.sandbox.forget(&created);
            }
        }
    }
    context.dry_runs_change_nothing = tally.examined > 0 && tally.failed == 0;
}

/// Deletes everything that the run created, and checks that it is gone.
async fn delete(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for created in context.sandbox.remaining() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == created.noun) else { continue };
        let shown = format!("{} {}", created.noun, Value::Object(created.key.clone()));
        let Some(delete) = &resource.delete else {
            tally.note(format!("not deleted, because no operation deletes it: {shown}"));
            continue;
        };
        let reply = context.call_confirmed(delete, created.key.clone()).await;
        if !reply.is_success() {
            // It may have been deleted together with another row.
            let gone = context.read_back(resource, &created.key).await.is_some_and(|(read, _)| read.is_gone());
            if gone {
                continue;
            }
            let words = if reply.code() == "CONFIRMATION_REQUIRED" {
                "it could not be deleted, because the run cannot confirm it"
            } else {
                "it could not be deleted"
            };
            tally.count();
            tally.fail(&shown, words, Some(&reply));
            continue;
        }
        let Some((read, _)) = context.read_back(resource, &created.key).await else { continue };
        tally.expect(read.is_gone(), &shown, "it was deleted, but still exists", Some(&read));
    }
}
