//! The operations of an API for the catalog, and the request of each.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use aquifer_engine::Offering;
use aquifer_engine::shape::{self, Controls, ResultShape};
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::{Backing, Operation, RowPlace};
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};

use super::current::{self, Readers};
use super::{Endpoint, RestSettings, effect, files, result_headers};
use crate::adapter::{INPUT, hide_paging};
use crate::route::{Method, Place, Route};

/// What the description of a PUT says if nothing is merged into what is stored.
const REPLACES: &str = "Replaces everything: fields that are left out are lost.";

/// Builds the offering of an API, and its endpoints by operation name.
pub(super) fn build(settings: RestSettings) -> (Offering, BTreeMap<Arc<str>, Endpoint>) {
    let RestSettings {
        name,
        mut api,
        controls,
        operation_controls,
        rows,
        mut paginations,
        max_pages,
        safety_overrides,
        file_roots,
        ..
    } = settings;
    let tagged: HashSet<(Option<Arc<str>>, Arc<str>)> = {
        let conditional = api.routes.values().filter(|route| result_headers::takes_entity_tag(route));
        conditional.map(|route| (route.base_url.clone(), route.path.clone())).collect()
    };
    let readers = Readers::new(&api.operations, &api.routes, &safety_overrides);
    let mut offering = Offering { types: api.types, ..Offering::default() };
    let mut endpoints = BTreeMap::new();
    for mut operation in api.operations {
        let Some(route) = api.routes.get(&operation.name) else { continue };
        let mut route = (**route).clone();
        if let Some(pagination) = paginations.remove(&*operation.name) {
            route.pagination = pagination;
            route.unmanaged_paging.clear();
        }
        route.complete_paging();
        hide_paging(&mut operation, &route);
        operation.origin.source = name.as_str().into();
        operation.origin.backing = Backing::Tool(format!("{} {}", route.method.as_str(), route.path).into());
        if operation.safety.quarantine.is_some() {
            offering.operations.push(operation);
            continue;
        }
        if let Some(said) = safety_overrides.get(&*operation.name) {
            warn_of_unknown(&operation.name.clone(), &said.apply(&mut operation));
        }
        if !file_roots.is_empty() {
            files::offer_paths(&mut operation, &route);
        }
        let whole = operation.clone();
        take_changes(&mut operation, &route, &offering.types);
        let current = readers.current(&mut operation, &whole, &route, &offering.types);
        if operation.takes_changes() {
            offer_dry_run(&mut operation);
        }
        if let Some(current) = &current {
            current::relax_changes(&mut operation, current);
            operation.routing.may_need.push(current.operation.clone());
            operation.routing.reads_first = Some(current.operation.clone());
        } else if route.method == Method::Put && operation.category == Category::Update && current::writes_input(&route)
        {
            warn_of_replacement(&mut operation);
        }
        let controls = operation_controls.get(&*operation.name).copied().unwrap_or(controls);
        let rows = rows.get(&*operation.name).map(String::as_str);
        let shape = declared_shape(&operation, &route, &offering.types).with(rows, None);
        let fields = take_fields_parameter(&mut operation, &route, &shape, controls);
        shape::add_controls(&mut operation, &shape, controls);
        shape::declare_pages(&mut operation, &mut offering.types);
        if let Some(shaping) = &mut operation.capabilities.shaping {
            shaping.is_paged = is_paged(&route);
            shaping.max_pages = max_pages.get(&*operation.name).copied();
            shaping.sends_fields = fields.is_some();
        }
        if let Some(fields) = api.default_fields.remove(&operation.name) {
            shape::set_default_fields(&mut operation, &fields);
        }
        let body = body_parameters(&operation, &route);
        let is_read = operation.category == Category::Read;
        let is_tagged = tagged.contains(&(route.base_url.clone(), route.path.clone()));
        let result_headers = result_headers::select(&route, is_read, is_tagged);
        let (route, effect) = (Arc::new(route), effect(&operation));
        let endpoint = Endpoint { route, effect, body, current, result_headers, is_read, fields };
        endpoints.insert(operation.name.clone(), endpoint);
        offering.operations.push(operation);
    }
    (offering, endpoints)
}

/// Warns of destinations in the configuration that the operation has no parameters for.
fn warn_of_unknown(operation: &str, destinations: &[&str]) {
    if !destinations.is_empty() {
        tracing::warn!(
            operation,
            ?destinations,
            "'destinations' in the configuration names no parameters of the operation"
        );
    }
}

