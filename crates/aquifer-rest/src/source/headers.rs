//! Headers that the operator adds to those of a description: headers that callers fill, and the idempotency key.

use std::sync::Arc;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema};

use super::RestSettings;
use crate::adapter::INPUT;
use crate::api::Api;
use crate::error::{RestError, RestProblem};
use crate::route::{Notation, Place, Route, RouteParameter, Style, is_header_name, is_reserved_header};

/// Adds the headers to all operations and their routes.
pub(super) fn add(settings: &mut RestSettings) -> Result<(), RestError> {
    for header in settings.call_headers.iter().chain(&settings.idempotency_header) {
        check(header, settings).map_err(|problem| {
            RestError::new(RestProblem::InvalidRequest(format!("the header '{header}' {problem}")), false)
        })?;
    }
    let idempotency_header: Option<Arc<str>> = settings.idempotency_header.as_deref().map(Into::into);
    let names: Vec<String> = settings.call_headers.iter().map(|header| parameter_name(header, &settings.api)).collect();
    let routes = &mut settings.api.routes;
    for operation in settings.api.operations.iter_mut().filter(|operation| operation.safety.quarantine.is_none()) {
        let Some(route) = routes.get_mut(&operation.name) else { continue };
        let route = Arc::make_mut(route);
        for (header, name) in settings.call_headers.iter().zip(&names) {
            add_parameter(header, name, operation, route);
        }
        if !route.method.is_safe() && route.idempotency_header.is_none() {
            route.idempotency_header.clone_from(&idempotency_header);
        }
    }
    Ok(())
}

fn check(header: &str, settings: &RestSettings) -> Result<(), &'static str> {
    let is_stated_elsewhere = ["accept", "content-type"].iter().any(|known| header.eq_ignore_ascii_case(known));
    if !is_header_name(header) || is_reserved_header(header) || is_stated_elsewhere {
        return Err("cannot be set by callers");
    }
    if settings.client.headers.iter().any(|(fixed, _)| fixed.eq_ignore_ascii_case(header)) {
        return Err("has a fixed value already");
    }
    let is_credential = |place| place == crate::CredentialPlace::Header(header.to_ascii_lowercase());
    if settings.api.auth.iter().any(|scheme| is_credential(scheme.place())) {
        return Err("holds the credential of the API");
    }
    Ok(())
}

/// The parameter name for a header: a name that is free in all operations, including the changes of updates. It is the
/// same everywhere, because an update by PUT starts with a read request.
fn parameter_name(header: &str, api: &Api) -> String {
    let is_field = |operation: &Operation, name: &str| {
        let kind = operation.parameter(INPUT).map(|input| &input.schema.resolve(&api.types).kind);
        matches!(kind, Some(Kind::Object(shape)) if shape.fields.iter().any(|field| &*field.name == name))
    };
    let is_taken = |name: &str| {
        api.operations.iter().any(|operation| operation.parameter(name).is_some() || is_field(operation, name))
    };
    let mut name = snake_identifier(header);
    while name.is_empty() || is_taken(&name) {
        name.push_str(if name.is_empty() { "header" } else { "_header" });
    }
    name
}

/// Adds a parameter for a header, unless one exists.
fn add_parameter(header: &str, name: &str, operation: &mut Operation, route: &mut Route) {
    let is_known = |parameter: &RouteParameter| {
        matches!(parameter.place, Place::Header(_)) && parameter.original_name.eq_ignore_ascii_case(header)
    };
    let is_filled = route.idempotency_header.as_deref().is_some_and(|known| known.eq_ignore_ascii_case(header));
    let is_fixed = route.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(header));
    if is_filled || is_fixed || route.parameters.iter().any(is_known) {
        return;
    }
    let words = format!("The header {header} of the request.");
    let mut parameter = Parameter::optional(name, Schema::string().describe(&words));
    parameter.original_name = Some(header.into());
    operation.parameters.push(parameter);
    let notation = Notation::Style { style: Style::Simple, explode: false };
    let (name, original_name) = (name.into(), header.into());
    route.parameters.push(RouteParameter { name, original_name, place: Place::Header(notation) });
}
