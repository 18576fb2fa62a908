//! Determines which parts of a stored value can be written back, by the schema of the request that writes it.

use std::collections::HashMap;

use aquifer_protocol::exact_number;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape, Types};
use serde_json::{Map, Value};

/// The maximum number of fields that are visited in one value. Descriptions and responses are both untrusted, and their
/// sizes multiply.
const MAX_STEPS: usize = 1_000_000;

/// The maximum number of fields that a message names.
const MAX_NAMED: usize = 20;

/// Whether the API sets a value itself.
pub(super) fn is_read_only(schema: &Schema, types: &Types) -> bool {
    schema.read_only || schema.resolve(types).read_only
}

/// Walks a value along its schema.
pub(super) struct Walk<'a> {
    types: &'a Types,
    steps_left: usize,
    /// The paths of the fields that are missing, and of those whose values the schema does not allow.
    found: Vec<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(types: &'a Types) -> Self {
        Self { types, steps_left: MAX_STEPS, found: Vec::new() }
    }

    /// Keeps the fields that can be written: those that the schema has and that the API does not set itself. `null`
    /// means a missing value where the schema does not allow it. Keeps nothing if the value is too large to visit.
    pub(super) fn retain_writable(mut self, stored: &mut Map<String, Value>, shape: &Shape) {
        if !matches!(shape.rest, Rest::Of(_)) {
            let known = self.known(shape, stored.len());
            stored.retain(|name, _| known.contains_key(name.as_str()));
        }
        self.retain_members(stored, shape);
        if self.steps_left == 0 {
            stored.clear();
        }
    }

    fn retain_members(&mut self, stored: &mut Map<String, Value>, shape: &Shape) {
        let known = self.known(shape, stored.len());
        let types = self.types;
        stored.retain(|name, value| match (known.get(name.as_str()), &shape.rest) {
            (Some(field), _) => {
                !is_read_only(&field.schema, types) && (!value.is_null() || admits_null(&field.schema, types))
            }
            (None, Rest::Refused) => false,
            (None, Rest::Free | Rest::Of(_) | Rest::Documented) => true,
        });
        for (name, value) in stored.iter_mut() {
            match (known.get(name.as_str()), &shape.rest) {
                (Some(field), _) => self.retain_value(value, &field.schema),
                (None, Rest::Of(rest)) => self.retain_value(value, rest),
                (None, _) => {}
            }
        }
    }

    fn retain_value(&mut self, value: &mut Value, schema: &Schema) {
        match (&only_alternative(schema, self.types).kind, value) {
            (Kind::Object(shape), Value::Object(members)) => self.retain_members(members, shape),
            (Kind::Array(Some(items)), Value::Array(elements)) => {
                elements.iter_mut().for_each(|element| self.retain_value(element, items));
            }
            _ => {}
        }
    }

    /// The fields that prevent a value from being written: required ones that are missing, and those of another type.
    /// `None` if the value is too large to visit.
    pub(super) fn problems(mut self, body: &Map<String, Value>, shape: &Shape) -> Option<Vec<String>> {
        self.check_members(body, shape, "");
        (self.steps_left > 0).then_some(self.found)
    }

    fn check_members(&mut self, members: &Map<String, Value>, shape: &Shape, path: &str) {
        self.steps_left = self.steps_left.saturating_sub(shape.fields.len() + 1);
        if self.steps_left == 0 || self.found.len() >= MAX_NAMED {
            return;
        }
        for field in shape.fields.iter().filter(|field| !is_read_only(&field.schema, self.types)) {
            let at = format!("{path}{}", field.name);
            match members.get(&*field.name) {
                Some(value) => self.check_value(value, &field.schema, &at),
                None if field.required => self.found.push(at),
                None => {}
            }
        }
    }

    fn check_value(&mut self, value: &Value, schema: &Schema, at: &str) {
        self.steps_left = self.steps_left.saturating_sub(1);
        if self.steps_left == 0 || (value.is_null() && admits_null(schema, self.types)) {
            return;
        }
        let schema = only_alternative(schema, self.types);
        match (&schema.kind, value) {
            (Kind::Object(shape), Value::Object(members)) => self.check_members(members, shape, &format!("{at}.")),
            (Kind::Array(Some(items)), Value::Array(elements)) => {
                for element in elements {
                    self.check_value(element, items, at);
                }
            }
            (kind, value) if !has_kind(kind, value, self.types) => self.found.push(at.to_owned()),
            _ => {}
        }
        self.found.dedup();
    }

    /// The first field that a caller passes although the API sets it itself. The second value is `false` if the value
    /// is too large to visit.
    pub(super) fn first_read_only(mut self, value: &Value, schema: &Schema, path: &str) -> (Option<String>, bool) {
        let found = self.find_read_only(value, schema, path);
        (found, self.steps_left > 0)
    }

    fn find_read_only(&mut self, value: &Value, schema: &Schema, path: &str) -> Option<String> {
        self.steps_left = self.steps_left.saturating_sub(1);
        if self.steps_left == 0 {
            return None;
        }
        let schema = only_alternative(schema, self.types);
        match (&schema.kind, value) {
            (Kind::Object(shape), Value::Object(members)) => {
                let known = self.known(shape, members.len());
                members.iter().find_map(|(name, member)| {
                    let at = format!("{path}.{name}");
                    match (known.get(name.as_str()), &shape.rest) {
                        (Some(field), _) if is_read_only(&field.schema, self.types) => Some(at),
                        (Some(field), _) => self.find_read_only(member, &field.schema, &at),
                        (None, Rest::Of(rest)) => self.find_read_only(member, rest, &at),
                        (None, _) => None,
                    }
                })
            }
            (Kind::Array(Some(items)), Value::Array(elements)) => {
                elements.iter().find_map(|element| self.find_read_only(element, items, path))
            }
            // A value is refused only if every alternative refuses it.
            (Kind::Union(alternatives), Value::Object(_) | Value::Array(_)) => {
                self.steps_left = self.steps_left.saturating_sub(alternatives.len());
                let is_object =
                    |one: &&Schema| matches!(one.resolve(self.types).kind, Kind::Object(_) | Kind::Array(_));
                let alternatives: Vec<&Schema> = alternatives.iter().filter(is_object).collect();
                let mut first = None;
                for alternative in alternatives {
                    first = Some(self.find_read_only(value, alternative, path)?);
                }
                first
            }
            _ => None,
        }
    }

    /// The fields of a shape by name.
    fn known<'s>(&mut self, shape: &'s Shape, members: usize) -> HashMap<&'s str, &'s Parameter> {
        if members == 0 {
            return HashMap::new();
        }
        self.steps_left = self.steps_left.saturating_sub(shape.fields.len());
        if self.steps_left == 0 {
            return HashMap::new();
        }
        shape.fields.iter().map(|field| (&*field.name, field)).collect()
    }
}

