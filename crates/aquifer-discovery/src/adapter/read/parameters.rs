//! Parameters of adapter files: keyed by name as published, or in a list with references to shared ones as the
//! documents write them. References are resolved (R-DIS-7).

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::error::Code;
use aquifer_protocol::operation::is_snake_case;
use serde_json::{Map, Value, json};

use crate::adapter::{AdapterParameter, ParameterPlace};
use crate::problem::{Findings, join, shown, suggestion_for};
use crate::text::yaml::Node;

/// Groups of parameters that operations refer to.
pub(super) type SharedParameters = Vec<(String, Vec<AdapterParameter>)>;

const PREFIX: &str = "#/shared_parameters/";

/// The published fields, then the JSON Schema keywords that mean the same here as everywhere.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "type", "required", "description", "default", "enum", "minimum", "maximum", "pattern", "format", "name",
    "items", "properties", "additionalProperties", "anyOf", "oneOf", "minLength", "maxLength", "minItems",
    "maxItems", "uniqueItems", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "nullable", "sensitive",
    "deprecated", "examples", "in", "original_name",
];

/// Keywords that go into the parameter's JSON Schema as they are.
#[rustfmt::skip]
const KEYWORDS: &[&str] = &[
    "description", "default", "enum", "minimum", "maximum", "pattern", "format", "items", "properties",
    "additionalProperties", "anyOf", "oneOf", "minLength", "maxLength", "minItems", "maxItems", "uniqueItems",
    "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "nullable", "deprecated",
];

const TYPES: &[&str] = &["string", "integer", "number", "boolean", "array", "object", "null", "any"];

/// The groups under `shared_parameters`: one parameter, named by its key or by itself, or a list of them.
pub(super) fn read_shared_parameters(front: &Node, findings: &mut Findings) -> SharedParameters {
    let Some(node) = front.get("shared_parameters") else { return SharedParameters::new() };
    let Some(entries) = node.entries() else {
        findings.wrong_type(node, "shared_parameters", "object");
        return SharedParameters::new();
    };
    entries
        .iter()
        .map(|entry| {
            let path = join("shared_parameters", &entry.key);
            let members = match entry.value.items() {
                Some(items) => read_list(items, &path, &SharedParameters::new(), findings),
                None => {
                    let name = entry.value.get("name").and_then(Node::as_str).unwrap_or(&entry.key).to_owned();
                    parameter(&name, &entry.value, &path, findings).into_iter().collect()
                }
            };
            (entry.key.clone(), members)
        })
        .collect()
}

/// The parameters of one operation.
pub(super) fn parameters(
    node: &Node,
    path: &str,
    shared: &SharedParameters,
    findings: &mut Findings,
) -> Vec<AdapterParameter> {
    let all = match (node.entries(), node.items()) {
        (Some(entries), _) => {
            let mut all = Vec::new();
            for entry in entries {
                let path = join(path, &entry.key);
                if entry.key == "$ref" {
                    all.extend(resolve_reference(&entry.value, &path, shared, findings));
                } else if let Some(reference) = entry.value.get("$ref") {
                    all.extend(resolve_reference(reference, &path, shared, findings));
                } else {
                    all.extend(parameter(&entry.key, &entry.value, &path, findings));
                }
            }
            all
        }
        (None, Some(items)) => read_list(items, path, shared, findings),
        (None, None) => {
            findings.wrong_type(node, path, "object");
            Vec::new()
        }
    };
    for (index, parameter) in all.iter().enumerate() {
        if all.iter().take(index).any(|other| other.name == parameter.name) {
            let message = format!("Duplicate name '{}' in '{path}'", parameter.name);
            findings.add(Code::SchemaDuplicateName, path, node.at, message);
        }
    }
    all
}

fn read_list(items: &[Node], path: &str, shared: &SharedParameters, findings: &mut Findings) -> Vec<AdapterParameter> {
    let mut all = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let path = format!("{path}[{index}]");
        if let Some(reference) = item.get("$ref") {
            all.extend(resolve_reference(reference, &path, shared, findings));
        } else if let Some(node) = findings.required(item, "name", &path)
            && let Some(name) = findings.text(node, &join(&path, "name"))
        {
            all.extend(parameter(&name, item, &path, findings));
        }
    }
    all
}

