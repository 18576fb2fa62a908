//! Operations of a file that was built from a description: the definitions of the description, with the changes of the
//! reviewer.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_discovery::adapter::{
    Adapter, AdapterOperation, AdapterParameter, MapsTo, hold_to_description, written_parameter,
};
use aquifer_discovery::{offer, text};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Types};
use serde_json::{Map, Value};

use super::AdapterError;
use super::build::{maps_to, written_pagination};
use super::record::ApiRecord;
use crate::api::{Api, UnservedRequest};
use crate::route::{Pagination, Route};

/// The keys with which a reviewer can narrow a parameter, or give it another default.
const NARROWING: &[&str] = &["enum", "minimum", "maximum", "pattern", "default"];

/// Adds the operations of the file that the description contains. Returns the others.
pub(super) fn add<'a>(
    api: &mut Api,
    adapter: &'a Adapter,
    record: &ApiRecord,
    source: &str,
    is_settled: bool,
) -> Result<Vec<&'a AdapterOperation>, AdapterError> {
    let mut described = record.api().map_err(|error| AdapterError::Sidecar(error.to_string()))?;
    // The file can state only one authentication scheme. If it is still that of the description, the other schemes
    // apply as well.
    if described.auth.first() == api.auth.first() {
        api.auth = std::mem::take(&mut described.auth);
    } else {
        described.use_auth(Vec::new());
    }
    api.types = described.types;
    api.reviewed_digests.clone_from(&record.digests);
    let mut unclaimed: HashMap<String, Vec<Operation>> = HashMap::new();
    for operation in described.operations {
        if let Some(route) = described.routes.get(&operation.name) {
            unclaimed.entry(maps_to(route)).or_default().push(operation);
        }
    }
    let mut others = Vec::new();
    for reviewed in &adapter.operations {
        let MapsTo::Route { method, path } = &reviewed.maps_to else { continue };
        let Some(original) = claim(&mut unclaimed, &format!("{method} {path}"), &reviewed.name) else {
            others.push(reviewed);
            continue;
        };
        let Some(route) = described.routes.get(&original.name) else { continue };
        let name: Arc<str> = reviewed.name.as_str().into();
        if let Some(place) = described.described_at.get(&original.name) {
            api.described_at.insert(name.clone(), place.clone());
        }
        let route = review_route(route, reviewed);
        let mut operation = review(original, reviewed, &api.types, is_settled, &mut api.notes);
        operation.origin.source = source.into();
        operation.origin.trust = adapter.trust;
        operation.origin.place = route.base_url.clone().unwrap_or_else(|| api.base_url.as_str().into());
        api.routes.insert(name, route);
        api.operations.push(operation);
    }
    let deleted = unclaimed.into_values().flatten().filter_map(|operation| described.routes.get(&operation.name));
    let deleted = deleted.map(|route| UnservedRequest { method: Some(route.method), path: route.path.clone() });
    api.unserved = described.unserved.into_iter().chain(deleted).collect();
    Ok(others)
}

/// Takes the operation with this request. If there are several, takes the one of the same name.
fn claim(unclaimed: &mut HashMap<String, Vec<Operation>>, maps_to: &str, name: &str) -> Option<Operation> {
    let candidates = unclaimed.get_mut(maps_to)?;
    let same_name = candidates.iter().position(|operation| &*operation.name == name);
    let index = same_name.or((!candidates.is_empty()).then_some(0))?;
    Some(candidates.remove(index))
}

