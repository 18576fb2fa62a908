//! Answers `introspect` from a snapshot. Answers that are the same for all callers are serialized once (R-INT-7).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use aquifer_protocol::error::Failure;
use aquifer_protocol::introspect::{Cursor, Detail, Narrowing, Page, Query};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::{Data, JsonText};
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use super::schema_overview::schema;
use super::signatures::signatures;
use crate::gate::Gate;
use crate::shape::Shaper;
use crate::snapshot::Snapshot;
use crate::source::{Context, Source, SourceStatus};

/// Longer lists are paged automatically.
const MAX_LIST_BYTES: usize = 64 * 1024;

/// Every hit costs the model tokens, and the right operation is almost always among the first.
const SEARCH_PAGE_SIZE: usize = 5;

/// The maximum number of ranked hits.
const MAX_HITS: usize = 500;

/// Answers `introspect`.
pub(crate) async fn answer(
    snapshot: &Snapshot,
    shaper: &Shaper,
    params: &Map<String, Value>,
    context: &Context,
) -> Result<Data, Failure> {
    let (answers, gate) = (snapshot.answers(), snapshot.gate());
    match Query::from_params(params)? {
        Query::Operations(narrowing) if narrowing.is_empty() => {
            cached(&snapshot.cache.list, || list(snapshot, &narrowing))
        }
        Query::Operations(narrowing) => list(snapshot, &narrowing).map(Data::Value),
        Query::Operation(name, detail) => {
            let cell = snapshot.catalog().position(&name).and_then(|index| snapshot.cache.details.get(index));
            let is_unlisted = cell.is_none() && snapshot.unlisted().operation(&name).is_some();
            if cell.is_none()
                && !is_unlisted
                && let Some(failure) = snapshot.starting_source(&name)
            {
                return Err(failure);
            }
            match cell {
                None if is_unlisted && !snapshot.is_denied(&name) => {
                    let answer = snapshot.unlisted_answers().operation(&name, detail);
                    Ok(with_examples(answer, &name, snapshot).await.into())
                }
                Some(cell) if detail == Detail::Standard => match cell.get() {
                    Some(answer) => Ok(Data::Text(answer.clone())),
                    None => {
                        let answer = with_examples(answers.operation(&name, detail), &name, snapshot).await;
                        cached(cell, || Ok(answer))
                    }
                },
                _ => {
                    let answer = with_observation(answers.operation(&name, detail), &name, detail, shaper, context);
                    let answer = with_examples(answer, &name, snapshot).await;
                    Ok(with_source_status(answer, snapshot, detail).into())
                }
            }
        }
        Query::Types => cached(&snapshot.cache.types, || Ok(answers.types())),
        Query::Type(name) => Ok(answers.named_type(&name).into()),
        Query::Summary => Ok(summary(snapshot).into()),
        Query::Limits => Ok(answers.limits().into()),
        Query::Quota(source) => {
            let status = gate.quota(context, source.as_deref()).await;
            Ok(with_adapter(status, snapshot, source.as_deref()).into())
        }
        Query::AdapterInfo(source) => Ok(adapter_info(snapshot, source.as_deref()).into()),
        Query::Policy => Ok(policy(snapshot, &**gate, context).into()),
        Query::Schema(selection) => schema(snapshot, &selection).await.map(Data::Value),
        Query::Signatures(selection) => signatures(snapshot, &selection, context).map(Data::Value),
    }
}

/// The adapter name for several sources together.
const GATEWAY_NAME: &str = "aquifer";

/// The name of the source, or the name for all of them.
fn adapter_name<'a>(snapshot: &'a Snapshot, source: Option<&'a str>) -> &'a str {
    match (source, &**snapshot.mounts()) {
        (Some(source), _) => source,
        (None, [only]) => only.source.name(),
        (None, _) => GATEWAY_NAME,
    }
}

fn with_adapter(status: Value, snapshot: &Snapshot, source: Option<&str>) -> Value {
    let mut answer = Map::from_iter([("adapter".to_owned(), Value::from(adapter_name(snapshot, source)))]);
    match status {
        Value::Object(status) => answer.extend(status),
        other => drop(answer.insert("quotas".to_owned(), other)),
    }
    Value::Object(answer)
}

