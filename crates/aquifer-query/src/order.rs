//! The order of values, the same wherever a plan is carried out. Inside lists a missing element is greater than every
//! other; where missing values of a sorted field go is up to the sort key.

use std::cmp::Ordering;

use serde_json::Value;

use crate::collection::FieldType;
use crate::value::moment;

/// Compares two values of a type.
pub(crate) fn compare(of: &FieldType, a: &Value, b: &Value) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => present(of, a, b),
    }
}

fn present(of: &FieldType, a: &Value, b: &Value) -> Ordering {
    match of {
        FieldType::Integer | FieldType::Number => numbers(a, b),
        FieldType::Boolean => a.as_bool().cmp(&b.as_bool()),
        FieldType::Time => match (text(a).and_then(moment), text(b).and_then(moment)) {
            (Some(a), Some(b)) => a.cmp(&b),
            _ => text(a).cmp(&text(b)),
        },
        FieldType::Text | FieldType::Word(_) | FieldType::Date | FieldType::Uuid | FieldType::Bytes => {
            text(a).cmp(&text(b))
        }
        FieldType::List(element) => lists(element.as_deref().unwrap_or(&FieldType::Json), a, b),
        FieldType::Json => loose(a, b),
    }
}

fn lists(element: &FieldType, a: &Value, b: &Value) -> Ordering {
    let (a, b) = (a.as_array().map_or(&[][..], Vec::as_slice), b.as_array().map_or(&[][..], Vec::as_slice));
    let differs = a.iter().zip(b).map(|(a, b)| compare(element, a, b)).find(|order| *order != Ordering::Equal);
    differs.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// Values of no known type: by kind, then within the kind, numbers as JavaScript would have them. Objects and lists have
/// no order among themselves.
fn loose(a: &Value, b: &Value) -> Ordering {
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
        (Value::Number(_), Value::Number(_)) => doubles(number(a), number(b)),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        _ => kind(a).cmp(&kind(b)),
    }
}

/// Integers too large for a double are told apart exactly.
fn numbers(a: &Value, b: &Value) -> Ordering {
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => doubles(number(a), number(b)),
    }
}

/// Zero has no sign, and what is no number is greater than all that are.
fn doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

/// The value as a whole number, if it is one or stands for one in text.
pub(crate) fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| text(value)?.parse().ok())
}

pub(crate) fn number(value: &Value) -> f64 {
    match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(text) => text.parse().unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

fn text(value: &Value) -> Option<&str> {
    value.as_str()
}