fn resolve_reference(
    node: &Node,
    path: &str,
    shared: &SharedParameters,
    findings: &mut Findings,
) -> Vec<AdapterParameter> {
    let Some(reference) = findings.text(node, path) else { return Vec::new() };
    let group = reference.strip_prefix(PREFIX);
    if let Some((_, members)) = shared.iter().find(|(name, _)| Some(name.as_str()) == group) {
        return members.clone();
    }
    let names: Vec<&str> = shared.iter().map(|(name, _)| name.as_str()).collect();
    let message = format!("Unresolved reference '{}'", shown(&reference));
    let suggestion = suggestion_for(group.unwrap_or(&reference), &names);
    findings.add_with(Code::SchemaUnresolvedRef, path, node.at, message, suggestion);
    Vec::new()
}

fn parameter(name: &str, node: &Node, path: &str, findings: &mut Findings) -> Option<AdapterParameter> {
    if !is_snake_case(name) {
        let message = format!("Invalid name '{}': parameters are snake_case", shown(name));
        let better = snake_identifier(name);
        let suggestion = (!better.is_empty()).then(|| format!("Try '{better}'"));
        findings.add_with(Code::SchemaInvalidName, path, node.at, message, suggestion);
    }
    if !findings.object(node, path, FIELDS) {
        return None;
    }
    let mut schema = Map::new();
    if let Some(field) = findings.required(node, "type", path) {
        schema.extend(read_type(field, &join(path, "type"), findings));
    }
    for key in KEYWORDS {
        if let Some(field) = node.get(key) {
            check(key, field, &join(path, key), findings);
            schema.insert((*key).to_owned(), field.to_json());
        }
    }
    if findings.flag(node, "sensitive", path) == Some(true) {
        schema.insert("writeOnly".to_owned(), true.into());
    }
    default_fits(&schema, node, path, findings);
    let place = node.get("in").and_then(|field| read_place(field, &join(path, "in"), findings));
    let original_name = findings.optional_text(node, "original_name", path).unwrap_or_else(|| name.to_owned());
    Some(AdapterParameter {
        name: name.to_owned(),
        original_name,
        place,
        required: findings.flag(node, "required", path).unwrap_or(false),
        schema: Value::Object(schema),
    })
}

/// Where a parameter goes, in the terms of OpenAPI.
fn read_place(node: &Node, path: &str, findings: &mut Findings) -> Option<ParameterPlace> {
    const PLACES: &[&str] = &["path", "query", "header", "cookie", "body"];
    Some(match findings.one_of(node, path, PLACES, Code::SchemaInvalidType)? {
        "path" => ParameterPlace::Path,
        "query" => ParameterPlace::Query,
        "header" => ParameterPlace::Header,
        "cookie" => ParameterPlace::Cookie,
        _ => ParameterPlace::Body,
    })
}

fn check(key: &str, node: &Node, path: &str, findings: &mut Findings) {
    let value = node.to_json();
    let (expected, is_fine) = match key {
        "description" | "pattern" | "format" => ("string", value.is_string()),
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => ("number", value.is_number()),
        "minLength" | "maxLength" | "minItems" | "maxItems" => ("number", value.is_u64()),
        "enum" | "anyOf" | "oneOf" => ("array", value.is_array()),
        "properties" => ("object", value.is_object()),
        "uniqueItems" | "nullable" | "deprecated" => ("boolean", value.is_boolean()),
        _ => return,
    };
    if !is_fine {
        findings.wrong_type(node, path, expected);
    }
}

/// Converts a type name to JSON Schema: `string`, `string[]`, `string | null`.
fn read_type(node: &Node, path: &str, findings: &mut Findings) -> Map<String, Value> {
    let Some(words) = findings.text(node, path) else { return Map::new() };
    let mut members = Vec::new();
    for word in words.split('|').map(str::trim) {
        let (base, is_list) = word.strip_suffix("[]").map_or((word, false), |base| (base, true));
        if !TYPES.contains(&base) {
            let message = format!("Field '{path}' expected '{}', got '{}'", TYPES.join(", "), shown(word));
            findings.add_with(Code::SchemaInvalidType, path, node.at, message, suggestion_for(base, TYPES));
            return Map::new();
        }
        let member = if base == "any" { json!({}) } else { json!({ "type": base }) };
        members.push(if is_list { json!({ "type": "array", "items": member }) } else { member });
    }
    let schema = match members.as_slice() {
        [only] => only.clone(),
        _ => json!({ "anyOf": members }),
    };
    schema.as_object().cloned().unwrap_or_default()
}

fn default_fits(schema: &Map<String, Value>, node: &Node, path: &str, findings: &mut Findings) {
    let (Some(kind), Some(default)) = (schema.get("type").and_then(Value::as_str), schema.get("default")) else {
        return;
    };
    let fits = crate::schema::fits(default, kind);
    if let (false, Some(field)) = (fits, node.get("default")) {
        findings.wrong_type(field, &join(path, "default"), kind);
    }
}
