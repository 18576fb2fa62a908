//! The values of a SQLite cursor, as statements bind them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::statement::Bind;

/// Whether a cursor value is text that is not UTF-8: SQLite stores any bytes.
pub(crate) fn is_invalid_text(value: &Value) -> bool {
    value.get("text").is_some()
}

/// A cursor value as SQLite stored it.
pub(crate) fn cursor_bind(value: &Value) -> Bind {
    match value {
        Value::Null => Bind::Null,
        Value::Bool(yes) => Bind::Integer(i64::from(*yes)),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Bind::Integer(whole),
            None => number.as_f64().map_or(Bind::Null, Bind::Real),
        },
        Value::String(text) => Bind::Text(text.clone()),
        Value::Object(object) => {
            let held = |name: &str| object.get(name).and_then(Value::as_str);
            if let Some(number) = held("real").and_then(|text| text.parse().ok()) {
                return Bind::Real(number);
            }
            let bytes = held("blob").or_else(|| held("text")).and_then(|text| STANDARD.decode(text).ok());
            Bind::Bytes(bytes.unwrap_or_default())
        }
        Value::Array(_) => Bind::Text(value.to_string()),
    }
}