/// The schema itself, or the only alternative besides `null`.
fn only_alternative<'a>(schema: &'a Schema, types: &'a Types) -> &'a Schema {
    let schema = schema.resolve(types);
    let Kind::Union(members) = &schema.kind else { return schema };
    let mut others = members.iter().map(|member| member.resolve(types)).filter(|member| member.kind != Kind::Null);
    match (others.next(), others.next()) {
        (Some(only), None) => only,
        _ => schema,
    }
}

/// Whether `null` is a value of a schema.
pub(super) fn admits_null(schema: &Schema, types: &Types) -> bool {
    let resolved = schema.resolve(types);
    schema.nullable
        || resolved.nullable
        || match &resolved.kind {
            Kind::Any | Kind::Null | Kind::Named(_) => true,
            Kind::Union(members) => members.iter().any(|member| member.nullable || member.kind == Kind::Null),
            _ => false,
        }
}

/// Whether a value is of a kind. Formats, patterns and ranges are left to the API, because they change more often than
/// types.
fn has_kind(kind: &Kind, value: &Value, types: &Types) -> bool {
    // A number with more digits than a double has is held as text.
    let is_held_number = || value.as_str().is_some_and(|text| exact_number::held_number(text).is_some());
    match kind {
        Kind::Any | Kind::Named(_) => true,
        Kind::Null => value.is_null(),
        Kind::Boolean => value.is_boolean(),
        Kind::Integer | Kind::Number => value.is_number() || is_held_number(),
        Kind::String => value.is_string() && !is_held_number(),
        Kind::Array(_) => value.is_array(),
        Kind::Object(_) => value.is_object(),
        // Nested alternatives are not visited.
        Kind::Union(members) => members.iter().any(|member| match &member.resolve(types).kind {
            Kind::Union(_) => true,
            kind => has_kind(kind, value, types),
        }),
    }
}
