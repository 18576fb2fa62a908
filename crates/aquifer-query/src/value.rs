//! Values of each type: what a caller may send for one.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::collection::FieldType;

/// The value as the type keeps it, if it is one of the type. `null` is of no type.
pub fn accept(of: &FieldType, value: &Value) -> Option<Value> {
    match (of, value) {
        (FieldType::Text | FieldType::Bytes, Value::String(_))
        | (FieldType::Number, Value::Number(_))
        | (FieldType::Boolean, Value::Bool(_)) => Some(value.clone()),
        (FieldType::Word(words), Value::String(word)) => {
            words.iter().any(|known| **known == **word).then(|| value.clone())
        }
        (FieldType::Integer, Value::Number(number)) if number.is_i64() => Some(value.clone()),
        // Integers that JavaScript would round are sent and received as text (R-RES-5).
        (FieldType::Integer, Value::String(text)) => text.parse::<i64>().ok().map(Value::from),
        (FieldType::Number, Value::String(text)) => {
            text.parse::<f64>().ok().filter(|number| number.is_finite()).map(|_| value.clone())
        }
        (FieldType::Time, Value::String(text)) => moment(text).map(|time| Value::from(time.to_string())),
        (FieldType::Date, Value::String(text)) => text.parse::<Date>().ok().map(|date| Value::from(date.to_string())),
        (FieldType::Uuid, Value::String(text)) => {
            let hex = text.chars().filter(|c| *c != '-').collect::<String>();
            (hex.len() == 32 && hex.chars().all(|c| c.is_ascii_hexdigit())).then(|| Value::from(text.to_lowercase()))
        }
        (FieldType::List(_) | FieldType::Json, value) if !value.is_null() => Some(value.clone()),
        _ => None,
    }
}

/// A moment, written with an offset, without one (then UTC), or as a day (then its beginning).
pub fn moment(text: &str) -> Option<Timestamp> {
    let civil = |text: &str| -> Option<DateTime> {
        text.parse::<DateTime>()
            .ok()
            .or_else(|| text.parse::<Date>().ok().map(|date| date.to_datetime(jiff::civil::Time::midnight())))
    };
    text.parse::<Timestamp>().ok().or_else(|| civil(text)?.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp()))
}

/// What a value of the type looks like, for messages.
pub fn looks_like(of: &FieldType) -> &'static str {
    match of {
        FieldType::Text => "text",
        FieldType::Word(_) => "one of its words",
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
