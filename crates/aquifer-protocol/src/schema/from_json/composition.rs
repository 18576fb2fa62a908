//! Schemas that are composed of others: `oneOf`, `anyOf` and `allOf`.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::schema::definitions::{is_annotation, is_bare_object};
use crate::schema::intersect::intersect;
use crate::schema::size::width;
use crate::schema::{Kind, Schema};

use super::{SchemaReader, states_fields};

impl SchemaReader<'_> {
    /// The alternatives under `key`. Fields beside the keyword belong to each alternative.
    pub(super) fn alternatives(
        &mut self,
        members: &[Value],
        whole: &Map<String, Value>,
        key: &str,
        depth: usize,
    ) -> Schema {
        if !states_fields(whole) {
            return self.union(members, depth);
        }
        let own = Value::Object(whole.iter().filter(|(name, _)| *name != key).map(clone_pair).collect());
        let own = self.schema(&own, depth + 1);
        let mut read = Vec::new();
        for member in members {
            let part = self.part(member, depth + 1);
            match self.merged(&[own.clone(), part]) {
                Some(merged) if matches!(merged.kind, Kind::Object(_)) => read.push(merged),
                // Alternatives that cannot be merged are validated by the source.
                _ => return own,
            }
        }
        join(&mut read)
    }

    fn union(&mut self, members: &[Value], depth: usize) -> Schema {
        if let Some(words) = constants(members) {
            return Schema { allowed: Some(words), ..Schema::string() };
        }
        let mut members: Vec<Schema> = members.iter().map(|json| self.schema(json, depth + 1)).collect();
        join(&mut members)
    }

    pub(super) fn intersection(&mut self, parts: &[Value], whole: &Map<String, Value>, depth: usize) -> Schema {
        let requires = |part: &Value| part.as_object().is_some_and(states_fields);
        let has_own = states_fields(whole) || parts.iter().any(|part| is_shapeless(part) && requires(part));
        let refers = parts.iter().any(|part| part.get("$ref").is_some());
        let (annotations, shaping): (Vec<&Value>, Vec<&Value>) =
            parts.iter().partition(|part| is_annotation(part) || (refers && is_bare_object(part)));
        if let ([only], false) = (shaping.as_slice(), has_own) {
            let mut schema = self.schema(only, depth + 1);
            annotations.into_iter().filter_map(Value::as_object).for_each(|part| self.annotate(&mut schema, part));
            return schema;
        }
        let own = Value::Object(whole.iter().filter(|(key, _)| *key != "allOf").map(clone_pair).collect());
        let read: Vec<Schema> = parts.iter().chain([&own]).map(|part| self.part(part, depth + 1)).collect();
        self.merged(&read).unwrap_or_default()
    }

    /// The intersection of the parts, unless the limits are exceeded.
    fn merged(&mut self, parts: &[Schema]) -> Option<Schema> {
        let fields: usize = parts.iter().map(|part| width(part.resolve(&self.types))).sum();
        self.steps_left = self.steps_left.checked_sub(fields)?;
        Some(intersect(parts.iter().map(|part| part.resolve(&self.types))))
    }
}

/// Whether a part of an `allOf` describes no fields itself.
fn is_shapeless(part: &Value) -> bool {
    is_annotation(part) || is_bare_object(part)
}

fn clone_pair((key, value): (&String, &Value)) -> (String, Value) {
    (key.clone(), value.clone())
}

/// The values of alternatives that are all constants: an enum written as a union to document each value.
fn constants(members: &[Value]) -> Option<Arc<[Value]>> {
    let mut words = Vec::new();
    for member in members {
        match (member.get("const"), member.get("enum").and_then(Value::as_array)) {
            (Some(word @ Value::String(_)), _) => words.push(word.clone()),
            (None, Some(more)) if more.iter().all(Value::is_string) => words.extend(more.iter().cloned()),
            _ => return None,
        }
    }
    (!words.is_empty()).then(|| words.into())
}

/// Combines alternatives into one schema. A `null` alternative makes it nullable.
pub(super) fn join(members: &mut Vec<Schema>) -> Schema {
    let before = members.len();
    members.retain(|member| !matches!(member.kind, Kind::Null));
    let nullable = members.len() < before;
    let mut schema = match (members.pop(), members.is_empty()) {
        (None, _) => return Schema::new(Kind::Null),
        (Some(only), true) => only,
        (Some(last), false) => {
            members.push(last);
            Schema::new(Kind::Union(std::mem::take(members)))
        }
    };
    schema.nullable |= nullable;
    schema
}
