//! Builds an adapter file and its sidecar for an HTTP API. The front matter keeps to the published schema; the sidecar
//! contains the other data that is needed to serve the API.

use std::fmt::Write as _;

use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Parameter, Types};
use aquifer_protocol::trust::Trust;
use serde_json::{Map, Value, json};

use super::build::{FIRST_VERSION, put};
use super::page::plain;
use super::sidecar::ApiSidecar;
use super::{Adapter, AdapterFiles};
use crate::bundle::{BundleError, SCHEMA_VERSION};
use crate::redact;
use crate::schema::{fits, number, type_words};
use crate::text::{self, yaml};

/// The largest list of values that is repeated for each parameter of a shared type.
const MAX_SHARED_VALUES: usize = 100;

/// An adapter for an HTTP API, before it is written.
#[derive(Debug, Clone)]
pub struct ApiAdapter<'a> {
    /// The adapter's name.
    pub name: &'a str,
    /// The title of the API from its description, cleaned.
    pub title: &'a str,
    /// The base URL of every path.
    pub base_url: &'a str,
    /// How it authenticates, in the form of the file.
    pub auth: Value,
    /// The operations.
    pub operations: Vec<ApiOperation<'a>>,
    /// The types they refer to.
    pub types: &'a Types,
    /// The content of the sidecar.
    pub api: Value,
}

/// An operation of an HTTP API, before it is written.
#[derive(Debug, Clone)]
pub struct ApiOperation<'a> {
    /// The operation.
    pub operation: &'a Operation,
    /// The method and the path, with the names of parameters as placeholders.
    pub maps_to: String,
    /// How the target pages, as far as the published schema can express it.
    pub pagination: Option<Value>,
}

/// Builds an adapter for an HTTP API.
pub fn build_api(api: &ApiAdapter<'_>) -> Result<AdapterFiles, BundleError> {
    let front = front_matter(api);
    let adapter = format!("---\n{}---\n\n{}", yaml::write(&front), page(api));
    let sidecar = ApiSidecar {
        schema_version: SCHEMA_VERSION.to_owned(),
        adapter: api.name.to_owned(),
        trust: Trust::Generated,
        api: api.api.clone(),
    };
    let mut sidecar =
        serde_json::to_string_pretty(&sidecar).map_err(|error| BundleError::Malformed(error.to_string()))?;
    sidecar.push('\n');
    Ok(AdapterFiles { name: api.name.to_owned(), adapter, sidecar })
}

fn purpose(api: &ApiAdapter<'_>) -> String {
    let title = if api.title.is_empty() { api.name } else { api.title };
    let count = api.operations.len();
    let operations = if count == 1 { "operation" } else { "operations" };
    format!("HTTP API {}: {count} {operations}", text::shorten(title, 80))
}

fn of_category<'a>(api: &'a ApiAdapter<'a>, category: Category) -> impl Iterator<Item = &'a ApiOperation<'a>> {
    api.operations.iter().filter(move |entry| entry.operation.category == category)
}

fn front_matter(api: &ApiAdapter<'_>) -> Value {
    let mut operations = Map::new();
    for category in Category::ALL {
        let entries: Vec<Value> = of_category(api, category).map(|entry| operation(entry, api.types)).collect();
        if !entries.is_empty() {
            operations.insert(category.as_str().to_ascii_lowercase(), entries.into());
        }
    }
    json!({
        "name": api.name,
        "type": "adapter",
        "version": FIRST_VERSION,
        "description": purpose(api),
        "target": { "base_url": api.base_url, "transport": "http", "protocol": "rest", "serialization": "json" },
        "auth": api.auth,
        "operations": operations,
    })
}

