//! Adapter files whose target is an HTTP API: the file's operations, and the route of each (R-DIS-9).

mod build;
mod drift;
mod fields;
mod record;
mod reviewed;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use aquifer_discovery::Offer;
use aquifer_discovery::adapter::{
    Adapter, AdapterAuth, AdapterOperation, AdapterPagination, AdapterParameter, KeyPlace, KnownEvidence, MapsTo,
    PaginationStyle, ParameterPlace, Target,
};
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};

use crate::api::{Api, AuthScheme, CredentialPlace};
use crate::route::{Body, BodyEncoding, Method, Notation, Pagination, Place, Route, RouteParameter, Style};

pub use build::{BuildError, beyond_front_matter, build_adapter};
use record::ApiRecord;

/// Why an adapter file cannot be served.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdapterError {
    /// Its target is not an HTTP API.
    #[error("its target is not an HTTP API")]
    NotHttp,
    /// Its sidecar cannot be used.
    #[error("its sidecar cannot be used: {0}")]
    Sidecar(String),
}

/// The parameter that holds the changes of an UPDATE operation (R-REQ-6).
pub(crate) const INPUT: &str = "input";

impl Api {
    /// Reads the API of an adapter file. If `is_settled`, the operator trusts the file, so its claims about danger
    /// apply unless hard evidence contradicts them.
    ///
    /// A file that was built from a description is served like the description, with the changes of its reviewer.
    /// Operations that were written by hand are served as the file defines them.
    ///
    /// # Errors
    ///
    /// If the target is not an HTTP API, or the sidecar cannot be used.
    pub fn from_adapter(adapter: &Adapter, source: &str, is_settled: bool) -> Result<Self, AdapterError> {
        let Target::Rest { base_url } = &adapter.target else { return Err(AdapterError::NotHttp) };
        let mut api = Self {
            title: adapter.name.clone(),
            version: Some(adapter.version.clone()),
            base_url: base_url.clone(),
            auth: auth(&adapter.auth).into_iter().collect(),
            ..Self::default()
        };
        let written = match &adapter.api {
            Some(record) => {
                let record = ApiRecord::from_json(record).map_err(AdapterError::Sidecar)?;
                reviewed::add(&mut api, adapter, &record, source, is_settled)?
            }
            None => adapter.operations.iter().collect(),
        };
        add_written(&mut api, adapter, written, source, is_settled);
        for operation in &adapter.operations {
            fields::select(&mut api, operation);
        }
        let order: HashMap<&str, usize> =
            adapter.operations.iter().enumerate().map(|(index, operation)| (operation.name.as_str(), index)).collect();
        api.operations.sort_by_key(|operation| order.get(&*operation.name).copied());
        Ok(api)
    }
}

/// Adds operations that were written by hand.
fn add_written(api: &mut Api, adapter: &Adapter, written: Vec<&AdapterOperation>, source: &str, is_settled: bool) {
    let evidence = KnownEvidence { is_settled, ..KnownEvidence::default() };
    let handwritten = Adapter { operations: written.into_iter().cloned().collect(), api: None, ..adapter.clone() };
    let offer = Offer::from_adapter_with_evidence(&handwritten, source, &evidence);
    api.types.extend(offer.types);
    api.notes.extend(offer.ignored);
    for (described, mut operation) in handwritten.operations.iter().zip(offer.operations) {
        let Some(mut route) = route(described) else { continue };
        operation.safety.is_idempotent = route.method.is_idempotent();
        if operation.category == Category::Update {
            // A PUT replaces everything, so required fields stay required. They become optional later if the current
            // state can be read and merged.
            let keeps_required = route.method == Method::Put;
            gather_changes(&mut operation, &mut route, keeps_required);
        }
        api.routes.insert(operation.name.clone(), Arc::new(route));
        api.operations.push(operation);
    }
}

fn auth(described: &AdapterAuth) -> Option<AuthScheme> {
    match described.clone() {
        AdapterAuth::None => None,
        AdapterAuth::Bearer { token_env, header, prefix } => {
            Some(AuthScheme::Credential { place: CredentialPlace::Header(header), prefix, variable: token_env? })
        }
        AdapterAuth::ApiKey { key_env, header, place } => {
            let place = match place {
                KeyPlace::Header => CredentialPlace::Header(header),
                KeyPlace::Query => CredentialPlace::Query(header),
                KeyPlace::Cookie => CredentialPlace::Cookie(header),
            };
            Some(AuthScheme::Credential { place, prefix: String::new(), variable: key_env? })
        }
        AdapterAuth::Basic { username_env, password_env } => {
            Some(AuthScheme::Basic { username_variable: username_env, password_variable: password_env })
        }
        AdapterAuth::OAuth2 { token_url, client_id_env, client_secret_env, refresh_token_env, scopes } => {
            match (refresh_token_env, client_secret_env) {
                (Some(token_variable), secret_variable) => Some(AuthScheme::RefreshToken {
                    token_url,
                    id_variable: client_id_env,
                    secret_variable,
                    token_variable,
                }),
                (None, Some(secret_variable)) => Some(AuthScheme::ClientCredentials {
                    token_url,
                    id_variable: client_id_env,
                    secret_variable,
                    scopes,
                }),
                (None, None) => None,
            }
        }
    }
}