/// Applies the reviewer's changes to an operation.
fn review(
    mut operation: Operation,
    reviewed: &AdapterOperation,
    types: &Types,
    is_settled: bool,
    notes: &mut Vec<String>,
) -> Operation {
    let effective = hold_to_description(reviewed, &operation, is_settled);
    if let Some(ignored) = &effective.ignored {
        notes.push(format!("'{}': {ignored}", reviewed.name));
        operation.safety.danger_evidence = Some(text::presentable(ignored).into());
    } else if (effective.category, effective.danger) != (operation.category, operation.safety.danger) {
        operation.safety.danger_evidence = Some("its adapter file says so".into());
    }
    (operation.category, operation.safety.danger) = (effective.category, effective.danger);
    operation.name = reviewed.name.as_str().into();
    operation.origin.own_name = operation.name.clone();
    if reviewed.description != *operation.description {
        operation.description = text::presentable(&reviewed.description).into();
    }
    if let Some(returns) = reviewed.returns.as_deref().filter(|returns| *returns != &*operation.returns.description) {
        operation.returns.description = text::presentable(returns).into();
    }
    operation.safety.safeguards = offer::safeguards(reviewed);
    let named = |name: &str| reviewed.parameters.iter().find(|parameter| parameter.name == name);
    for unknown in reviewed.parameters.iter().filter(|parameter| operation.parameter(&parameter.name).is_none()) {
        notes.push(format!(
            "'{}': the description has no parameter '{}', so it is left out",
            reviewed.name, unknown.name
        ));
    }
    for missing in
        operation.parameters.iter().filter(|parameter| parameter.required && named(&parameter.name).is_none())
    {
        notes.push(format!("'{}' leaves out '{}', which the API demands", reviewed.name, missing.name));
    }
    operation.parameters.retain(|parameter| named(&parameter.name).is_some());
    let requirements = std::mem::take(&mut operation.requirements).into_iter();
    operation.requirements =
        requirements.filter_map(|requirement| requirement.limited_to(|name| named(name).is_some())).collect();
    for parameter in &mut operation.parameters {
        if let Some(reviewed) = reviewed.parameters.iter().find(|candidate| candidate.name == *parameter.name) {
            review_parameter(parameter, reviewed, types);
        }
    }
    operation
}

fn review_parameter(parameter: &mut Parameter, reviewed: &AdapterParameter, types: &Types) {
    let written = written_parameter(parameter, types);
    let mut changes = Map::new();
    for key in NARROWING {
        let (value, built) = (reviewed.schema.get(*key), written.get(*key));
        if let Some(value) = value.filter(|value| !built.is_some_and(|built| is_same(built, value))) {
            changes.insert((*key).to_owned(), value.clone());
        }
    }
    if changes.contains_key("default") {
        parameter.schema.is_source_default = false;
    }
    offer::tighten(&mut parameter.schema, &Value::Object(changes));
    parameter.required |= reviewed.required;
    let described = reviewed.schema.get("description").and_then(Value::as_str);
    if described != parameter.schema.description.as_deref() {
        parameter.schema.description = described.map(|description| text::presentable(description).into());
    }
}

/// Whether two values are equal. 5 and 5.0 are.
fn is_same(a: &Value, b: &Value) -> bool {
    a == b || a.as_f64().is_some_and(|number| Some(number) == b.as_f64())
}

/// Applies the reviewer's changes to the route: another `unwrap`, smaller pages, or no pagination.
fn review_route(route: &Arc<Route>, reviewed: &AdapterOperation) -> Arc<Route> {
    let mut changed = (**route).clone();
    if let Some(unwrap) = &reviewed.unwrap {
        changed.unwrap = Some(unwrap.as_str().into());
    }
    let was_written = changed.pagination.as_ref().is_some_and(|pagination| written_pagination(pagination).is_some());
    match (&mut changed.pagination, &reviewed.pagination) {
        (Some(pagination), Some(reviewed)) => {
            if let Some(limit) = reviewed.max_limit {
                limit_pages(pagination, limit);
            }
        }
        (pagination, None) if was_written => *pagination = None,
        _ => {}
    }
    if changed == **route { route.clone() } else { Arc::new(changed) }
}

fn limit_pages(pagination: &mut Pagination, limit: u64) {
    let (Pagination::Offset { max_size, .. }
    | Pagination::Page { max_size, .. }
    | Pagination::Cursor { max_size, .. }
    | Pagination::Link { max_size, .. }) = pagination;
    *max_size = Some(max_size.map_or(limit, |max| max.min(limit)));
}
