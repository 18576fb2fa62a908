//! Reduces a parameter to the fields of the published bundle, and lists the keywords that have no field there.

use std::sync::Arc;

use aquifer_protocol::schema::{Kind, Schema, Types};
use serde_json::Value;

use super::InputParameter;

/// A parameter reduced to the fields of the published bundle.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct NarrowedParameter {
    pub(crate) type_name: String,
    pub(crate) description: Option<String>,
    pub(crate) default: Option<Value>,
    pub(crate) allowed: Option<Vec<String>>,
    pub(crate) minimum: Option<Value>,
    pub(crate) maximum: Option<Value>,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
    /// Keywords that have no field.
    pub(crate) left_out: Vec<String>,
}

/// Keywords that the reduced parameter represents, or that do not constrain the value.
const PUBLISHED_KEYWORDS: &[&str] = &[
    "type",
    "description",
    "title",
    "default",
    "enum",
    "minimum",
    "maximum",
    "pattern",
    "format",
    "$schema",
    "$comment",
];

/// Maximum number of references that are followed.
const MAX_NAMES: usize = 8;

/// Maximum number of members of nested unions. A larger union is read as "anything".
const MAX_MEMBERS: usize = 500;

/// A budget for repeating shared types in the parameters of one tool: union members and list values.
#[derive(Debug)]
pub(crate) struct NarrowingBudget(usize);

impl Default for NarrowingBudget {
    fn default() -> Self {
        Self(10_000)
    }
}

impl NarrowingBudget {
    fn take(&mut self, count: usize) -> bool {
        self.0.checked_sub(count).map(|left| self.0 = left).is_some()
    }
}

pub(crate) fn narrow(parameter: &InputParameter, types: &Types, shared: &mut NarrowingBudget) -> NarrowedParameter {
    let schema = resolve(&parameter.schema, types);
    let own = &parameter.schema;
    let mut left_out: Vec<String> = parameter
        .json
        .as_object()
        .into_iter()
        .flat_map(|object| object.keys())
        .filter(|key| !PUBLISHED_KEYWORDS.contains(&key.as_str()))
        .cloned()
        .collect();
    let values = own.allowed.as_ref().or(schema.allowed.as_ref());
    let is_told = |values: &&Arc<[Value]>| own.allowed.is_some() || shared.take(values.len());
    let allowed = values.filter(is_told).and_then(|values| {
        values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>()
    });
    if values.is_some() && allowed.is_none() {
        left_out.push("enum".to_owned());
    }
    let mut budget = MAX_MEMBERS.min(shared.0);
    let before = budget;
    let type_name = match type_name(own, types, 0, &mut budget) {
        any if any == "any" => values.and_then(|values| common_type(values)).unwrap_or("any").to_owned(),
        name => name,
    };
    shared.take(before - budget);
    let default = own.default.clone().filter(|default| fits(default, &type_name));
    if own.default.is_some() && default.is_none() {
        left_out.push("default".to_owned());
    }
    let bound = |own: Option<f64>, named: Option<f64>| own.or(named).map(number);
    let text = |key: &str| parameter.json.get(key).and_then(Value::as_str).map(str::to_owned);
    NarrowedParameter {
        type_name,
        description: own.description.as_deref().map(str::trim).filter(|words| !words.is_empty()).map(str::to_owned),
        default,
        allowed: allowed.filter(|allowed| !allowed.is_empty()),
        minimum: bound(own.range.minimum, schema.range.minimum),
        maximum: bound(own.range.maximum, schema.range.maximum),
        pattern: own.pattern.as_ref().or(schema.pattern.as_ref()).map(|pattern| pattern.source().to_owned()),
        format: text("format").or_else(|| schema.format.as_ref().map(|format| format.as_str().to_owned())),
        left_out,
    }
}

fn resolve<'a>(schema: &'a Schema, types: &'a Types) -> &'a Schema {
    let mut schema = schema;
    for _ in 0..MAX_NAMES {
        match &schema.kind {
            Kind::Named(name) => match types.get(name) {
                Some(target) => schema = target,
                None => break,
            },
            _ => break,
        }
    }
    schema
}

/// The JSON type of a schema, as adapter files spell it.
pub(crate) fn type_words(schema: &Schema, types: &Types) -> String {
    let mut budget = MAX_MEMBERS;
    match type_name(schema, types, 0, &mut budget) {
        nothing if nothing.is_empty() => "any".to_owned(),
        words => words,
    }
}

/// The JSON type, several separated by `|`. Type names are resolved, because they have no meaning outside their schema.
fn type_name(schema: &Schema, types: &Types, depth: usize, budget: &mut usize) -> String {
    *budget = budget.saturating_sub(1);
    let target = resolve(schema, types);
    let mut words: Vec<String> = match &target.kind {
        Kind::Any | Kind::Named(_) => vec!["any".to_owned()],
        Kind::Null => vec!["null".to_owned()],
        Kind::Boolean => vec!["boolean".to_owned()],
        Kind::Integer => vec!["integer".to_owned()],
        Kind::Number => vec!["number".to_owned()],
        Kind::String => vec!["string".to_owned()],
        Kind::Array(_) => vec!["array".to_owned()],
        Kind::Object(_) => vec!["object".to_owned()],
        Kind::Union(_) if depth > MAX_NAMES || *budget == 0 => vec!["any".to_owned()],
        Kind::Union(members) => members
            .iter()
            .flat_map(|member| {
                type_name(member, types, depth + 1, budget).split(" | ").map(str::to_owned).collect::<Vec<_>>()
            })
            .collect(),
    };
    if schema.nullable || target.nullable {
        words.push("null".to_owned());
    }
    // There are only eight different types, so `seen` stays short.
    let mut seen: Vec<String> = Vec::new();
    words.retain(|word| {
        let first = !seen.contains(word);
        if first {
            seen.push(word.clone());
        }
        first
    });
    if words.iter().any(|word| word == "any") { "any".to_owned() } else { words.join(" | ") }
}

/// The common type of a list of values, for schemas that do not state one.
fn common_type(values: &[Value]) -> Option<&'static str> {
    let kind = |value: &Value| match value {
        Value::String(_) => Some("string"),
        Value::Number(number) if number.is_i64() || number.is_u64() => Some("integer"),
        Value::Number(_) => Some("number"),
        Value::Bool(_) => Some("boolean"),
        _ => None,
    };
    let first = kind(values.first()?)?;
    values.iter().all(|value| kind(value) == Some(first)).then_some(first)
}

/// Whether a default has its parameter's type: upstreams write `"5"` where they mean 5.
pub(crate) fn fits(value: &Value, type_name: &str) -> bool {
    type_name.split(" | ").any(|word| match word {
        "any" => true,
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}

/// Writes whole numbers without a fraction.
pub(crate) fn number(value: f64) -> Value {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() < EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}
