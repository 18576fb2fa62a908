//! Values that violate a description.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::{Value, json};

use super::valid::TEXTS;
use crate::description::{Parameter, Type, ValueKind};

/// Longer text would exceed the size limit of requests instead.
const MAX_TRIED_LEN: usize = 20_000;

/// A value whose type the description does not allow; `None` if everything is allowed or the type is unknown.
pub(crate) fn wrong_type(parameter: &Parameter, types: &BTreeMap<String, Type>) -> Option<Value> {
    let candidates = [json!("not a number"), json!({"unexpected": true}), json!(7), json!(true), json!([[7]])];
    let allowed = |value: &Value| parameter.kinds.iter().any(|kind| may_match(kind, value, types, 0));
    candidates.into_iter().find(|candidate| !allowed(candidate))
}

/// Whether a value may be of this kind. True if in doubt.
fn may_match(kind: &ValueKind, value: &Value, types: &BTreeMap<String, Type>, depth: usize) -> bool {
    match kind {
        ValueKind::String => value.is_string(),
        ValueKind::Integer | ValueKind::Number => value.is_number(),
        ValueKind::Boolean => value.is_boolean(),
        ValueKind::Object => value.is_object(),
        ValueKind::Array(_) => value.is_array(),
        ValueKind::Null => value.is_null(),
        ValueKind::Any => true,
        ValueKind::Named(name) => match types.get(name).filter(|_| depth < 4) {
            Some(known) if known.kind == "enum" => value.is_string(),
            Some(known) if known.kind == "object" => value.is_object(),
            Some(known) if known.kind == "union" => {
                known.members.iter().any(|member| may_match(&ValueKind::parse(member), value, types, depth + 1))
            }
            _ => true,
        },
    }
}

/// Values that violate one documented constraint each, together with the constraint.
pub(crate) fn constraint_violations(parameter: &Parameter) -> Vec<(&'static str, Value)> {
    let mut found = Vec::new();
    let text = parameter.accepts(&ValueKind::String);
    let whole = parameter.accepts(&ValueKind::Integer);
    if !parameter.allowed.is_empty() {
        let outside = if text { json!("none_of_these") } else { json!(-987_654_321) };
        if !parameter.allowed.contains(&outside) {
            found.push(("enum", outside));
        }
    }
    if whole || parameter.accepts(&ValueKind::Number) {
        let beyond = |bound: f64| if whole { json!(bound as i64) } else { json!(bound) };
        found.extend(parameter.minimum.map(|minimum| ("minimum", beyond(minimum - 1.0))));
        found.extend(parameter.maximum.map(|maximum| ("maximum", beyond(maximum + 1.0))));
    }
    if text && parameter.allowed.is_empty() {
        if let Some(shortest) = parameter.min_length.filter(|shortest| *shortest > 0) {
            found.push(("minLength", json!("x".repeat(shortest - 1))));
        }
        if let Some(longest) = parameter.max_length.filter(|longest| *longest < MAX_TRIED_LEN) {
            found.push(("maxLength", json!("x".repeat(longest + 1))));
        }
        if let Some(pattern) = parameter.pattern.as_ref().and_then(|pattern| Regex::new(pattern).ok()) {
            let others = TEXTS.iter().copied().chain(["% %"]);
            found.extend(others.rev().find(|text| !pattern.is_match(text)).map(|text| ("pattern", json!(text))));
        }
        if let Some("date" | "date-time" | "uuid" | "email") = parameter.format.as_deref() {
            found.push(("format", json!("neither date nor address")));
        }
    }
    found
}
