//! The order of values, the same for every evaluator. Inside lists a missing element is greater than every other. Where
//! missing values of a sort field go is up to the sort key.

use std::cmp::Ordering;

use aquifer_protocol::exact_number;
use serde_json::Value;

use crate::collection::FieldType;
use crate::value::parse_timestamp;

/// Compares two values of a type.
pub(crate) fn compare(field_type: &FieldType, a: &Value, b: &Value) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => compare_present(field_type, a, b),
    }
}

fn compare_present(field_type: &FieldType, a: &Value, b: &Value) -> Ordering {
    match field_type {
        FieldType::Integer | FieldType::Number => compare_numbers(a, b),
        FieldType::Boolean => a.as_bool().cmp(&b.as_bool()),
        FieldType::Time => match (text(a).and_then(parse_timestamp), text(b).and_then(parse_timestamp)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => text(a).cmp(&text(b)),
        },
        FieldType::Text | FieldType::Enum(_) | FieldType::Date | FieldType::Uuid | FieldType::Bytes => {
            text(a).cmp(&text(b))
        }
        FieldType::List(element) => compare_lists(element.as_deref().unwrap_or(&FieldType::Json), a, b),
        FieldType::Json => compare_untyped(a, b),
    }
}

fn compare_lists(element: &FieldType, a: &Value, b: &Value) -> Ordering {
    let (a, b) = (a.as_array().map_or(&[][..], Vec::as_slice), b.as_array().map_or(&[][..], Vec::as_slice));
    let differs = a.iter().zip(b).map(|(a, b)| compare(element, a, b)).find(|order| *order != Ordering::Equal);
    differs.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Untyped values: by kind, then within the kind; numbers as doubles. Objects and lists are not ordered among
/// themselves.
fn compare_untyped(a: &Value, b: &Value) -> Ordering {
    let kind = |value: &Value| match value {
        Value::Bool(_) => 0,
        Value::Number(_) => 1,
        Value::String(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    };
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(_), Value::Number(_)) => compare_floats(as_float(a), as_float(b)),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => kind(a).cmp(&kind(b)),
    }
}

/// Integers are compared exactly, even beyond the precision of a double.
fn compare_numbers(a: &Value, b: &Value) -> Ordering {
    match (as_integer(a), as_integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => compare_floats(as_float(a), as_float(b)),
    }
}

/// Zero has no sign, and NaN is greater than every number.
fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The value as an integer, if it is one or is text that represents one.
pub(crate) fn as_integer(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| number_text(text(value)?).parse().ok())
}

pub(crate) fn as_float(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => number_text(text).parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// The number in a text that holds one exactly, otherwise the text itself.
pub(crate) fn number_text(text: &str) -> &str {
    exact_number::held_number(text).unwrap_or(text)
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}
