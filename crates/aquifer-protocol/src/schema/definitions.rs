//! Resolves the references of a JSON Schema.

use std::sync::Arc;

use serde_json::{Map, Value};

/// The target of references, and the name of the type that it becomes.
#[derive(Debug, Clone)]
pub struct Definition<'a> {
    /// The name of the type, unique among definitions.
    pub name: Arc<str>,
    /// The schema.
    pub schema: &'a Value,
}

/// Finds the definitions of a document.
pub trait Definitions<'a> {
    /// The definition that a reference points to.
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

/// Converts the name of a definition into an identifier.
fn type_name(key: &str) -> String {
    key.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// Maximum depth at which alternatives are examined to determine whether a definition is compound.
const MAX_DEPTH: usize = 4;

/// Whether a definition has fields or refers to types that have fields. References to it stay references, and it
/// becomes a type of its own. All other definitions are inlined, so that the caller need not look up the type.
pub(super) fn is_compound(definition: &Value) -> bool {
    // An alias is resolved first, and its target is examined by itself.
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

/// Whether a schema does not constrain the shape of a value.
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

/// Whether a schema requires an object but says nothing else about its shape.
pub(super) fn is_bare_object(json: &Value) -> bool {
    const FIELDS: &[&str] = &["properties", "additionalProperties", "patternProperties", "oneOf", "anyOf", "allOf"];
    json.get("type").is_some_and(|name| name == "object") && !FIELDS.iter().any(|key| json.get(key).is_some())
}