/// Whether the engine is asked to fetch further pages: where it is known how, and where a response may contain a link.
fn is_paged(route: &Route) -> bool {
    route.pagination.is_some() || route.method == Method::Get
}

fn body_parameters(operation: &Operation, route: &Route) -> Vec<Parameter> {
    let in_body = |name: &str| {
        let place = route.parameters.iter().find(|parameter| &*parameter.name == name).map(|one| one.place);
        matches!(place, Some(Place::Body | Place::BodyField))
    };
    operation.parameters.iter().filter(|parameter| in_body(&parameter.name)).cloned().collect()
}

/// What the description says about the results of an operation. A list that comes in pages has rows, wherever they are.
fn declared_shape(operation: &Operation, route: &Route, types: &Types) -> ResultShape {
    let declared = types.get(&operation.returns.type_name).and_then(|schema| match &route.unwrap {
        Some(path) => inside(schema, path, types),
        None => Some(&**schema),
    });
    match declared.map(|schema| ResultShape::declared(schema, types)).unwrap_or_default() {
        ResultShape::Rows(place) if route.pagination.is_some() => ResultShape::Rows(place.as_list()),
        rows @ ResultShape::Rows(_) => rows,
        _ if route.pagination.is_some() => ResultShape::Rows(RowPlace::Detected),
        other => other,
    }
}

/// The type of the value with this path.
fn inside<'a>(schema: &'a Schema, path: &str, types: &'a Types) -> Option<&'a Schema> {
    let mut steps = path.split('.').filter(|step| !step.is_empty() && *step != "$");
    steps.try_fold(schema, |schema, step| {
        let Kind::Object(shape) = &schema.resolve(types).kind else { return None };
        let is_named = |field: &&Parameter| field.original_name.as_deref().unwrap_or(&field.name) == step;
        shape.fields.iter().find(is_named).map(|field| &field.schema)
    })
}

/// Adds controls to an operation whose results turned out to have a shape that the description does not declare.
pub(super) fn add_observed(
    operation: &mut Operation,
    route: Option<&Route>,
    types: &mut Types,
    observed: &ResultShape,
    controls: Controls,
) {
    let Some(max_pages) = operation.capabilities.shaping.as_ref().map(|shaping| shaping.max_pages) else { return };
    shape::add_observed_controls(operation, types, observed, controls);
    if let (Some(added), Some(route)) = (&mut operation.capabilities.shaping, route) {
        added.is_paged = is_paged(route);
        added.max_pages = max_pages;
    }
}

/// Removes the parameter with which the API selects fields and returns it. Callers always select fields with `fields`.
fn take_fields_parameter(
    operation: &mut Operation,
    route: &Route,
    shape: &ResultShape,
    controls: Controls,
) -> Option<Parameter> {
    let name = route.fields_parameter.as_ref()?;
    if operation.origin.native || operation.category != Category::Read || controls == Controls::None {
        return None;
    }
    let index = operation.parameters.iter().position(|parameter| parameter.name == *name && !parameter.required)?;
    let taken = operation.parameters.remove(index);
    let is_offered =
        shape::control_parameters(&operation.parameters, shape, controls).iter().any(|one| &*one.name == "fields");
    if !is_offered {
        operation.parameters.insert(index, taken);
        return None;
    }
    Some(taken)
}

/// Marks an UPDATE operation that takes its changes in `input` as native (R-REQ-6). A definition that the catalog would
/// refuse is not marked, so that it does not prevent the others from being served.
pub(super) fn take_changes(operation: &mut Operation, route: &Route, types: &Types) {
    if operation.category != Category::Update || !current::writes_input(route) {
        return;
    }
    let mut changed = operation.clone();
    changed.origin.native = true;
    for parameter in changed.parameters.iter_mut().filter(|parameter| &*parameter.name == INPUT) {
        parameter.required = true;
    }
    if Catalog::check(&changed, types).is_ok() {
        *operation = changed;
    }
}

/// Says that a PUT replaces everything, if nothing is merged into what is stored.
fn warn_of_replacement(operation: &mut Operation) {
    let described = operation.description.trim_end();
    let end = if described.is_empty() || described.ends_with(['.', '!', '?']) { "" } else { "." };
    operation.description = format!("{described}{end} {REPLACES}").trim_start().into();
}

fn offer_dry_run(operation: &mut Operation) {
    if operation.parameter("dry_run").is_none() {
        let words = "Show the request without sending it.";
        operation.parameters.push(Parameter::optional("dry_run", Schema::new(Kind::Boolean).describe(words)).shared());
        operation.safety.has_safe_dry_run = true;
    }
}
