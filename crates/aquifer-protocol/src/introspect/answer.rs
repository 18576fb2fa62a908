//! The answers of introspection, with exactly the published fields.

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::extensions::extensions;
use super::{Detail, Page};
use crate::catalog::Catalog;
use crate::category::Category;
use crate::effect::Effects;
use crate::limits::Limits;
use crate::operation::{AggregationSupport, ComputedField, Lifecycle, Operation, RelationshipCapabilities, Safeguards};
use crate::published::TypeKind;
use crate::schema::{Kind, ParameterInfo, Schema, Types, type_words};
use crate::surface::Surface;

/// The supported revision of the specification.
const VERSION: &str = "1.0.0-draft";

/// What introspection shows in addition to the catalog.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The limits in force.
    pub limits: Limits,
    /// The maximum number of operations in a batch.
    pub max_batch_size: usize,
    /// Whether confirmation can be requested.
    pub confirmation: bool,
}

/// Answers questions about one catalog and surface.
#[derive(Debug, Clone, Copy)]
pub struct Answers<'a> {
    /// The catalog.
    pub catalog: &'a Catalog,
    /// The surface.
    pub surface: &'a Surface,
    /// Further information to show.
    pub facts: &'a Facts,
}

#[derive(Serialize)]
struct OperationInfo<'a> {
    name: &'a str,
    semantic_category: &'a str,
    endpoint: &'a str,
    description: &'a str,
}

impl Answers<'_> {
    /// A list of operations. A filtered list has only the version and the page under `_protocol` (R-INT-1).
    pub fn operations<'b>(
        &self,
        operations: impl IntoIterator<Item = &'b Operation>,
        detail: Detail,
        page: Option<&Page>,
        narrowed: bool,
    ) -> Value {
        let operations: Vec<Value> = operations.into_iter().map(|operation| self.line(operation, detail)).collect();
        let mut protocol = if narrowed { json!({ "version": VERSION }) } else { self.protocol() };
        if let (Some(protocol), Some(page)) = (protocol.as_object_mut(), page) {
            protocol.insert("page".to_owned(), json!(page));
        }
        json!({ "_protocol": protocol, "operations": operations })
    }

    fn line(&self, operation: &Operation, detail: Detail) -> Value {
        let description = operation.short_description();
        if detail == Detail::Minimal {
            return json!({ "name": operation.name, "description": description });
        }
        let mut line = json!(OperationInfo {
            name: &operation.name,
            semantic_category: operation.category.as_str(),
            endpoint: self.surface.family_of(operation),
            description,
        });
        if let (Detail::Full, Some(line)) = (detail, line.as_object_mut()) {
            line.insert("danger".to_owned(), operation.safety.danger.as_str().into());
            if !operation.origin.source.is_empty() {
                line.insert("source".to_owned(), (*operation.origin.source).into());
            }
            if operation.safety.quarantine.is_some() {
                line.insert("quarantined".to_owned(), true.into());
            }
        }
        line
    }

    /// The limits in force.
    pub fn limits(&self) -> Value {
        json!({ "limits": limit_values(self.facts) })
    }

    /// One operation, or null for an unknown name (R-INT-4).
    pub fn operation(&self, name: &str, detail: Detail) -> Value {
        let operation = self.catalog.operation(name).map(|operation| &**operation);
        operation_details(operation, self.catalog.types(), self.surface, detail)
    }

    /// The named types.
    pub fn types(&self) -> Value {
        let types = self.catalog.types();
        let types: Vec<Value> =
            types.iter().map(|(name, schema)| Value::Object(type_info(name, schema, types))).collect();
        json!({ "types": types })
    }

    /// One type, or null for an unknown name (R-INT-4).
    pub fn named_type(&self, name: &str) -> Value {
        type_details(name, self.catalog.types())
    }

    /// A short overview: the number of operations of each kind, and the first names of each.
    pub fn summary(&self) -> Value {
        summary(self.catalog, self.surface)
    }

    fn protocol(&self) -> Value {
        protocol(self.catalog, self.surface, self.facts)
    }
}