/// Name, version and trust in the form of the specification for one adapter. Several are listed, together with the
/// lowest trust.
fn adapter_info(snapshot: &Snapshot, source: Option<&str>) -> Value {
    let own_version = env!("CARGO_PKG_VERSION");
    let wanted = snapshot.mounts().iter().filter(|mount| source.is_none_or(|name| name == mount.source.name()));
    let adapters: Vec<(Trust, Value)> = wanted
        .map(|mount| {
            let (trust, version) = (mount.trust(snapshot), mount.source.version());
            let version = version.as_deref().unwrap_or(own_version);
            let mut block = Map::from_iter([("level".to_owned(), Value::from(trust.as_str()))]);
            block.extend(snapshot.validation(mount.source.name()).cloned().into_iter().flatten());
            let adapter = json!({ "name": mount.source.name(), "version": version, "trust": block });
            (trust, adapter)
        })
        .collect();
    match <[_; 1]>::try_from(adapters) {
        Ok([(_, only)]) => only,
        Err(adapters) => {
            let least = adapters.iter().map(|(trust, _)| *trust).min().map(Trust::as_str);
            let adapters: Vec<Value> = adapters.into_iter().map(|(_, adapter)| adapter).collect();
            let name = adapter_name(snapshot, source);
            json!({ "name": name, "version": own_version, "trust": { "level": least }, "adapters": adapters })
        }
    }
}

/// Adds what the results of this caller looked like to the full detail (R-INT-2). It is not part of the catalog or of
/// other answers.
fn with_observation(mut answer: Value, name: &str, detail: Detail, shaper: &Shaper, context: &Context) -> Value {
    if detail == Detail::Full
        && let Some(observation) = shaper.observation(&context.caller, name)
        && let Some(operation) = answer.get_mut("operation").and_then(Value::as_object_mut)
    {
        operation.insert("observed_result".to_owned(), observation);
    }
    answer
}

/// Replaces the examples by those that its source makes from what it holds, if it does.
async fn with_examples(mut answer: Value, name: &str, snapshot: &Snapshot) -> Value {
    let examples = answer.pointer_mut("/operation/examples");
    if let (Some(shown), Some(route)) = (examples, snapshot.route(name))
        && let Some(examples) = route.source.examples(route.name.clone()).await
    {
        let request = |params| json!({ "request": { "operation": name, "params": Value::Object(params) } });
        *shown = examples.into_iter().map(request).collect();
    }
    answer
}

/// The summary, with the origin and age of each source's part of the catalog.
fn summary(snapshot: &Snapshot) -> Value {
    let mut answer = snapshot.answers().summary();
    let sources: Vec<Value> = snapshot
        .mounts()
        .iter()
        .map(|mount| {
            let mut source = Map::from_iter([("name".to_owned(), Value::from(mount.source.name()))]);
            source.extend(status(&*mount.source));
            Value::Object(source)
        })
        .collect();
    if let Some(summary) = answer.get_mut("summary").and_then(Value::as_object_mut) {
        summary.insert("sources".to_owned(), sources.into());
    }
    answer
}

/// The status of a source, as far as callers may see it.
fn status(source: &dyn Source) -> Map<String, Value> {
    let SourceStatus { state, catalog_age, quarantined, left_out, .. } = source.status();
    let mut fields = Map::from_iter([("status".to_owned(), Value::from(state.as_str()))]);
    if let Some(age) = catalog_age {
        fields.insert("catalog_age_seconds".to_owned(), age.as_secs().into());
    }
    fields.insert("quarantined".to_owned(), quarantined.into());
    if left_out > 0 {
        fields.insert("left_out".to_owned(), left_out.into());
    }
    fields
}

/// Adds the status of the source to the full detail of an operation.
fn with_source_status(mut answer: Value, snapshot: &Snapshot, detail: Detail) -> Value {
    if detail == Detail::Full
        && let Some(operation) = answer.get_mut("operation").and_then(Value::as_object_mut)
    {
        let name = operation.get("source").and_then(Value::as_str).unwrap_or_default();
        let mount = snapshot.mounts().iter().find(|mount| mount.source.name() == name);
        if let Some(status) = mount.map(|mount| status(&*mount.source)) {
            operation.insert("source_status".to_owned(), Value::Object(status));
        }
    }
    answer
}

