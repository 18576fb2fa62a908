//! Schemas in the form that introspection publishes as `ParameterInfo` (R-INT-2, R-INT-2a).

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::{Deprecation, Kind, Parameter, Rest, Schema, Shape};

/// The type as shown to callers: `integer`, `string | string[]`, `Task`.
pub fn type_words(schema: &Schema) -> String {
    let words = match &schema.kind {
        Kind::Any => "any".to_owned(),
        Kind::Null => "null".to_owned(),
        Kind::Boolean => "boolean".to_owned(),
        Kind::Integer => "integer".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::String => "string".to_owned(),
        Kind::Array(_) => "array".to_owned(),
        Kind::Object(_) => "object".to_owned(),
        Kind::Named(name) => name.to_string(),
        Kind::Union(members) => {
            let mut words: Vec<String> = members.iter().map(member_words).collect();
            words.dedup();
            words.join(" | ")
        }
    };
    if schema.nullable && !matches!(schema.kind, Kind::Null) { format!("{words} | null") } else { words }
}

/// The type of a union member. An array names its elements, because unions have no `items`.
fn member_words(schema: &Schema) -> String {
    match &schema.kind {
        Kind::Array(Some(items)) => match type_words(items) {
            words if words.contains(' ') => format!("({words})[]"),
            words => format!("{words}[]"),
        },
        _ => type_words(schema),
    }
}

/// The JSON type of a value, as used in messages.
pub(crate) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if is_whole(number) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_whole(number: &serde_json::Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// A parameter as introspection shows it.
pub(crate) struct ParameterInfo<'a>(pub(crate) &'a Parameter);

impl Serialize for ParameterInfo<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parameter = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &*parameter.name)?;
        map.serialize_entry("type", &type_words(&parameter.schema))?;
        map.serialize_entry("required", &parameter.required)?;
        let description = description(&parameter.schema, parameter.deprecated.as_ref());
        if !description.is_empty() {
            map.serialize_entry("description", &description)?;
        }
        entries(&mut map, &parameter.schema)?;
        if parameter.sensitive {
            map.serialize_entry("sensitive", &true)?;
        }
        map.end()
    }
}

/// The elements of an array as introspection shows them: a parameter without a name.
struct Items<'a>(&'a Schema);

impl Serialize for Items<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &type_words(self.0))?;
        let description = description(self.0, None);
        if !description.is_empty() {
            map.serialize_entry("description", &description)?;
        }
        entries(&mut map, self.0)?;
        map.end()
    }
}

fn entries<M: SerializeMap>(map: &mut M, schema: &Schema) -> Result<(), M::Error> {
    if let Some(default) = &schema.default {
        map.serialize_entry("default", default)?;
    }
    if let Some(allowed) = &schema.allowed {
        map.serialize_entry("enum", &allowed[..])?;
    }
    if let Some(minimum) = schema.range.minimum {
        map.serialize_entry("minimum", &number(minimum))?;
    }
    if let Some(maximum) = schema.range.maximum {
        map.serialize_entry("maximum", &number(maximum))?;
    }
    if let Some(min) = schema.length.min {
        map.serialize_entry("minLength", &min)?;
    }
    if let Some(max) = schema.length.max {
        map.serialize_entry("maxLength", &max)?;
    }
    if let Some(pattern) = &schema.pattern {
        map.serialize_entry("pattern", pattern.source())?;
    }
    if let Some(format) = &schema.format {
        map.serialize_entry("format", format.as_str())?;
    }
    if let Kind::Array(Some(items)) = &schema.kind {
        map.serialize_entry("items", &Items(items))?;
    }
    Ok(())
}

/// The description, followed by the constraints for which there is no published field.
fn description(schema: &Schema, deprecated: Option<&Deprecation>) -> String {
    let mut parts: Vec<String> = Vec::new();
    if let Some(description) = &schema.description {
        parts.push(description.trim().to_owned());
    }
    match (schema.items.min, schema.items.max) {
        (Some(min), Some(max)) => parts.push(format!("Between {min} and {max} elements.")),
        (Some(min), None) => parts.push(format!("{min} or more elements.")),
        (None, Some(max)) => parts.push(format!("No more than {max} elements.")),
        (None, None) => {}
    }
    if schema.unique_items {
        parts.push("Elements must differ.".to_owned());
    }
    if let Some(above) = schema.range.above {
        parts.push(format!("Greater than {}.", number(above)));
    }
    if let Some(below) = schema.range.below {
        parts.push(format!("Less than {}.", number(below)));
    }
    if let Some(multiple) = schema.range.multiple_of {
        parts.push(format!("A multiple of {}.", number(multiple)));
    }
    if let Kind::Object(Shape { rest: Rest::Of(values), .. }) = &schema.kind {
        parts.push(format!("Values: {}.", type_words(values)));
    }
    if let Kind::Union(members) = &schema.kind {
        let constraints: Vec<String> = members.iter().filter_map(member_constraints).collect();
        if !constraints.is_empty() {
            parts.push(format!("{}.", constraints.join("; ")));
        }
    }
    if schema.read_only {
        parts.push("Read-only.".to_owned());
    }
    if let Some(deprecation) = deprecated {
        let says_so = schema.description.as_ref().is_some_and(|text| text.to_lowercase().contains("deprecated"));
        match &deprecation.advice {
            Some(advice) => parts.push(format!("Deprecated: {advice}")),
            None if says_so => {}
            None => parts.push("Deprecated.".to_owned()),
        }
    }
    parts.join(" ")
}

/// The constraints of one alternative of a union, which can only be stated in the description.
fn member_constraints(member: &Schema) -> Option<String> {
    let mut bounds = Vec::new();
    if let Some(allowed) = &member.allowed {
        let values: Vec<String> = allowed.iter().map(Value::to_string).collect();
        bounds.push(format!("one of {}", values.join(", ")));
    }
    let mut bound = |word: &str, value: Option<Value>| bounds.extend(value.map(|value| format!("{word} {value}")));
    bound("min", member.range.minimum.map(number));
    bound("max", member.range.maximum.map(number));
    bound("min length", member.length.min.map(Value::from));
    bound("max length", member.length.max.map(Value::from));
    bound("pattern", member.pattern.as_ref().map(|pattern| pattern.source().into()));
    bound("format", member.format.as_ref().map(|format| format.as_str().into()));
    (!bounds.is_empty()).then(|| format!("{}: {}", type_words(member), bounds.join(", ")))
}

/// Writes whole numbers without a fraction.
pub(crate) fn number(value: f64) -> Value {
    const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < MAX_EXACT_INTEGER {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}