fn protocol(catalog: &Catalog, surface: &Surface, facts: &Facts) -> Value {
    let etags = catalog.operations().iter().any(|operation| operation.parameter("if_match").is_some());
    let mut protocol = json!({
        "version": VERSION,
        "conformance": catalog.conformance(),
        "mode": surface.mode().as_str(),
        "profile": surface.profile().name(),
        "capabilities": catalog.capabilities(facts.confirmation),
        "limits": limit_values(facts),
        "concurrency": "fully-concurrent",
        "supports_etag": etags,
        "extensions": extensions(catalog, facts),
    });
    // If no level can be granted, the field is omitted, because the published values all denote a level.
    if let Some(members) = protocol.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    protocol
}

fn limit_values(facts: &Facts) -> Value {
    json!({
        "max_request_size": facts.limits.max_request_size,
        "max_response_size": facts.limits.max_response_size,
        "max_string_length": facts.limits.max_string_length,
        "max_array_elements": facts.limits.max_array_elements,
        "max_nesting_depth": facts.limits.max_nesting_depth,
        "max_batch_operations": facts.max_batch_size,
    })
}

pub(crate) fn operation_details(
    operation: Option<&Operation>,
    types: &Types,
    surface: &Surface,
    detail: Detail,
) -> Value {
    let Some(operation) = operation else { return json!({ "operation": null }) };
    let details = match detail {
        Detail::Minimal => json!({
            "name": operation.name,
            "description": operation.full_description(),
            "parameters": parameters(operation),
        }),
        Detail::Standard => json!(standard(operation, types, surface)),
        Detail::Full => full(operation, types, surface),
    };
    json!({ "operation": details })
}

fn parameters(operation: &Operation) -> Vec<ParameterInfo<'_>> {
    operation.parameters.iter().map(ParameterInfo).collect()
}

#[derive(Serialize)]
#[allow(non_snake_case, reason = "mcpTool is spelled so in the specification")]
struct OperationDetails<'a> {
    name: &'a str,
    semantic_category: &'a str,
    endpoint: &'a str,
    mcpTool: String,
    description: String,
    permissions: crate::category::Permissions,
    parameters: Vec<ParameterInfo<'a>>,
    returns: Value,
    examples: Vec<Value>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    computed_fields: &'a [ComputedField],
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregation_support: Option<&'a AggregationSupport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    relationship_capabilities: Option<&'a RelationshipCapabilities>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lifecycle: Option<&'a Lifecycle>,
}

fn standard<'a>(operation: &'a Operation, types: &Types, surface: &'a Surface) -> OperationDetails<'a> {
    let returns = &operation.returns;
    // If no type has this name, it is the name of a JSON scalar.
    let named = types.get(&returns.type_name);
    let kind = named.map_or(TypeKind::Scalar, |schema| kind_of(schema, types));
    OperationDetails {
        name: &operation.name,
        semantic_category: operation.category.as_str(),
        endpoint: surface.family_of(operation),
        mcpTool: surface.tool_of(operation),
        description: operation.full_description(),
        permissions: operation.category.permissions(),
        parameters: parameters(operation),
        returns: json!({ "name": returns.type_name, "kind": kind, "description": returns.description }),
        examples: operation
            .examples
            .iter()
            .map(|example| {
                let request = json!({ "operation": operation.name, "params": example.params });
                match &example.description {
                    Some(description) => json!({ "description": description, "request": request }),
                    None => json!({ "request": request }),
                }
            })
            .collect(),
        computed_fields: &operation.capabilities.computed_fields,
        aggregation_support: operation.capabilities.aggregation.as_ref(),
        relationship_capabilities: operation.capabilities.relationships.as_ref(),
        lifecycle: operation.capabilities.lifecycle.as_ref(),
    }
}

fn full(operation: &Operation, types: &Types, surface: &Surface) -> Value {
    let mut details = json!(standard(operation, types, surface));
    if let Some(details) = details.as_object_mut() {
        details.insert("danger".to_owned(), operation.safety.danger.as_str().into());
        details.insert("effects".to_owned(), effects(&operation.safety.effects));
        details.extend(safeguards(&operation.safety.safeguards));
        if !operation.origin.source.is_empty() {
            details.insert("source".to_owned(), (*operation.origin.source).into());
            details.insert("trust".to_owned(), operation.origin.trust.as_str().into());
        }
        if operation.safety.quarantine.is_some() {
            details.insert("quarantined".to_owned(), true.into());
        }
        details.insert("input_schema".to_owned(), operation.input_schema(types));
    }
    details
}