/// The route of an operation of the file.
fn route(described: &AdapterOperation) -> Option<Route> {
    let MapsTo::Route { method, path } = &described.maps_to else { return None };
    let method = Method::from_name(method)?;
    let parameters: Vec<RouteParameter> = described
        .parameters
        .iter()
        .map(|parameter| RouteParameter {
            // Placeholders use the file's name of the parameter.
            name: parameter.name.as_str().into(),
            original_name: original_name(parameter, path).into(),
            place: place(parameter, method, path),
        })
        .collect();
    let has_body = parameters.iter().any(|parameter| matches!(parameter.place, Place::Body | Place::BodyField));
    let body = has_body.then(|| Body {
        media_type: "application/json".into(),
        encoding: BodyEncoding::Json,
        required: false,
        fields: Vec::new(),
    });
    Some(Route {
        path: path.as_str().into(),
        parameters,
        body,
        pagination: described.pagination.as_ref().map(pagination),
        unwrap: described.unwrap.as_deref().map(Into::into),
        ..Route::new(method)
    })
}

fn is_placeholder(parameter: &AdapterParameter, path: &str) -> bool {
    path.contains(&format!("{{{}}}", parameter.name))
}

fn original_name<'a>(parameter: &'a AdapterParameter, path: &str) -> &'a str {
    if is_placeholder(parameter, path) { &parameter.name } else { &parameter.original_name }
}

/// Placeholders go into the path. Other parameters go where the file says. By default, they go into the body of POST,
/// PUT and PATCH requests and into the query of others.
fn place(parameter: &AdapterParameter, method: Method, path: &str) -> Place {
    let styled = |style: Style, explode: bool| Notation::Style { style, explode };
    let in_query = Place::Query { notation: styled(Style::Form, true), allow_reserved: false };
    if is_placeholder(parameter, path) {
        return Place::Path(styled(Style::Simple, false));
    }
    match (parameter.place, method) {
        (Some(ParameterPlace::Header), _) => Place::Header(styled(Style::Simple, false)),
        (Some(ParameterPlace::Cookie), _) => Place::Cookie(styled(Style::Form, true)),
        (Some(ParameterPlace::Query), _) => in_query,
        (Some(ParameterPlace::Body), _) => Place::BodyField,
        (Some(ParameterPlace::Path) | None, Method::Post | Method::Put | Method::Patch) => Place::BodyField,
        (Some(ParameterPlace::Path) | None, _) => in_query,
    }
}

fn pagination(described: &AdapterPagination) -> Pagination {
    let page = |default: &str| -> Arc<str> { described.page_param.as_deref().unwrap_or(default).into() };
    let size = |default: Option<&str>| described.size_param.as_deref().or(default).map(Into::into);
    let max_size = described.max_limit;
    match described.style {
        PaginationStyle::Offset => Pagination::Offset { offset: page("offset"), limit: size(Some("limit")), max_size },
        PaginationStyle::Page => {
            let first = described.first_page;
            Pagination::Page { page: page("page"), size: size(None), first, max_size }
        }
        PaginationStyle::Cursor => Pagination::Cursor {
            cursor: page("cursor"),
            next: described.next_path.as_deref().unwrap_or_default().into(),
            limit: size(None),
            max_size,
        },
        PaginationStyle::Link => Pagination::Link { limit: size(None), max_size },
    }
}

/// Removes the paging parameters of the target, because callers always page with `first` and `after`.
pub(crate) fn hide_paging(operation: &mut Operation, route: &Route) {
    let Some(pagination) = &route.pagination else { return };
    let hidden: HashSet<&str> = pagination.parameters().collect();
    let is_hidden = |name: &str| {
        route.parameters.iter().any(|parameter| &*parameter.name == name && hidden.contains(&*parameter.original_name))
    };
    operation.parameters.retain(|parameter| !is_hidden(&parameter.name));
}

/// Moves the body fields into `input`. Identifiers stay next to it (R-REQ-6).
fn gather_changes(operation: &mut Operation, route: &mut Route, keeps_required: bool) {
    let body_field = |route: &Route, name: &str| {
        let parameter = route.parameters.iter().find(|parameter| &*parameter.name == name);
        parameter
            .filter(|parameter| parameter.place == Place::BodyField)
            .map(|parameter| parameter.original_name.clone())
    };
    let (changes, others): (Vec<Parameter>, Vec<Parameter>) = std::mem::take(&mut operation.parameters)
        .into_iter()
        .partition(|parameter| body_field(route, &parameter.name).is_some());
    operation.parameters = others;
    let is_input = |change: &Parameter| &*change.name == INPUT && matches!(change.schema.kind, Kind::Object(_));
    let input = match changes.as_slice() {
        [] => return,
        [only] if is_input(only) => only.clone(),
        _ => {
            let fields = changes.into_iter().map(|mut change| {
                // A default would overwrite the stored value.
                change.schema.default = None;
                change.required &= keeps_required;
                change.name = body_field(route, &change.name).unwrap_or(change.name);
                change.original_name = None;
                change
            });
            let shape = Shape { fields: fields.collect(), rest: Rest::Refused };
            Parameter::required(INPUT, Schema::new(Kind::Object(shape)).describe("The changes."))
        }
    };
    operation.parameters.push(input);
    operation.origin.native = true;
    route.parameters.retain(|parameter| parameter.place != Place::BodyField);
    route.parameters.push(RouteParameter { name: INPUT.into(), original_name: INPUT.into(), place: Place::Body });
}
