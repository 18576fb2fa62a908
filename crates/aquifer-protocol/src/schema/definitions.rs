//! Where the references of a JSON Schema lead.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A schema that references lead to, and the name of the type that it becomes.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    /// The name of the type. Two definitions must not share one.
    pub name: Arc<str>,
    /// The schema.
    pub schema: &'a Value,
}

/// Finds the definitions of a document.
pub trait Definitions<'a> {
    /// The definition that a reference leads to.
    fn find(&mut self, reference: &str) -> Option<Definition<'a>>;
}

/// The definitions of a JSON Schema: those in `$defs` and `definitions`.
pub(super) struct LocalDefinitions<'a> {
    groups: Vec<(&'static str, &'a Map<String, Value>)>,
}

impl<'a> LocalDefinitions<'a> {
    pub(super) fn new(document: &'a Value) -> Self {
        let groups = [("#/$defs/", "$defs"), ("#/definitions/", "definitions")]
            .into_iter()
            .filter_map(|(prefix, key)| Some((prefix, document.get(key)?.as_object()?)))
            .collect();
        Self { groups }
    }
}

impl<'a> Definitions<'a> for LocalDefinitions<'a> {
    fn find(&mut self, reference: &str) -> Option<Definition<'a>> {
        self.groups.iter().find_map(|(prefix, definitions)| {
            let key = reference.strip_prefix(prefix)?;
            Some(Definition { name: type_name(key).into(), schema: definitions.get(key)? })
        })
    }
}

/// Type names are identifiers, whatever a definition was called.
fn type_name(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// How deeply alternatives are examined to find out whether a definition is compound.
const MAX_DEPTH: usize = 4;

/// Whether a definition has fields or refers to types that have. References to it stay references, and it is read by
/// itself. All other definitions are copied in place, so that the caller need not ask for the type.
pub(super) fn is_compound(definition: &Value) -> bool {
    // The reference of an alias is read, so the type it leads to is judged by itself.
    definition.get("$ref").is_none() && has_parts(definition, 0)
}

fn has_parts(json: &Value, depth: usize) -> bool {
    let Some(object) = json.as_object() else { return false };
    if depth > MAX_DEPTH || object.contains_key("properties") {
        return true;
    }
    let is_object = match object.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.iter().any(|name| name == "object"),
        _ => false,
    };
    let members = ["oneOf", "anyOf", "allOf"].into_iter().filter_map(|key| object.get(key)?.as_array()).flatten();
    let is_part = |member: &Value| member.get("$ref").is_some() || has_parts(member, depth + 1);
    is_object
        || object.get("items").is_some_and(|items| items.get("$ref").is_none() && has_parts(items, depth + 1))
        || members.into_iter().any(is_part)
}

/// Whether a schema says nothing about the shape of a value.
pub(super) fn is_annotation(json: &Value) -> bool {
    const SHAPING: &[&str] = &[
        "$ref",
        "type",
        "properties",
        "additionalProperties",
        "patternProperties",
        "items",
        "enum",
        "const",
        "oneOf",
        "anyOf",
        "allOf",
        "pattern",
        "format",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ];
    json.as_object().is_none_or(|object| !SHAPING.iter().any(|key| object.contains_key(*key)))
}

/// Whether a schema says that a value is an object, and nothing more about its shape.
pub(super) fn is_bare_object(json: &Value) -> bool {
    const FIELDS: &[&str] = &["properties", "additionalProperties", "patternProperties", "oneOf", "anyOf", "allOf"];
    json.get("type").is_some_and(|name| name == "object") && !FIELDS.iter().any(|key| json.get(key).is_some())
}
