//! Generates a value that fits a schema: for examples, and for testing that what introspection shows is accepted.

use serde_json::{Map, Value, json};

use crate::text::secrets::names_secret;

use super::{Format, Kind, Parameter, Range, Schema, Types, info};

/// Deeper shapes are left out: an example shows how to begin.
const MAX_DEPTH: usize = 6;

/// An example larger than this shows nothing any more.
const MAX_BYTES: usize = 200;

/// A value that fits, if one can be found without guessing (a pattern, for instance, cannot be answered).
pub fn sample(schema: &Schema, types: &Types) -> Option<Value> {
    let mut room = MAX_BYTES;
    value(schema, types, 0, &mut room)
}

/// The least that an operation with these parameters accepts, with the examples of their author.
pub(crate) fn sample_params(parameters: &[Parameter], types: &Types) -> Option<Map<String, Value>> {
    let mut room = MAX_BYTES;
    fields(parameters, types, 0, &mut room)
}

/// The parameters without the examples of their author, which may not fit.
pub(crate) fn without_examples(parameters: &[Parameter]) -> Vec<Parameter> {
    let plain = |parameter: &Parameter| {
        let schema = Schema { example: None, ..parameter.schema.clone() };
        Parameter { schema, ..parameter.clone() }
    };
    parameters.iter().map(plain).collect()
}

fn fields(parameters: &[Parameter], types: &Types, depth: usize, room: &mut usize) -> Option<Map<String, Value>> {
    parameters
        .iter()
        .filter(|parameter| parameter.required)
        .map(|parameter| {
            let given =
                parameter.schema.example.as_ref().filter(|_| !parameter.sensitive && !names_secret(&parameter.name));
            let value = match given {
                Some(example) => example.clone(),
                None => value(&parameter.schema, types, depth, room)?,
            };
            Some((parameter.name.to_string(), value))
        })
        .collect()
}

fn value(schema: &Schema, types: &Types, depth: usize, room: &mut usize) -> Option<Value> {
    *room = room.checked_sub(1)?;
    if depth > MAX_DEPTH {
        return None;
    }
    if let Some(default) = &schema.default {
        return Some(default.clone());
    }
    let schema = schema.resolve(types);
    if let Some(allowed) = &schema.allowed {
        return allowed.first().cloned();
    }
    match &schema.kind {
        Kind::Any => Some(json!("text")),
        Kind::Null => Some(Value::Null),
        Kind::Boolean => Some(Value::Bool(true)),
        Kind::Integer | Kind::Number => Some(info::number(within(schema.range))),
        Kind::String => text(schema),
        Kind::Array(items) => {
            let count = schema.items.min.unwrap_or(1).clamp(1, 8);
            match items {
                Some(items) if schema.items.max != Some(0) => {
                    let element = value(items, types, depth + 1, room)?;
                    Some(Value::Array(vec![element; usize::try_from(count).ok()?]))
                }
                _ => Some(json!([])),
            }
        }
        Kind::Object(shape) => {
            let mut object = fields(&shape.fields, types, depth + 1, room)?;
            // An object of optional fields says more with one of them than empty.
            if object.is_empty()
                && let Some(first) = shape.fields.first()
            {
                object.insert(first.name.to_string(), value(&first.schema, types, depth + 1, room)?);
            }
            Some(Value::Object(object))
        }
        Kind::Named(_) => None,
        // Bounds of the whole hold for each alternative that is a number.
        Kind::Union(members) => members.iter().find_map(|member| {
            let bounded = Schema { range: schema.range, ..member.clone() };
            let is_number = matches!(member.kind, Kind::Integer | Kind::Number) && member.range == Range::default();
            value(if is_number { &bounded } else { member }, types, depth + 1, room)
        }),
    }
}

fn within(range: Range) -> f64 {
    let step = range.multiple_of.unwrap_or(1.0);
    let least = range
        .minimum
        .or(range.above.map(|above| above + step))
        .unwrap_or(1.0)
        .max(1.0_f64.min(range.maximum.unwrap_or(1.0)));
    let least = (least / step).ceil() * step;
    match range.maximum.or(range.below.map(|below| below - step)) {
        Some(most) if least > most => most,
        _ => least,
    }
}

fn text(schema: &Schema) -> Option<Value> {
    let plain = match schema.format.as_ref() {
        Some(Format::DateTime) => "2026-01-31T12:00:00Z",
        Some(Format::Date) => "2026-01-31",
        Some(Format::Time) => "12:00:00Z",
        Some(Format::Duration) => "PT1H",
        Some(Format::Email) => "someone@example.com",
        Some(Format::Uri) => "https://example.com/",
        Some(Format::Uuid) => "00000000-0000-4000-8000-000000000000",
        Some(Format::Ipv4) => "127.0.0.1",
        Some(Format::Ipv6) => "::1",
        Some(Format::Hint(_)) | None => "text",
    };
    if schema.pattern.as_ref().is_some_and(|pattern| !pattern.admits(plain)) {
        return None;
    }
    let shortest = usize::try_from(schema.length.min.unwrap_or(0)).ok().filter(|length| *length <= 1000)?;
    let mut text = plain.to_owned();
    while text.chars().count() < shortest {
        text.push('x');
    }
    let max_chars = schema.length.max.and_then(|max| usize::try_from(max).ok()).unwrap_or(usize::MAX);
    Some(text.chars().take(max_chars).collect::<String>().into())
}