/// What a call does in the world, with the evidence for it.
fn effects(effects: &Effects) -> Value {
    effects.iter().map(|found| json!({ "effect": found.effect.as_str(), "evidence": *found.evidence })).collect()
}

/// The confirmation settings of an operation. They are separate from `danger`, which is a single word in the published
/// schema. Absent settings are left out.
fn safeguards(safeguards: &Safeguards) -> impl Iterator<Item = (String, Value)> {
    let Safeguards { always_confirm, reasons, message, cooldown } = safeguards;
    let known = [
        ("danger_reasons", (!reasons.is_empty()).then(|| json!(reasons))),
        ("requires_confirmation", always_confirm.then_some(Value::Bool(true))),
        ("confirmation_message", message.as_deref().map(Value::from)),
        ("cooldown_seconds", (!cooldown.is_zero()).then(|| cooldown.as_secs().into())),
    ];
    known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

/// A type as introspection describes it.
pub fn type_details(name: &str, types: &Types) -> Value {
    let Some((name, schema)) = types.get_key_value(name) else { return json!({ "type": null }) };
    let mut details = type_info(name, schema, types);
    let schema = schema.resolve(types);
    match (&schema.allowed, &schema.kind) {
        (Some(allowed), _) => {
            let values: Vec<String> = allowed.iter().map(plain_text).collect();
            details.insert("values".to_owned(), json!(values));
        }
        (None, Kind::Object(shape)) => {
            let fields: Vec<ParameterInfo<'_>> = shape.fields.iter().map(ParameterInfo).collect();
            details.insert("fields".to_owned(), json!(fields));
        }
        (None, Kind::Union(members)) => {
            let members: Vec<String> = members.iter().map(type_words).collect();
            details.insert("members".to_owned(), json!(members));
        }
        _ => {}
    }
    json!({ "type": details })
}

fn type_info(name: &str, schema: &Schema, types: &Types) -> Map<String, Value> {
    let mut info = Map::new();
    info.insert("name".to_owned(), name.into());
    info.insert("kind".to_owned(), kind_of(schema, types).as_str().into());
    if let Some(description) = &schema.description {
        info.insert("description".to_owned(), (**description).into());
    }
    info
}

fn kind_of(schema: &Schema, types: &Types) -> TypeKind {
    let schema = schema.resolve(types);
    match (&schema.allowed, &schema.kind) {
        (Some(_), _) => TypeKind::Enum,
        (None, Kind::Object(_)) => TypeKind::Object,
        (None, Kind::Union(_)) => TypeKind::Union,
        _ => TypeKind::Scalar,
    }
}

fn plain_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn summary(catalog: &Catalog, surface: &Surface) -> Value {
    const MAX_LISTED_NAMES: usize = 25;
    let mut endpoints = Map::new();
    for family in surface.profile().families() {
        let names: Vec<&str> =
            catalog.operations().iter().filter(|op| surface.family_of(op) == &**family).map(|op| &*op.name).collect();
        if names.is_empty() {
            continue;
        }
        let mut group = json!({ "count": names.len(), "operations": names.get(..MAX_LISTED_NAMES).unwrap_or(&names) });
        if let (Some(group), true) = (group.as_object_mut(), names.len() > MAX_LISTED_NAMES) {
            group.insert("more".to_owned(), (names.len() - MAX_LISTED_NAMES).into());
        }
        endpoints.insert(family.to_string(), group);
    }
    let categories: Map<String, Value> = Category::ALL
        .into_iter()
        .map(|category| {
            let count = catalog.operations().iter().filter(|op| op.category == category).count();
            (category.as_str().to_owned(), count.into())
        })
        .collect();
    json!({
        "summary": {
            "total": catalog.operations().len(),
            "categories": categories,
            "endpoints": endpoints,
            "sources": catalog.sources(),
            "hint": "introspect {query: \"operations\", name: \"…\"} gives one operation's parameters, search: \"…\" ranks by a task's words",
        }
    })
}