fn operation(entry: &ApiOperation<'_>, types: &Types) -> Value {
    let operation = entry.operation;
    let mut fields = Map::new();
    fields.insert("name".to_owned(), (*operation.name).into());
    fields.insert("maps_to".to_owned(), entry.maps_to.as_str().into());
    fields.insert("description".to_owned(), (*operation.description).into());
    if !operation.parameters.is_empty() {
        let params: Map<String, Value> = operation
            .parameters
            .iter()
            .map(|parameter| (parameter.name.to_string(), Value::Object(written_parameter(parameter, types))))
            .collect();
        fields.insert("params".to_owned(), Value::Object(params));
    }
    let response = json!({ "type": *operation.returns.type_name, "description": *operation.returns.description });
    fields.insert("response".to_owned(), response);
    put(&mut fields, "pagination", entry.pagination.clone());
    fields.insert("danger_level".to_owned(), operation.safety.danger.as_str().into());
    if operation.category == Category::Execute && !operation.safety.is_idempotent {
        fields.insert("non_idempotent".to_owned(), true.into());
    }
    Value::Object(fields)
}

/// A parameter as written to the front matter. If a file differs from this, a reviewer has changed it.
pub fn written_parameter(parameter: &Parameter, types: &Types) -> Map<String, Value> {
    let schema = &parameter.schema;
    let named = schema.resolve(types);
    let type_name = type_words(schema, types);
    let values = schema.allowed.as_ref().or(named.allowed.as_ref().filter(|values| values.len() <= MAX_SHARED_VALUES));
    let allowed = values.filter(|values| !values.is_empty() && values.iter().all(Value::is_string));
    let bound = |declared: Option<f64>, named: Option<f64>| declared.or(named).map(number).filter(Value::is_number);
    let mut fields = Map::new();
    fields.insert("type".to_owned(), type_name.as_str().into());
    fields.insert("required".to_owned(), parameter.required.into());
    put(&mut fields, "description", schema.description.as_deref().map(Value::from));
    put(&mut fields, "default", schema.default.clone().filter(|default| fits(default, &type_name)));
    put(&mut fields, "enum", allowed.map(|values| Value::Array(values.to_vec())));
    put(&mut fields, "minimum", bound(schema.range.minimum, named.range.minimum));
    put(&mut fields, "maximum", bound(schema.range.maximum, named.range.maximum));
    let pattern = schema.pattern.as_ref().or(named.pattern.as_ref());
    put(&mut fields, "pattern", pattern.map(|pattern| pattern.source().into()));
    let format = schema.format.as_ref().or(named.format.as_ref());
    put(&mut fields, "format", format.map(|format| format.as_str().into()));
    // A file with something that looks like a credential is refused.
    fields.retain(|key, value| key == "description" || !holds_credential(value));
    fields
}

fn holds_credential(value: &Value) -> bool {
    match value {
        Value::String(text) => redact::holds_credential(text),
        Value::Array(items) => items.iter().any(holds_credential),
        Value::Object(members) => members.values().any(holds_credential),
        _ => false,
    }
}

/// The Markdown for the people who review the file.
fn page(api: &ApiAdapter<'_>) -> String {
    let mut page = format!("# {}\n\n{}.\n\n", api.name, plain(&purpose(api)));
    page.push_str("Generated from the API's description. The description, and a digest of the definition of each ");
    let _ = writeln!(page, "operation, are in `{}`.", Adapter::sidecar_name(api.name));
    for category in Category::ALL {
        let mut operations = of_category(api, category).peekable();
        if operations.peek().is_none() {
            continue;
        }
        let _ = write!(page, "\n## {category}\n\n| operation | what it does | danger | because |\n|---|---|---|---|\n");
        for ApiOperation { operation, .. } in operations {
            let summary = text::shorten(text::first_sentence(&operation.description), 120);
            let evidence = operation.safety.danger_evidence.as_deref().unwrap_or_default();
            let (name, danger) = (&operation.name, operation.safety.danger);
            let _ = writeln!(page, "| `{name}` | {} | {danger} | {} |", plain(&summary), plain(evidence));
        }
    }
    page
}
