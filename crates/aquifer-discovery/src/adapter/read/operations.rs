//! The operations of an adapter file.

use std::collections::HashSet;

use aquifer_protocol::case::snake_identifier;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::Code;
use aquifer_protocol::operation::{MAX_CHOSEN_NAME, RESERVED, is_snake_case};

use super::danger;
use super::pagination;
use super::parameters::{self, SharedParameters};
use crate::adapter::{AdapterOperation, AdapterParameter, MapsTo, Target};
use crate::problem::{Findings, join, shown, suggestion_for};
use crate::text::yaml::Node;
use crate::tool::Annotations;

#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "name", "maps_to", "description", "params", "response", "pagination", "supports_fields", "default_fields",
    "danger_level", "danger", "requires_confirmation", "non_idempotent", "returns", "examples", "rate_limits",
    "tags",
];

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "QUERY"];

pub(super) fn operations(
    node: &Node,
    target: Option<&Target>,
    shared: &SharedParameters,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Vec<AdapterOperation> {
    let mut all: Vec<AdapterOperation> = Vec::new();
    let mut names: HashSet<String> = HashSet::new();
    if !findings.object(node, "operations", &["create", "read", "update", "delete", "execute"]) {
        return all;
    }
    for category in Category::ALL {
        let key = category.as_str().to_ascii_lowercase();
        let path = join("operations", &key);
        let Some(list) = node.get(&key) else { continue };
        let Some(items) = list.items() else {
            findings.wrong_type(list, &path, "array");
            continue;
        };
        for (index, item) in items.iter().enumerate() {
            let path = format!("{path}[{index}]");
            let Some(operation) = operation(item, &path, category, target, shared, findings, warnings) else {
                continue;
            };
            if !names.insert(operation.name.clone()) {
                let at = item.get("name").map_or(item.at, |name| name.at);
                let message = format!("Duplicate name '{}'", operation.name);
                findings.add(Code::SchemaDuplicateName, &join(&path, "name"), at, message);
            }
            if let (MapsTo::Route { method, .. }, Category::Read) = (&operation.maps_to, category)
                && Annotations::for_method(method).read_only != Some(true)
            {
                warnings.push(format!("'{}' is a READ operation but calls {method}", operation.name));
            }
            all.push(operation);
        }
    }
    all
}

fn operation(
    node: &Node,
    path: &str,
    category: Category,
    target: Option<&Target>,
    shared: &SharedParameters,
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> Option<AdapterOperation> {
    if !findings.object(node, path, FIELDS) {
        return None;
    }
    let name = findings.required(node, "name", path).and_then(|field| name(field, &join(path, "name"), findings));
    let params = join(path, "params");
    let parameters =
        node.get("params").map(|field| parameters::parameters(field, &params, shared, findings)).unwrap_or_default();
    let maps_to = findings
        .required(node, "maps_to", path)
        .and_then(|field| maps_to(field, &join(path, "maps_to"), target, &parameters, findings));
    let description = findings.optional_text(node, "description", path);
    let declared = danger::read_danger(node, path, findings);
    findings.flag(node, "non_idempotent", path);
    let supports_fields = findings.flag(node, "supports_fields", path).unwrap_or_default();
    let default_fields = node.get("default_fields");
    let default_fields = default_fields.map(|list| texts(list, &join(path, "default_fields"), findings));
    let response = node.get("response").or(node.get("returns"));
    let returns = response.and_then(|field| field.get("description")).and_then(Node::as_str).map(str::to_owned);
    let is_rest = matches!(target, Some(Target::Rest { .. }));
    let unwrap = response.and_then(|field| findings.optional_text(field, "unwrap", &join(path, "response")));
    let pagination = node.get("pagination");
    let pagination = pagination.and_then(|field| pagination::read(field, &join(path, "pagination"), is_rest, findings));
    let name = name?;
    let is_known = |wanted: &str| parameters.iter().any(|parameter| parameter.name == wanted);
    let unknown = declared.message.as_deref().and_then(|message| danger::unknown_placeholder(message, is_known));
    warnings.extend(declared.warnings.into_iter().chain(unknown).map(|warning| format!("'{name}' {warning}")));
    Some(AdapterOperation {
        danger: declared.level.unwrap_or_else(|| Danger::infer(&name, category)),
        description: description.unwrap_or_default(),
        maps_to: maps_to?,
        name,
        category,
        parameters,
        requires_confirmation: declared.requires_confirmation,
        danger_reasons: declared.reasons,
        confirmation_message: declared.message,
        cooldown_seconds: declared.cooldown_seconds,
        returns,
        pagination,
        unwrap,
        supports_fields,
        default_fields: default_fields.unwrap_or_default(),
        input_schema: None,
        output_schema: None,
        digest: None,
        pin: None,
        annotations: Annotations::default(),
        reviewed_hints: None,
    })
}

fn texts(list: &Node, path: &str, findings: &mut Findings) -> Vec<String> {
    let Some(items) = list.items() else {
        findings.wrong_type(list, path, "array");
        return Vec::new();
    };
    items.iter().filter_map(|item| findings.text(item, path)).collect()
}

fn name(node: &Node, path: &str, findings: &mut Findings) -> Option<String> {
    let name = findings.text(node, path)?;
    if RESERVED.contains(&name.as_str()) {
        let message = format!("Invalid name '{name}': the protocol reserves it");
        findings.add(Code::SchemaInvalidName, path, node.at, message);
    } else if !is_snake_case(&name) || name.len() > MAX_CHOSEN_NAME {
        let message = format!(
            "Invalid name '{}': operations are snake_case, {MAX_CHOSEN_NAME} characters or fewer",
            shown(&name)
        );
        let better = crate::name::fit(&snake_identifier(&name), MAX_CHOSEN_NAME);
        let suggestion = (!better.is_empty()).then(|| format!("Try '{better}'"));
        findings.add_with(Code::SchemaInvalidName, path, node.at, message, suggestion);
    }
    Some(name)
}

fn maps_to(
    node: &Node,
    path: &str,
    target: Option<&Target>,
    parameters: &[AdapterParameter],
    findings: &mut Findings,
) -> Option<MapsTo> {
    let text = findings.text(node, path)?;
    let tool = text.strip_prefix("tool:").filter(|tool| !tool.is_empty());
    match (target, tool) {
        (Some(Target::McpHttp { .. } | Target::McpStdio { .. }), Some(tool)) => Some(MapsTo::Tool(tool.to_owned())),
        (Some(Target::McpHttp { .. } | Target::McpStdio { .. }), None) => {
            let message = format!("Field '{path}' expected 'tool:NAME' for an MCP target");
            findings.add(Code::SchemaInvalidType, path, node.at, message);
            None
        }
        (Some(Target::Rest { .. }), _) => route(&text, node, path, parameters, findings),
        (None, _) => None,
    }
}

fn route(
    text: &str,
    node: &Node,
    path: &str,
    parameters: &[AdapterParameter],
    findings: &mut Findings,
) -> Option<MapsTo> {
    let (method, route) = text.split_once(' ').unwrap_or((text, ""));
    let supported = METHODS.iter().copied().find(|supported| *supported == method);
    let route = route.trim();
    let (Some(method), true) = (supported, route.starts_with('/')) else {
        let message = format!("Field '{path}' expected 'METHOD /path' with one of {}", METHODS.join(", "));
        findings.add_with(Code::SchemaInvalidType, path, node.at, message, suggestion_for(method, METHODS));
        return None;
    };
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    for rest in route.split('{').skip(1) {
        let placeholder = rest.split('}').next().unwrap_or_default();
        if !rest.contains('}') || !names.contains(&placeholder) {
            let message = format!("Unresolved reference '{}': no such parameter", shown(placeholder));
            findings.add_with(Code::SchemaUnresolvedRef, path, node.at, message, suggestion_for(placeholder, &names));
        }
    }
    Some(MapsTo::Route { method, path: route.to_owned() })
}
