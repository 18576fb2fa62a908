//! Builds an adapter file and its sidecar for an HTTP API. The front matter keeps to the published schema; the sidecar
//! contains what whoever serves the API needs besides.

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
    /// What the API calls itself, cleaned.
    pub title: &'a str,
    /// The base URL of every path.
    pub base_url: &'a str,
    /// How it authenticates, as the file says it.
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
    /// How the target pages, as far as the published schema can say it.
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
    let called = if api.title.is_empty() { api.name } else { api.title };
    let count = api.operations.len();
    let operations = if count == 1 { "operation" } else { "operations" };
    format!("HTTP API {}: {count} {operations}", text::shorten(called, 80))
}

fn of_category<'a>(api: &'a ApiAdapter<'a>, category: Category) -> impl Iterator<Item = &'a ApiOperation<'a>> {
    api.operations.iter().filter(move |made| made.operation.category == category)
}

fn front_matter(api: &ApiAdapter<'_>) -> Value {
    let mut operations = Map::new();
    for category in Category::ALL {
        let own: Vec<Value> = of_category(api, category).map(|made| operation(made, api.types)).collect();
        if !own.is_empty() {
            operations.insert(category.as_str().to_ascii_lowercase(), own.into());
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

fn operation(made: &ApiOperation<'_>, types: &Types) -> Value {
    let own = made.operation;
    let mut written = Map::new();
    written.insert("name".to_owned(), (*own.name).into());
    written.insert("maps_to".to_owned(), made.maps_to.as_str().into());
    written.insert("description".to_owned(), (*own.description).into());
    if !own.parameters.is_empty() {
        let params: Map<String, Value> = own
            .parameters
            .iter()
            .map(|parameter| (parameter.name.to_string(), Value::Object(written_parameter(parameter, types))))
            .collect();
        written.insert("params".to_owned(), Value::Object(params));
    }
    let response = json!({ "type": *own.returns.type_name, "description": *own.returns.description });
    written.insert("response".to_owned(), response);
    put(&mut written, "pagination", made.pagination.clone());
    written.insert("danger_level".to_owned(), own.danger.as_str().into());
    if own.category == Category::Execute && !own.is_idempotent {
        written.insert("non_idempotent".to_owned(), true.into());
    }
    Value::Object(written)
}

/// A parameter as the front matter shows it. What a file says otherwise, a reviewer has changed.
pub fn written_parameter(parameter: &Parameter, types: &Types) -> Map<String, Value> {
    let own = &parameter.schema;
    let named = own.resolve(types);
    let type_name = type_words(own, types);
    let values = own.allowed.as_ref().or(named.allowed.as_ref().filter(|values| values.len() <= MAX_SHARED_VALUES));
    let allowed = values.filter(|values| !values.is_empty() && values.iter().all(Value::is_string));
    let bound = |own: Option<f64>, named: Option<f64>| own.or(named).map(number).filter(Value::is_number);
    let mut written = Map::new();
    written.insert("type".to_owned(), type_name.as_str().into());
    written.insert("required".to_owned(), parameter.required.into());
    put(&mut written, "description", own.description.as_deref().map(Value::from));
    put(&mut written, "default", own.default.clone().filter(|default| fits(default, &type_name)));
    put(&mut written, "enum", allowed.map(|values| Value::Array(values.to_vec())));
    put(&mut written, "minimum", bound(own.range.minimum, named.range.minimum));
    put(&mut written, "maximum", bound(own.range.maximum, named.range.maximum));
    let pattern = own.pattern.as_ref().or(named.pattern.as_ref());
    put(&mut written, "pattern", pattern.map(|pattern| pattern.source().into()));
    let format = own.format.as_ref().or(named.format.as_ref());
    put(&mut written, "format", format.map(|format| format.as_str().into()));
    // A file with something that looks like a credential is refused.
    written.retain(|key, value| key == "description" || !holds_credential(value));
    written
}

fn holds_credential(value: &Value) -> bool {
    match value {
        Value::String(words) => redact::holds_credential(words),
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
        let mut own = of_category(api, category).peekable();
        if own.peek().is_none() {
            continue;
        }
        let _ = write!(page, "\n## {category}\n\n| operation | what it does | danger | because |\n|---|---|---|---|\n");
        for ApiOperation { operation, .. } in own {
            let what = text::shorten(text::first_sentence(&operation.description), 120);
            let evidence = operation.danger_evidence.as_deref().unwrap_or_default();
            let (name, danger) = (&operation.name, operation.danger);
            let _ = writeln!(page, "| `{name}` | {} | {danger} | {} |", plain(&what), plain(evidence));
        }
    }
    page
}
