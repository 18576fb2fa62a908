//! Builds an adapter file and its sidecar from a bundle (R-DIS-6). The same bundle gives the same bytes.

use std::collections::HashMap;

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use serde_json::{Map, Value, json};

use super::{Adapter, Sidecar, page};
use crate::bundle::{AuthKind, Bundle, BundleError, NormalizedOperation, NormalizedParameter, Transport};
use crate::name;
use crate::text::yaml;
use crate::tool::Tool;

/// The version of a newly built adapter.
pub(super) const FIRST_VERSION: &str = "1.0.0";

/// An adapter file and its sidecar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterFiles {
    /// The adapter's name.
    pub name: String,
    /// The text of `NAME-adapter.md`.
    pub adapter: String,
    /// The text of `NAME-adapter.provenance.json`.
    pub sidecar: String,
}

impl AdapterFiles {
    /// The name of the adapter's file.
    pub fn file_name(&self) -> String {
        Adapter::file_name(&self.name)
    }

    /// The name of the sidecar's file.
    pub fn sidecar_name(&self) -> String {
        Adapter::sidecar_name(&self.name)
    }
}

/// Builds an adapter from a bundle.
pub fn build(bundle: &Bundle) -> Result<AdapterFiles, BundleError> {
    let name = name::kebab(&bundle.source.name);
    let front = front_matter(bundle, &name);
    let adapter = format!("---\n{}---\n\n{}", yaml::write(&front), page::body(bundle, &name));
    let sidecar = Sidecar::from_bundle(bundle, &name);
    let mut sidecar =
        serde_json::to_string_pretty(&sidecar).map_err(|error| BundleError::Malformed(error.to_string()))?;
    sidecar.push('\n');
    Ok(AdapterFiles { name, adapter, sidecar })
}

fn front_matter(bundle: &Bundle, name: &str) -> Value {
    let tools = bundle.tools();
    let tools: HashMap<&str, &Tool> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
    let mut operations = Map::new();
    for category in Category::ALL {
        let entries: Vec<Value> = bundle
            .normalized_bundle
            .operations
            .iter()
            .filter(|operation| operation.endpoint == category)
            .map(|normalized| operation(normalized, tools.get(normalized.source_tool_name.as_str()).copied()))
            .collect();
        if !entries.is_empty() {
            operations.insert(category.as_str().to_ascii_lowercase(), entries.into());
        }
    }
    let mut front = json!({
        "name": name,
        "type": "adapter",
        "version": FIRST_VERSION,
        "description": page::purpose(bundle),
        "target": target(bundle, name),
        "operations": operations,
    });
    if let Some(front) = front.as_object_mut() {
        front.insert("auth".to_owned(), auth(bundle));
    }
    front
}

fn target(bundle: &Bundle, name: &str) -> Value {
    let (base_url, transport) = match bundle.source.transport {
        Transport::StreamableHttp => (bundle.source.server_url.clone(), "http"),
        Transport::Stdio => (format!("stdio:{name}"), "native"),
    };
    json!({ "base_url": base_url, "transport": transport, "protocol": "custom", "serialization": "json" })
}

fn auth(bundle: &Bundle) -> Value {
    let auth = &bundle.source.auth;
    let mut fields = Map::new();
    let kind = match auth.kind {
        AuthKind::Bearer => "bearer",
        AuthKind::None => "none",
    };
    fields.insert("type".to_owned(), kind.into());
    for (key, value) in [("header", &auth.header), ("prefix", &auth.prefix), ("token_env", &auth.token_env)] {
        put(&mut fields, key, value.clone().map(Value::from));
    }
    Value::Object(fields)
}

fn operation(operation: &NormalizedOperation, tool: Option<&Tool>) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), operation.operation_name.as_str().into());
    fields.insert("maps_to".to_owned(), operation.maps_to.as_str().into());
    fields.insert("description".to_owned(), operation.description.as_str().into());
    if !operation.params.is_empty() {
        let params: Map<String, Value> =
            operation.params.iter().map(|normalized| (normalized.name.clone(), parameter(normalized))).collect();
        fields.insert("params".to_owned(), Value::Object(params));
    }
    let response = json!({ "type": operation.returns.type_name, "description": operation.returns.description });
    fields.insert("response".to_owned(), response);
    fields.insert("danger_level".to_owned(), operation.danger_level.as_str().into());
    if operation.danger_level >= Danger::Destructive {
        fields.insert("requires_confirmation".to_owned(), true.into());
    }
    let idempotent = tool.and_then(|tool| tool.annotations.idempotent);
    if operation.endpoint == Category::Execute && idempotent != Some(true) {
        fields.insert("non_idempotent".to_owned(), true.into());
    }
    Value::Object(fields)
}

fn parameter(parameter: &NormalizedParameter) -> Value {
    let mut fields = Map::new();
    fields.insert("type".to_owned(), parameter.type_name.as_str().into());
    fields.insert("required".to_owned(), parameter.required.into());
    put(&mut fields, "description", parameter.description.clone().map(Value::from));
    put(&mut fields, "default", parameter.default.clone());
    put(&mut fields, "enum", parameter.allowed.clone().map(Value::from));
    put(&mut fields, "minimum", parameter.minimum.clone());
    put(&mut fields, "maximum", parameter.maximum.clone());
    put(&mut fields, "pattern", parameter.pattern.clone().map(Value::from));
    put(&mut fields, "format", parameter.format.clone().map(Value::from));
    Value::Object(fields)
}

pub(super) fn put(map: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        map.insert(key.to_owned(), value);
    }
}
