//! JSON values: which of them a caller may send for each type, their order, their parts and their size.

pub mod bucket;
pub(crate) mod grapheme;
mod memory;
pub(crate) mod order;
pub mod selection;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::collection::FieldType;

pub use memory::memory_size;

/// Converts a value to the canonical form of the type; `None` if it is not of the type. `null` has no type.
pub fn coerce(field_type: &FieldType, value: &Value) -> Option<Value> {
    match (field_type, value) {
        (FieldType::Text, Value::String(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_)) => Some(value.clone()),
        (FieldType::Enum(words), Value::String(word)) => {
            words.iter().any(|allowed| **allowed == **word).then(|| value.clone())
        }
        (FieldType::Integer, Value::Number(number)) => {
            number.as_i64().or_else(|| as_whole_number(number.as_f64()?)).map(Value::from)
        }
        // Integers that JavaScript would round are sent and received as text (R-RES-5).
        (FieldType::Integer, Value::String(text)) => text.parse::<i64>().ok().map(Value::from),
        (FieldType::Number, Value::String(text)) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| value.clone())
        }
        (FieldType::Time, Value::String(text)) => parse_timestamp(text).map(|time| Value::from(time.to_string())),
        (FieldType::Date, Value::String(text)) => text.parse::<Date>().ok().map(|date| Value::from(date.to_string())),
        (FieldType::Uuid, Value::String(text)) => canonical_uuid(text).map(Value::from),
        (FieldType::Bytes, Value::String(text)) => {
            STANDARD.decode(text).ok().map(|bytes| Value::from(STANDARD.encode(bytes)))
        }
        (FieldType::List(element_type), Value::Array(elements)) => {
            let element_type = element_type.as_deref().unwrap_or(&FieldType::Json);
            let coerce_element =
                |element: &Value| if element.is_null() { Some(Value::Null) } else { coerce(element_type, element) };
            elements.iter().map(coerce_element).collect::<Option<Vec<Value>>>().map(Value::from)
        }
        (FieldType::Json, value) if !value.is_null() => Some(value.clone()),
        _ => None,
    }
}

/// The number as an integer: 5.0 is 5. `None` beyond the range that a double represents exactly.
pub(crate) fn as_whole_number(number: f64) -> Option<i64> {
    const MAX_EXACT: f64 = 9_007_199_254_740_991.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and small enough")]
    (number.fract() == 0.0 && number.abs() <= MAX_EXACT).then_some(number as i64)
}

/// A UUID as databases write it: lower case, with dashes.
fn canonical_uuid(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect();
    if digits.len() != 32 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return None;
    }
    let parts = [digits.get(..8)?, digits.get(8..12)?, digits.get(12..16)?, digits.get(16..20)?, digits.get(20..)?];
    Some(parts.join("-"))
}

/// Parses a timestamp with an offset, without one (UTC), or a date (its start in UTC).
pub fn parse_timestamp(text: &str) -> Option<Timestamp> {
    let civil = |text: &str| -> Option<DateTime> {
        text.parse::<DateTime>()
            .ok()
            .or_else(|| text.parse::<Date>().ok().map(|date| date.to_datetime(jiff::civil::Time::midnight())))
    };
    text.parse::<Timestamp>().ok().or_else(|| civil(text)?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp()))
}

/// What a value of the type looks like, for error messages.
pub fn expected_format(field_type: &FieldType) -> &'static str {
    match field_type {
        FieldType::Text => "text",
        FieldType::Enum(_) => "one of its values",
        FieldType::Integer => "an integer",
        FieldType::Number => "a number",
        FieldType::Boolean => "true or false",
        FieldType::Time => "a time such as 2026-01-31T12:00:00Z",
        FieldType::Date => "a date such as 2026-01-31",
        FieldType::Uuid => "a UUID",
        FieldType::Bytes => "base64",
        FieldType::List(_) => "a list",
        FieldType::Json => "a value",
    }
}
