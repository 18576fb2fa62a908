//! Completes an adapter from its sidecar: the tools' own names for parameters, and the complete schemas.

use std::collections::{HashMap, HashSet};

use aquifer_protocol::error::Code;
use aquifer_protocol::trust::Trust;
use serde::de::DeserializeOwned;

use crate::adapter::sidecar::ApiSidecar;
use crate::adapter::{Adapter, AdapterOperation, AdapterParameter, MapsTo, Sidecar, SidecarOperation, Target};
use crate::bundle::SCHEMA_VERSION;
use crate::problem::{Findings, shown, suggestion_for};
use crate::schema;
use crate::text::yaml::Node;
use crate::tool::Annotations;

/// Completes an adapter. A reviewer may have renamed or removed operations, but not tools and their parameters, because
/// calls need the names that the server knows.
pub(super) fn complete(adapter: &mut Adapter, text: &str, front: &Node, findings: &mut Findings) {
    if matches!(adapter.target, Target::Rest { .. }) {
        let sidecar = parse::<ApiSidecar>(text, findings);
        if let Some(sidecar) = sidecar
            && adopt(adapter, &sidecar.schema_version, &sidecar.adapter, sidecar.trust, front, findings)
        {
            adapter.api = Some(sidecar.api);
        }
        return;
    }
    let Some(sidecar) = parse::<Sidecar>(text, findings) else { return };
    if !adopt(adapter, &sidecar.schema_version, &sidecar.adapter, sidecar.trust, front, findings) {
        return;
    }
    let warnings = &mut adapter.warnings;
    let entries: HashMap<&str, &SidecarOperation> =
        sidecar.operations.iter().map(|entry| (entry.tool.as_str(), entry)).collect();
    for operation in &mut adapter.operations {
        let MapsTo::Tool(tool) = &operation.maps_to else { continue };
        match entries.get(tool.as_str()).copied() {
            Some(entry) => {
                complete_operation(operation, entry, front, findings);
                warnings.extend(unreachable(operation));
            }
            None => {
                let tools: Vec<&str> = sidecar.operations.iter().map(|entry| entry.tool.as_str()).collect();
                let message = format!("Unresolved reference in operation '{}': no such tool", operation.name);
                let at = place(front, operation);
                findings.add_with(
                    Code::SchemaUnresolvedRef,
                    &operation.name,
                    at,
                    message,
                    suggestion_for(tool, &tools),
                );
            }
        }
    }
}

fn parse<T: DeserializeOwned>(text: &str, findings: &mut Findings) -> Option<T> {
    let error = match serde_json::from_str(text) {
        Ok(sidecar) => return Some(sidecar),
        Err(error) => error,
    };
    let at = crate::text::yaml::Position {
        line: u64::try_from(error.line()).unwrap_or(1),
        column: u64::try_from(error.column()).unwrap_or(1),
    };
    findings.add(Code::SchemaInvalidType, "sidecar", at, "The sidecar cannot be read".to_owned());
    None
}

/// Applies the data that every sidecar has. Returns whether its version is supported.
fn adopt(
    adapter: &mut Adapter,
    schema_version: &str,
    name: &str,
    trust: Trust,
    front: &Node,
    findings: &mut Findings,
) -> bool {
    if schema_version != SCHEMA_VERSION {
        let message = "Unsupported version in the sidecar's 'schema_version'".to_owned();
        findings.add(Code::SchemaVersionUnsupported, "sidecar.schema_version", front.at, message);
        return false;
    }
    if name != adapter.name {
        adapter.warnings.push("The sidecar belongs to an adapter with another name".to_owned());
    }
    if !trust.is_published() {
        let message = "Field 'trust' of the sidecar is not a level of adapter files".to_owned();
        findings.add(Code::SchemaInvalidType, "sidecar.trust", front.at, message);
        return false;
    }
    if front.get("trust").is_none() {
        adapter.trust = trust.cap_self_declared();
        adapter.stated_trust = trust;
    }
    true
}

fn complete_operation(
    operation: &mut AdapterOperation,
    entry: &SidecarOperation,
    front: &Node,
    findings: &mut Findings,
) {
    let originals: HashMap<&str, &str> =
        entry.parameters.iter().map(|names| (names.name.as_str(), names.original_name.as_str())).collect();
    let is_known = |parameter: &AdapterParameter| originals.contains_key(parameter.name.as_str());
    let at = if operation.parameters.iter().all(is_known) { front.at } else { place(front, operation) };
    for parameter in &mut operation.parameters {
        match originals.get(parameter.name.as_str()) {
            Some(original) => (*original).clone_into(&mut parameter.original_name),
            None => {
                let names: Vec<&str> = entry.parameters.iter().map(|names| names.name.as_str()).collect();
                let message = format!("Unresolved reference '{}' in operation '{}'", parameter.name, operation.name);
                let suggestion = suggestion_for(&parameter.name, &names);
                findings.add_with(Code::SchemaUnresolvedRef, &operation.name, at, message, suggestion);
            }
        }
    }
    operation.input_schema.clone_from(&entry.input_schema);
    operation.output_schema.clone_from(&entry.output_schema);
    operation.digest = Some(entry.pin.digest.clone());
    operation.pin = Some(entry.pin.clone());
    operation.reviewed_hints.clone_from(&entry.annotations);
    operation.annotations = entry.annotations.as_ref().map(Annotations::read).unwrap_or_default();
}

/// Reports an operation that lacks a parameter required by its tool: every call of it would be refused.
fn unreachable(operation: &AdapterOperation) -> Option<String> {
    let input = schema::read_input(operation.input_schema.as_ref());
    let present: HashSet<&str> =
        operation.parameters.iter().map(|parameter| parameter.original_name.as_str()).collect();
    let missing = input
        .parameters
        .iter()
        .find(|parameter| parameter.required && !present.contains(parameter.original_name.as_str()))?;
    let (name, missing) = (&operation.name, shown(&missing.original_name));
    Some(format!("'{name}' omits '{missing}', which its tool requires: every call will fail"))
}

fn place(front: &Node, operation: &AdapterOperation) -> crate::text::yaml::Position {
    let key = operation.category.as_str().to_ascii_lowercase();
    let list = front.get("operations").and_then(|operations| operations.get(&key)).and_then(Node::items);
    let entry = list
        .into_iter()
        .flatten()
        .find(|item| item.get("name").and_then(Node::as_str) == Some(operation.name.as_str()));
    entry.map_or(front.at, |item| item.at)
}
