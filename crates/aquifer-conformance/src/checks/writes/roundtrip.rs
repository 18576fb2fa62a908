//! What was written is read back.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::checks::Check;
use crate::checks::feature::Feature;
use crate::context::CheckContext;
use crate::description::resources::CONTROLS;
use crate::description::{Kind, Operation, Parameter};
use crate::mcp::rows::{Row, object_with, same};
use crate::record::Purpose;
use crate::report::Category::{LevelTwoFeatures, RoundTripIntegrity};
use crate::report::Tally;

const NOTHING_MADE: &str = "nothing could be created and read back";

/// How many fields of a row are tried to find one that can be changed.
const MAX_FIELDS_TRIED: usize = 5;

/// With how many kinds of things dry runs are tried.
const MAX_DRY_RUNS: usize = 6;

/// Made before anything else touches the rows of ours.
pub(crate) const FIRST: &[Check] = &[Check::new(
    "roundtrip.create",
    "Create-read cycles preserve submitted fields",
    RoundTripIntegrity,
    "fields",
    NOTHING_MADE,
    |context, tally| Box::pin(create(context, tally)),
)
.writes()];

pub(crate) const CHECKS: &[Check] = &[
    Check::new(
        "roundtrip.preserved",
        "Updates preserve non-targeted fields",
        RoundTripIntegrity,
        "updates",
        NOTHING_MADE,
        |context, tally| Box::pin(preserved(context, tally)),
    )
    .writes(),
    Check::new(
        "roundtrip.update",
        "Updates change what they were asked to",
        RoundTripIntegrity,
        "updates",
        NOTHING_MADE,
        |context, tally| Box::pin(update(context, tally)),
    )
    .writes(),
    Check::new(
        "roundtrip.null",
        "An explicit null clears a field",
        RoundTripIntegrity,
        "updates",
        "no row of ours has a field that may be null and can be set",
        |context, tally| Box::pin(null(context, tally)),
    )
    .of(Feature::Nullable)
    .needs(&["roundtrip.update"])
    .writes(),
    Check::new(
        "roundtrip.duplicate",
        "A second thing of the same identifier is refused",
        RoundTripIntegrity,
        "operations",
        NOTHING_MADE,
        |context, tally| Box::pin(duplicate(context, tally)),
    )
    .of(Feature::OwnKeys)
    .writes(),
    Check::new(
        "dry_run.nothing",
        "A dry run changes nothing",
        LevelTwoFeatures,
        "operations",
        NOTHING_MADE,
        |context, tally| Box::pin(dry_run(context, tally)),
    )
    .of(Feature::DryRuns)
    .writes(),
];

pub(crate) const LAST: &[Check] = &[Check::new(
    "roundtrip.delete",
    "What is deleted is gone",
    RoundTripIntegrity,
    "rows",
    NOTHING_MADE,
    |context, tally| Box::pin(delete(context, tally)),
)
.needs(&["errors.not_found"])
.writes()];

/// Fields that a server may change by itself.
fn restless(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    name.starts_with('_')
        || ["updated", "modified", "version", "etag", "revision"].iter().any(|word| lower.contains(word))
}

fn scalar(value: &Value) -> bool {
    !value.is_object() && !value.is_array() && !value.is_null()
}

async fn create(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(create), Some(made)) = (&resource.create, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((reply, row)) = context.read_back(resource, &made.key).await else { continue };
        let mut expected = Map::new();
        for (name, value) in &made.submitted {
            let secret = create.parameter(name).is_none_or(|parameter| parameter.sensitive);
            if secret || CONTROLS.contains(&name.as_str()) {
                continue;
            }
            tally.look();
            let subject = format!("{}.{name}", resource.noun);
            match row.get(name) {
                None => tally.fail(subject, "it was submitted and is not there", Some(&reply)),
                Some(kept) if !same(kept, value) => tally.fail(subject, format!("{value} became {kept}"), Some(&reply)),
                Some(kept) => {
                    let flat = reply.data().get(name).is_some() && scalar(kept);
                    expected.extend(flat.then(|| (format!("data.{name}"), kept.clone())));
                }
            }
        }
        if !expected.is_empty() {
            context.keep(Purpose::RoundTrip { resource: resource.noun.clone(), expected }, &reply);
        }
    }
}

