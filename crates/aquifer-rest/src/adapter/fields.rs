//! Field selection of adapter files: which parameter selects fields at the target, and which fields are returned by
//! default.

use std::sync::Arc;

use aquifer_discovery::adapter::AdapterOperation;

use crate::api::Api;
use crate::route::{Place, RouteParameter};

/// Names of parameters that select fields, the most likely first.
const NAMES: &[&str] = &["fields", "_fields", "field", "$select", "select", "$fields", "properties"];

/// Applies `supports_fields` and `default_fields` of an operation.
pub(super) fn select(api: &mut Api, described: &AdapterOperation) {
    let name: Arc<str> = described.name.as_str().into();
    let Some(route) = api.routes.get_mut(&name) else { return };
    if described.supports_fields {
        match fields_parameter(&route.parameters) {
            Some(parameter) => Arc::make_mut(route).fields_parameter = Some(parameter),
            None => api.notes.push(format!(
                "'{name}' supports fields and has no parameter for them, such as 'fields', so the API returns all"
            )),
        }
    }
    if !described.default_fields.is_empty() {
        let fields = described.default_fields.iter().map(|field| field.as_str().into()).collect();
        api.default_fields.insert(name, fields);
    }
}

fn fields_parameter(parameters: &[RouteParameter]) -> Option<Arc<str>> {
    let in_query = || parameters.iter().filter(|parameter| matches!(parameter.place, Place::Query { .. }));
    let selector =
        NAMES.iter().find_map(|name| in_query().find(|parameter| parameter.original_name.eq_ignore_ascii_case(name)));
    let selector = selector
        .or_else(|| in_query().find(|parameter| parameter.original_name.to_ascii_lowercase().ends_with("fields")));
    selector.map(|parameter| parameter.name.clone())
}
