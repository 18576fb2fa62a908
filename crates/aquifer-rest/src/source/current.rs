//! How the resource that a PUT replaces is read.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Operation, SafetyOverride};
use aquifer_protocol::requirement::Requirement;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape, Types};
use serde_json::{Map, Value};

use super::offering;
use super::writable::is_read_only;
use crate::adapter::INPUT;
use crate::route::{Method, Place, Route, RouteParameter};

/// How the resource that a PUT replaces is read.
#[derive(Debug, Clone)]
pub(super) struct Current {
    /// The operation that reads it.
    pub(super) operation: Arc<str>,
    /// Its request.
    pub(super) route: Arc<Route>,
    /// The parameters of that request, each with the PUT parameter of the same meaning.
    pub(super) arguments: Vec<(Arc<str>, Arc<str>)>,
    /// The fields of the request body, with the requirements of the API.
    pub(super) body: Shape,
    /// What several of these fields have to meet together.
    pub(super) requirements: Vec<Requirement>,
}

impl Current {
    /// The parameters of the request that reads, for these parameters of the PUT.
    pub(super) fn arguments_of(&self, params: &Map<String, Value>) -> Map<String, Value> {
        let given = self.arguments.iter().filter_map(|(wanted, own)| Some((wanted, params.get(&**own)?)));
        given.map(|(wanted, value)| (wanted.to_string(), value.clone())).collect()
    }
}

/// An operation that reads a single resource.
#[derive(Debug)]
struct Reader {
    operation: Operation,
    route: Arc<Route>,
}

/// The operations that read a single resource, by base URL and path.
#[derive(Debug)]
pub(super) struct Readers(HashMap<(Option<Arc<str>>, Arc<str>), Reader>);

impl Readers {
    /// Finds the operations that only read and can be called. `overrides` are what the operator says about
    /// them.
    pub(super) fn new(
        operations: &[Operation],
        routes: &BTreeMap<Arc<str>, Arc<Route>>,
        overrides: &BTreeMap<String, SafetyOverride>,
    ) -> Self {
        let is_safe = |one: &&Operation| {
            let said = overrides.get(&*one.name).and_then(|said| said.danger(one.category));
            one.category == Category::Read
                && said.unwrap_or(one.safety.danger) == Danger::Safe
                && one.safety.quarantine.is_none()
        };
        let readers = operations.iter().filter(is_safe).filter_map(|operation| {
            let route = routes.get(&operation.name)?;
            let reads_one = route.method == Method::Get && route.pagination.is_none();
            let key = (route.base_url.clone(), route.path.clone());
            reads_one.then(|| (key, Reader { operation: operation.clone(), route: route.clone() }))
        });
        Self(readers.collect())
    }

    /// How to read the resource that a PUT replaces, if it can be read. Fields of the body that the path repeats are no
    /// changes: they are left out of `input`, and written back as they were read. `whole` is the operation with them.
    pub(super) fn current(
        &self,
        operation: &mut Operation,
        whole: &Operation,
        route: &Route,
        types: &Types,
    ) -> Option<Current> {
        if operation.category != Category::Update || route.method != Method::Put || !writes_input(route) {
            return None;
        }
        let reader = self.0.get(&(route.base_url.clone(), route.path.clone()))?;
        let body = input_shape(whole, types)?;
        if !returns_some_of(reader, body, types) {
            return None;
        }
        let arguments = arguments(reader, route)?;
        if !operation.takes_changes() {
            let mut changed = operation.clone();
            set_input(&mut changed, changes_in(operation, body));
            offering::take_changes(&mut changed, route, types);
            *operation = Some(changed).filter(Operation::takes_changes)?;
        }
        Some(Current {
            operation: reader.operation.name.clone(),
            route: reader.route.clone(),
            arguments,
            body: body.clone(),
            requirements: operation.requirements.iter().filter(|one| is_about_input(one)).cloned().collect(),
        })
    }
}

/// The parameters of a reader, each with the PUT parameter of the same meaning. `None` if the PUT has no counterpart
/// for one that the reader requires.
fn arguments(reader: &Reader, route: &Route) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    let mut arguments = Vec::new();
    for wanted in &reader.route.parameters {
        let is_same = |known: &&RouteParameter| {
            known.original_name == wanted.original_name
                && std::mem::discriminant(&known.place) == std::mem::discriminant(&wanted.place)
        };
        match route.parameters.iter().find(is_same) {
            Some(known) => arguments.push((wanted.name.clone(), known.name.clone())),
            None if matches!(wanted.place, Place::Path(_)) => return None,
            None if reader.operation.parameter(&wanted.name).is_some_and(|one| one.required) => return None,
            None => {}
        }
    }
    Some(arguments)
}

/// Whether a reader may return what the PUT writes: an object with at least one field of the body, or an unknown type.
fn returns_some_of(reader: &Reader, body: &Shape, types: &Types) -> bool {
    let declared = types.get(&*reader.operation.returns.type_name).filter(|_| reader.route.unwrap.is_none());
    let mut writable = body.fields.iter().filter(|field| !is_read_only(&field.schema, types)).peekable();
    if writable.peek().is_none() {
        return false;
    }
    match declared.map(|declared| &declared.resolve(types).kind) {
        Some(Kind::Object(returned)) if !returned.fields.is_empty() && matches!(returned.rest, Rest::Of(_)) => true,
        Some(Kind::Object(returned)) if !returned.fields.is_empty() => {
            let names: HashSet<&str> = returned.fields.iter().map(|field| &*field.name).collect();
            writable.any(|field| names.contains(&*field.name))
        }
        None | Some(Kind::Any | Kind::Object(_) | Kind::Named(_) | Kind::Union(_)) => true,
        Some(_) => false,
    }
}

/// Whether the `input` of an operation is the body of its request.
pub(super) fn writes_input(route: &Route) -> bool {
    route.parameters.iter().any(|parameter| &*parameter.name == INPUT && parameter.place == Place::Body)
}

fn input_shape<'a>(operation: &'a Operation, types: &'a Types) -> Option<&'a Shape> {
    match &operation.parameter(INPUT)?.schema.resolve(types).kind {
        Kind::Object(shape) => Some(shape),
        _ => None,
    }
}

fn is_about_input(requirement: &Requirement) -> bool {
    requirement.within.as_deref() == Some(INPUT)
}

/// Makes fields optional that are merged from the current state.
pub(super) fn relax_changes(operation: &mut Operation, current: &Current) {
    operation.requirements.retain(|requirement| !is_about_input(requirement));
    // `null` removes a field that the API does not require.
    let relaxed = current.body.fields.iter().cloned().map(|mut field| {
        field.schema.nullable |= !field.required;
        Parameter { required: false, ..field }
    });
    let rest = match &current.body.rest {
        Rest::Of(rest) => Rest::Of(rest.clone()),
        Rest::Free | Rest::Refused | Rest::Documented => Rest::Refused,
    };
    let shape = changes_in(operation, &Shape { fields: relaxed.collect(), rest });
    set_input(operation, shape);
}

/// The fields of a body that are not parameters of the operation as well.
fn changes_in(operation: &Operation, body: &Shape) -> Shape {
    let fields = body.fields.iter().filter(|field| operation.parameter(&field.name).is_none());
    Shape { fields: fields.cloned().collect(), rest: body.rest.clone() }
}

fn set_input(operation: &mut Operation, shape: Shape) {
    if let Some(input) = operation.parameters.iter_mut().find(|parameter| &*parameter.name == INPUT) {
        let description = input.schema.description.take();
        input.schema = Schema { description, ..Schema::new(Kind::Object(shape)) };
    }
}