/// Changes one field of each row of ours, and hands over what it was before and is afterwards.
async fn change_each(context: &mut CheckContext<'_>, tally: &mut Tally) -> Vec<Changed> {
    let resources = context.resources.clone();
    let mut all = Vec::new();
    for resource in resources.iter() {
        let (Some(update), Some(made)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((_, before)) = context.read_back(resource, &made.key).await else { continue };
        let mut chosen = None;
        for (field, value) in context.changes(resource, &before).into_iter().take(MAX_FIELDS_TRIED) {
            let params = CheckContext::update_params(update, &made.key, &field, value.clone());
            let answer = context.call_confirmed(update, params).await;
            // A rule between fields or rows need not be told by introspection; another field may be free of it.
            let conflicts = answer.code().starts_with("CONFLICT");
            chosen = Some((field, value, answer));
            if !conflicts {
                break;
            }
        }
        let Some((field, value, answer)) = chosen else {
            tally.note(format!("{}: nothing to change was found", resource.noun));
            continue;
        };
        if answer.code().starts_with("CONFLICT") {
            tally.note(format!("{}: every change met a rule of the server", resource.noun));
            continue;
        }
        let Some((reply, after)) = context.read_back(resource, &made.key).await else { continue };
        let noun = resource.noun.clone();
        let settable = context.updatable(update).into_iter().map(|field| field.name);
        let kept = settable.chain(made.key.keys().cloned()).collect();
        all.push(Changed { noun, operation: update.name.clone(), field, value, before, after, kept, answer, reply });
    }
    all
}

struct Changed {
    noun: String,
    operation: String,
    field: String,
    value: Value,
    before: Row,
    after: Row,
    /// Fields that nothing but an update of themselves may change. What no update sets may be computed from the others.
    kept: HashSet<String>,
    answer: crate::mcp::Reply,
    reply: crate::mcp::Reply,
}

async fn update(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for changed in change_each(context, tally).await {
        let subject = format!("{}.{}", changed.operation, changed.field);
        tally.look();
        if !changed.answer.ok() {
            tally.fail(subject, "a valid update was refused", Some(&changed.answer));
        } else if !changed.after.get(&changed.field).is_some_and(|after| same(after, &changed.value)) {
            tally.fail(subject, format!("after the update it is not {}", changed.value), Some(&changed.reply));
        }
    }
}

async fn preserved(context: &mut CheckContext<'_>, tally: &mut Tally) {
    for changed in change_each(context, tally).await.into_iter().filter(|changed| changed.answer.ok()) {
        tally.look();
        let is_other = |name: &String| *name != changed.field && changed.kept.contains(name) && !restless(name);
        let others = changed.before.iter().filter(|(name, _)| is_other(name));
        let mut preserved = Map::new();
        for (name, before) in others {
            if changed.after.get(name).is_none_or(|after| !same(after, before)) {
                let after = changed.after.get(name).map_or_else(|| "nothing".to_owned(), Value::to_string);
                let problem = format!("'{name}' was not updated, and became {after}");
                tally.fail(&changed.operation, problem, Some(&changed.reply));
            } else if scalar(before) && changed.reply.data().get(name).is_some() {
                preserved.insert(format!("data.{name}"), before.clone());
            }
        }
        if !preserved.is_empty() {
            context.keep(Purpose::UpdatePreservation { resource: changed.noun, preserved }, &changed.reply);
        }
    }
}

async fn null(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(update), Some(made)) = (&resource.update, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        let Some((_, before)) = context.read_back(resource, &made.key).await else { continue };
        let nullable =
            context.updatable(update).into_iter().filter(|field| field.takes(&Kind::Null) && !field.sensitive);
        let Some(field) = set_field(context, update, &made.key, &before, nullable.collect()).await else { continue };
        let params = CheckContext::update_params(update, &made.key, &field.name, Value::Null);
        let answer = context.call_confirmed(update, params).await;
        let subject = format!("{}.{}", update.name, field.name);
        if !tally.holds(answer.ok(), &subject, "it may be null, but null is refused", Some(&answer)) {
            continue;
        }
        let Some((reply, after)) = context.read_back(resource, &made.key).await else { continue };
        // A map or a list is cleared where nothing is left in it.
        let empty = |value: &Value| value.is_null() || *value == json!({}) || *value == json!([]);
        let cleared = after.get(&field.name).is_none_or(empty);
        tally.holds(cleared, &subject, "null did not clear it", Some(&reply));
    }
}

