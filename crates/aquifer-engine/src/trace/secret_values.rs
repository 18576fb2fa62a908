//! The secrets among the parameters of a call, and how they are removed from its messages.
//!
//! A value is secret if its definition marks it as sensitive or its name is that of a secret. It is removed wherever it
//! occurs, because sources send it under other names and some return it. Credentials that are recognized by their format
//! are removed as everywhere else ([`secrets`]).

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Types};
use aquifer_protocol::secrets::{self, REDACTED, names_secret};
use serde_json::{Map, Value};

/// Shorter texts are removed only where they are a whole JSON string.
const MIN_SECRET_BYTES: usize = 4;

/// Further secrets are not remembered. Instead, no text is shown at all.
const MAX_SECRETS: usize = 200;

const MAX_DEPTH: usize = 64;

/// The maximum number of nested references to named types and unions that are followed.
const MAX_REFERENCES: usize = 8;

/// The secrets of one call.
#[derive(Debug, Default)]
pub(super) struct SecretValues {
    /// In all spellings, the longest first.
    spellings: Vec<String>,
    count: usize,
}

impl SecretValues {
    /// Adds the secrets among the parameters of an operation.
    pub(super) fn add_params(&mut self, operation: &Operation, types: &Types, params: &Map<String, Value>) {
        let fields: Vec<&Parameter> = operation.parameters.iter().collect();
        self.add_fields(params, &fields, types, 0);
        self.spellings.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.spellings.dedup();
    }

    fn add_fields(&mut self, map: &Map<String, Value>, fields: &[&Parameter], types: &Types, depth: usize) {
        for (name, value) in map {
            let declared: Vec<&&Parameter> = fields
                .iter()
                .filter(|field| *field.name == **name || field.original_name.as_deref() == Some(name))
                .collect();
            if names_secret(name) || declared.iter().any(|field| field.sensitive) {
                self.add_leaves(value, depth);
            } else {
                let schemas: Vec<&Schema> = declared.iter().map(|field| &field.schema).collect();
                self.add_nested(value, &schemas, types, depth + 1);
            }
        }
    }

    fn add_nested(&mut self, value: &Value, schemas: &[&Schema], types: &Types, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        let kinds: Vec<&Kind> = schemas.iter().flat_map(|schema| kinds(schema, types, 0)).collect();
        match value {
            Value::Object(map) => {
                let fields = kinds.iter().flat_map(|kind| match kind {
                    Kind::Object(shape) => shape.fields.as_slice(),
                    _ => &[],
                });
                self.add_fields(map, &fields.collect::<Vec<_>>(), types, depth);
            }
            Value::Array(items) => {
                let elements = kinds.iter().filter_map(|kind| match kind {
                    Kind::Array(element) => element.as_deref(),
                    _ => None,
                });
                let elements: Vec<&Schema> = elements.collect();
                items.iter().for_each(|item| self.add_nested(item, &elements, types, depth + 1));
            }
            _ => {}
        }
    }

    /// Adds every text and number of a secret value.
    fn add_leaves(&mut self, value: &Value, depth: usize) {
        match value {
            _ if depth > MAX_DEPTH => {}
            Value::String(text) => self.add(text),
            Value::Number(number) => self.add(&number.to_string()),
            Value::Array(items) => items.iter().for_each(|item| self.add_leaves(item, depth + 1)),
            Value::Object(map) => map.values().for_each(|item| self.add_leaves(item, depth + 1)),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn add(&mut self, secret: &str) {
        self.count += 1;
        if secret.is_empty() || self.count > MAX_SECRETS {
            return;
        }
        let in_json = Value::from(secret).to_string();
        if secret.len() < MIN_SECRET_BYTES {
            self.spellings.push(in_json);
            return;
        }
        self.spellings.extend(secrets::spellings(secret));
    }

    /// The text without secrets.
    pub(super) fn redact(&self, text: &str) -> String {
        if self.count > MAX_SECRETS {
            return REDACTED.to_owned();
        }
        let mut text = text.to_owned();
        for spelling in &self.spellings {
            if text.contains(spelling.as_str()) {
                text = text.replace(spelling.as_str(), REDACTED);
            }
        }
        secrets::redact(&text).into_owned()
    }
}

/// What a schema allows, with named types and unions resolved up to a limit.
fn kinds<'a>(schema: &'a Schema, types: &'a Types, depth: usize) -> Vec<&'a Kind> {
    match &schema.kind {
        _ if depth > MAX_REFERENCES => Vec::new(),
        Kind::Named(name) => types.get(name).map(|schema| kinds(schema, types, depth + 1)).unwrap_or_default(),
        Kind::Union(members) => members.iter().flat_map(|member| kinds(member, types, depth + 1)).collect(),
        kind => vec![kind],
    }
}
