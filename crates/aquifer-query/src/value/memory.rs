//! How much memory a value takes.

use serde_json::Value;

/// The approximate number of bytes a value takes in memory. Held results are bounded by it.
pub fn memory_size(value: &Value) -> usize {
    const NODE: usize = size_of::<Value>();
    // A name, its hash and its table entry.
    const ENTRY: usize = size_of::<String>() + 2 * size_of::<usize>() + 8;
    NODE + match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.capacity(),
        Value::Array(elements) => elements.iter().map(memory_size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, field)| ENTRY + name.capacity() + memory_size(field)).sum(),
    }
}