/// One of these fields that holds a value: as the row is, or after one was set.
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
        let Some(value) = context.value_of(&field) else { continue };
        let params = CheckContext::update_params(update, key, &field.name, value);
        if context.call_confirmed(update, params).await.ok() {
            return Some(field);
        }
    }
    None
}

async fn duplicate(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for resource in resources.iter() {
        let (Some(create), Some(made)) = (&resource.create, context.sandbox.row(&resource.noun).cloned()) else {
            continue;
        };
        if !resource.key.iter().all(|key| create.has(key)) {
            continue;
        }
        let Some(mut params) = context.creation(resource) else { continue };
        params.extend(made.key.clone());
        let reply = context.call(create, params).await;
        let problem = "a second one with the same identifier was created";
        tally.holds(reply.refused(), &create.name, problem, Some(&reply));
    }
}

async fn dry_run(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    let ours = resources.iter().filter(|resource| context.sandbox.row(&resource.noun).is_some());
    let chosen: Vec<_> = ours.take(MAX_DRY_RUNS).cloned().collect();
    for resource in &chosen {
        let rehearsed = |operation: &&Operation| operation.has("dry_run");
        if let Some(create) = resource.create.as_ref().filter(rehearsed)
            && let Some(before) = context.count(resource).await
            && let Some(mut params) = context.creation(resource)
        {
            params.insert("dry_run".into(), json!(true));
            let reply = context.call(create, params).await;
            let after = context.count(resource).await;
            tally.holds(after == Some(before), &create.name, "a dry run created something", Some(&reply));
            if reply.ok() && after != Some(before) {
                let row = object_with(reply.data(), &resource.key).cloned().unwrap_or_default();
                tally.note(format!("left behind: {} {}", resource.noun, Value::Object(row)));
            }
        }
        let Some(made) = context.sandbox.row(&resource.noun).cloned() else { continue };
        let Some((_, before)) = context.read_back(resource, &made.key).await else { continue };
        if let Some(update) = resource.update.as_ref().filter(rehearsed)
            && let Some((field, value)) = context.change(resource, &before)
        {
            let mut params = CheckContext::update_params(update, &made.key, &field, value);
            params.insert("dry_run".into(), json!(true));
            let reply = context.call_confirmed(update, params).await;
            let after = context.read_back(resource, &made.key).await.map(|(_, row)| row);
            tally.holds(after.as_ref() == Some(&before), &update.name, "a dry run changed something", Some(&reply));
        }
        if let Some(delete) = resource.delete.as_ref().filter(rehearsed) {
            let mut params = made.key.clone();
            params.insert("dry_run".into(), json!(true));
            let reply = context.call_confirmed(delete, params).await;
            let gone = context.read_back(resource, &made.key).await.is_some_and(|(read, _)| read.absent());
            if !tally.holds(!gone, &delete.name, "a dry run deleted something", Some(&reply)) {
                context.sandbox.forget(&made);
            }
        }
    }
}

/// Deletes everything that the run made, and looks whether it is gone.
async fn delete(context: &mut CheckContext<'_>, tally: &mut Tally) {
    let resources = context.resources.clone();
    for made in context.sandbox.left() {
        let Some(resource) = resources.iter().find(|resource| resource.noun == made.noun) else { continue };
        let shown = format!("{} {}", made.noun, Value::Object(made.key.clone()));
        let Some(delete) = &resource.delete else {
            tally.note(format!("left behind, as nothing deletes it: {shown}"));
            continue;
        };
        let reply = context.call_confirmed(delete, made.key.clone()).await;
        if !reply.ok() {
            // Deleting one may have taken others with it.
            let gone = context.read_back(resource, &made.key).await.is_some_and(|(read, _)| read.absent());
            if gone {
                continue;
            }
            let words = if reply.code() == "CONFIRMATION_REQUIRED" {
                "it wants to be confirmed in a way that a run cannot, and was left behind"
            } else {
                "it could not be deleted, and was left behind"
            };
            tally.look();
            tally.fail(&shown, words, Some(&reply));
            continue;
        }
        let Some((read, _)) = context.read_back(resource, &made.key).await else { continue };
        tally.holds(read.absent(), &shown, "it was deleted and is still there", Some(&read));
    }
}