/// Adds the state of the source to each operation of a list.
fn with_source_states(mut answer: Value, snapshot: &Snapshot) -> Value {
    let states: BTreeMap<&str, &str> =
        snapshot.mounts().iter().map(|mount| (mount.source.name(), mount.source.status().state.as_str())).collect();
    let operations = answer.get_mut("operations").and_then(Value::as_array_mut).into_iter().flatten();
    for operation in operations.filter_map(Value::as_object_mut) {
        let state = operation.get("source").and_then(Value::as_str).and_then(|source| states.get(source));
        if let Some(state) = state.copied() {
            operation.insert("source_status".to_owned(), state.into());
        }
    }
    answer
}

/// The default decisions of policy, grouped by decision: there are few decisions and many operations.
fn policy(snapshot: &Snapshot, gate: &dyn Gate, context: &Context) -> Value {
    let mut decisions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for operation in snapshot.catalog().operations() {
        decisions.entry(gate.policy(operation, context)).or_default().push(&operation.name);
    }
    json!({ "policy": decisions })
}

fn cached(cell: &OnceLock<JsonText>, make: impl FnOnce() -> Result<Value, Failure>) -> Result<Data, Failure> {
    if let Some(answer) = cell.get() {
        return Ok(Data::Text(answer.clone()));
    }
    let text = JsonText::from(&make()?);
    Ok(Data::Text(cell.get_or_init(|| text).clone()))
}

fn list(snapshot: &Snapshot, narrowing: &Narrowing) -> Result<Value, Failure> {
    let catalog = snapshot.catalog();
    let matching = matching(snapshot, narrowing);
    let start = match &narrowing.after {
        None => 0,
        Some(cursor) => Cursor::read(cursor, narrowing, catalog.digest())
            .filter(|offset| *offset <= matching.len())
            .ok_or_else(|| Failure::invalid_value("after", "is not a cursor of this list. Start again without it"))?,
    };
    let wanted = narrowing.first.or_else(|| narrowing.search.as_ref().map(|_| SEARCH_PAGE_SIZE));
    let mut room = MAX_LIST_BYTES;
    let page_operations: Vec<&Operation> = matching
        .iter()
        .skip(start)
        .take(wanted.unwrap_or(usize::MAX))
        .take_while(|operation| {
            // Names, descriptions and the JSON around them. An estimate is enough to limit the size.
            let size = operation.name.len() + operation.short_description().len() + 90;
            let fits = wanted.is_some() || size <= room;
            room = room.saturating_sub(size);
            fits
        })
        .copied()
        .collect();
    let end = start + page_operations.len();
    let has_next_page = end < matching.len();
    let narrowed = !narrowing.is_empty();
    let page = (narrowed || has_next_page).then(|| Page {
        has_next_page,
        end_cursor: has_next_page.then(|| Cursor::new(end, narrowing, catalog.digest()).to_string()),
        total_count: matching.len(),
    });
    let answer = snapshot.answers().operations(page_operations, narrowing.detail, page.as_ref(), narrowed);
    Ok(if narrowing.detail == Detail::Full { with_source_states(answer, snapshot) } else { answer })
}

fn matching<'a>(snapshot: &'a Snapshot, narrowing: &Narrowing) -> Vec<&'a Operation> {
    let (catalog, surface) = (snapshot.catalog(), snapshot.surface());
    let is_admitted = |operation: &Operation| {
        let same = |wanted: &Option<String>, actual: &str| wanted.as_deref().is_none_or(|wanted| wanted == actual);
        same(&narrowing.category, operation.category.as_str())
            && same(&narrowing.endpoint, surface.family_of(operation))
            && same(&narrowing.source, &operation.origin.source)
    };
    let operations = catalog.operations();
    match narrowing.search.as_deref() {
        None => operations.iter().map(|op| &**op).filter(|op| is_admitted(op)).collect(),
        Some(words) => snapshot
            .index()
            .search_filtered(words, MAX_HITS, |position| operations.get(position).is_some_and(|op| is_admitted(op)))
            .into_iter()
            .filter_map(|hit| operations.get(hit.position))
            .map(|op| &**op)
            .collect(),
    }
}
