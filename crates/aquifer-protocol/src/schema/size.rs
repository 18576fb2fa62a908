//! Measures schemas, for the budgets of reading them.

use serde_json::Value;

use super::{Kind, Schema};

/// The size of a plain schema that is inlined.
pub(super) fn constraint_bytes(schema: &Schema) -> usize {
    let allowed = schema.allowed.as_ref().map_or(0, |allowed| allowed.iter().map(json_bytes).sum());
    let default = schema.default.as_ref().map_or(0, json_bytes);
    allowed + default + schema.pattern.as_ref().map_or(0, |pattern| pattern.source().len())
}

/// The approximate length of a value as text.
fn json_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 3,
        Value::Array(items) => items.iter().map(json_bytes).sum::<usize>() + 2,
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + 4 + json_bytes(value)).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
    }
}

/// The number of fields and values that a part adds to an intersection.
pub(super) fn width(schema: &Schema) -> usize {
    let fields = match &schema.kind {
        Kind::Object(shape) => shape.fields.len(),
        _ => 0,
    };
    fields + schema.allowed.as_ref().map_or(0, |allowed| allowed.len())
}
