//! Removes secrets from parameters, for the audit and for the person who approves a call.
//!
//! For the audit, redacting too much is the lesser evil. A value is redacted if its definition marks it as sensitive,
//! if its name or a neighboring name suggests a secret, or if it looks like a secret. A person who approves a call has
//! to see everything: only values that the definition marks as sensitive or declares under a secret-like name are
//! hidden. A caller must not be able to hide a value by making it look like a secret.

use aquifer_protocol::hex::hex_prefix;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Schema, Shape, Types};
use aquifer_protocol::secrets::{self, REDACTED, names_secret};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

const CUT: &str = "…";
/// Maximum size of all names and values together.
const MAX_REDACTED_BYTES: usize = 4096;
/// Maximum number of characters of a text.
const MAX_TEXT_CHARS: usize = 200;
/// Maximum number of characters of a name.
const MAX_NAME_CHARS: usize = 64;
/// Maximum depth. No request is nested more deeply than the largest configurable limit, but JSON inside a string could
/// be.
const MAX_DEPTH: usize = 64;
/// Maximum number of nested references to named types and unions that are followed.
const MAX_REFERENCES: usize = 8;
/// Maximum size of text that is parsed as JSON.
const MAX_PARSED_BYTES: usize = 64 * 1024;

/// Names of values that grant access although they do not sound like secrets: session ids and our own metadata.
const ALSO_SENSITIVE: &[&str] = &["sid", "sessionid", "confirmation", "quotacontinue"];

/// Members that describe a neighboring value, as in `{"name": "Authorization", "value": "…"}`.
const NAMES_NEIGHBOURS: &[&str] = &["name", "key", "field", "header", "column", "param", "parameter", "property"];

/// Redacts parameters for the audit.
pub(crate) fn redact(operation: &Operation, types: Option<&Types>, params: &Map<String, Value>) -> Value {
    let schema = object_schema(operation);
    Redactor { types, left: MAX_REDACTED_BYTES, view: View::Audit }.object(params, &[&schema], 0)
}

/// Redacts parameters for the person who approves the call: shows everything, up to about `max_bytes`, and replaces
/// secrets with distinguishable placeholders.
pub(crate) fn redact_for_approver(
    operation: &Operation,
    types: Option<&Types>,
    params: &Map<String, Value>,
    max_bytes: usize,
) -> Value {
    let schema = object_schema(operation);
    Redactor { types, left: max_bytes, view: View::Approver { max_bytes } }.object(params, &[&schema], 0)
}

/// The schema of an operation's parameters, as one object.
fn object_schema(operation: &Operation) -> Schema {
    let shape = Shape { fields: operation.parameters.clone(), ..Shape::default() };
    Schema { kind: Kind::Object(shape), ..Schema::default() }
}

/// Truncates text and states its full length.
pub(crate) fn truncate(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}{CUT} ({} characters)", text.get(..end).unwrap_or_default(), text.chars().count())
        }
    }
}

/// Removes secrets from text, truncates it and states its full length.
pub(crate) fn redact_text(text: &str, max_chars: usize) -> String {
    match secrets::redact_beginning(text, max_chars) {
        (shown, false) => shown.into_owned(),
        (shown, true) => format!("{shown}{CUT} ({} characters)", text.chars().count()),
    }
}

/// The audience of the redacted parameters.
#[derive(Clone, Copy)]
enum View {
    Audit,
    Approver { max_bytes: usize },
}

struct Redactor<'a> {
    types: Option<&'a Types>,
    /// Bytes that may still be written.
    left: usize,
    view: View,
}

impl<'a> Redactor<'a> {
    fn value(&mut self, value: &Value, schemas: &[&'a Schema], depth: usize) -> Value {
        match value {
            Value::Object(_) | Value::Array(_) if depth >= MAX_DEPTH => CUT.into(),
            Value::Object(map) => self.object(map, schemas, depth),
            Value::Array(items) => self.array(items, schemas, depth),
            Value::String(text) => self.text(text, depth),
            Value::Number(number) => {
                // Numbers can be arbitrarily long.
                let text = number.to_string();
                self.spend(text.len());
                match self.view {
                    View::Audit if text.len() > MAX_NAME_CHARS => truncate(&text, MAX_NAME_CHARS).into(),
                    _ => value.clone(),
                }
            }
            Value::Null | Value::Bool(_) => {
                self.spend(5);
                value.clone()
            }
        }
    }

    fn object(&mut self, map: &Map<String, Value>, schemas: &[&'a Schema], depth: usize) -> Value {
        let shapes: Vec<&'a Shape> = schemas.iter().flat_map(|schema| shapes(schema, self.types, 0)).collect();
        let names_neighbours = |name: &str| NAMES_NEIGHBOURS.contains(&name.to_ascii_lowercase().as_str());
        let is_neighbour = matches!(self.view, View::Audit)
            && map
                .iter()
                .any(|(name, value)| names_neighbours(name) && value.as_str().is_some_and(names_sensitive_value));
        let mut redacted = Map::new();
        for (position, (name, value)) in map.iter().enumerate() {
            if self.left == 0 {
                redacted.insert(CUT.to_owned(), format!("{} more", map.len() - position).into());
                break;
            }
            let fields = || shapes.iter().flat_map(|shape| &shape.fields).filter(|field| *field.name == **name);
            let is_sensitive = fields().any(|field| field.sensitive);
            let schemas: Vec<&'a Schema> = fields().map(|field| &field.schema).collect();
            let (name, value) = match self.view {
                View::Audit => {
                    let is_secret =
                        is_sensitive || names_sensitive_value(name) || (is_neighbour && !names_neighbours(name));
                    let shown = redact_text(name, MAX_NAME_CHARS);
                    self.spend(shown.len() + 4);
                    let value = match is_secret && !value.is_null() {
                        true => self.write(REDACTED.to_owned()),
                        false => self.value(value, &schemas, depth + 1),
                    };
                    (shown, value)
                }
                View::Approver { .. } => {
                    self.spend(name.len() + 4);
                    // Names that the definition does not declare were chosen by the caller.
                    let is_named = !schemas.is_empty() && names_secret(name);
                    let value = match value {
                        value if is_sensitive && !value.is_null() => self.write(placeholder(value)),
                        Value::String(_) if is_named => self.write(placeholder(value)),
                        Value::Array(items) if is_named && items.iter().all(Value::is_string) => {
                            items.iter().map(|item| self.write(placeholder(item))).collect()
                        }
                        value => self.value(value, &schemas, depth + 1),
                    };
                    (name.clone(), value)
                }
            };
            redacted.insert(name, value);
        }
        Value::Object(redacted)
    }

    fn array(&mut self, items: &[Value], schemas: &[&'a Schema], depth: usize) -> Value {
        let schemas: Vec<&'a Schema> = schemas.iter().flat_map(|schema| elements(schema, self.types, 0)).collect();
        let mut redacted = Vec::new();
        for (position, item) in items.iter().enumerate() {
            if self.left == 0 {
                redacted.push(format!("{CUT} {} more", items.len() - position).into());
                break;
            }
            self.spend(1);
            redacted.push(self.value(item, &schemas, depth + 1));
        }
        Value::Array(redacted)
    }

    fn text(&mut self, text: &str, depth: usize) -> Value {
        match (self.view, inner_json(text)) {
            (View::Approver { max_bytes }, _) => self.write(truncate(text, max_bytes)),
            (View::Audit, Some(_)) if depth >= MAX_DEPTH => CUT.into(),
            // Serialized again, to show that the value was a string.
            (View::Audit, Some(inner)) => self.value(&inner, &[], depth + 1).to_string().into(),
            (View::Audit, None) => self.write(redact_text(text, MAX_TEXT_CHARS)),
        }
    }

    fn write(&mut self, text: String) -> Value {
        self.spend(text.len() + 2);
        text.into()
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// Whether the audit redacts values with this name.
fn names_sensitive_value(name: &str) -> bool {
    let plain = || name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase());
    names_secret(name) || ALSO_SENSITIVE.iter().any(|known| known.chars().eq(plain()))
}

/// The placeholder for a secret shown to a person. It contains a fingerprint, so that secrets can be told apart. Short
/// text gets none, because it could be guessed, and questions are stored until they are answered.
fn placeholder(value: &Value) -> String {
    const MIN_FINGERPRINTED: usize = 8;
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let (what, text) = match value {
        Value::String(text) => (counted(text.chars().count(), "character"), text.clone()),
        Value::Array(items) => (counted(items.len(), "element"), value.to_string()),
        Value::Object(fields) => (counted(fields.len(), "field"), value.to_string()),
        Value::Number(_) => ("a number".to_owned(), String::new()),
        Value::Bool(_) | Value::Null => ("true or false".to_owned(), String::new()),
    };
    if text.chars().count() < MIN_FINGERPRINTED {
        return format!("[hidden, {what}]");
    }
    let digest = Sha256::digest(text.as_bytes());
    let fingerprint = hex_prefix(&digest, 2);
    format!("[hidden, {what}, sha256 {fingerprint}{CUT}]")
}

/// All object shapes that this schema allows.
fn shapes<'a>(schema: &'a Schema, types: Option<&'a Types>, depth: usize) -> Vec<&'a Shape> {
    resolve(schema, types, depth, &|kind| match kind {
        Kind::Object(shape) => vec![shape],
        _ => Vec::new(),
    })
}

/// All element schemas that this schema allows.
fn elements<'a>(schema: &'a Schema, types: Option<&'a Types>, depth: usize) -> Vec<&'a Schema> {
    resolve(schema, types, depth, &|kind| match kind {
        Kind::Array(Some(element)) => vec![&**element],
        _ => Vec::new(),
    })
}

/// Resolves named types and unions, which may refer to each other, up to a limit.
fn resolve<'a, T>(
    schema: &'a Schema,
    types: Option<&'a Types>,
    depth: usize,
    select: &dyn Fn(&'a Kind) -> Vec<&'a T>,
) -> Vec<&'a T> {
    match &schema.kind {
        _ if depth > MAX_REFERENCES => Vec::new(),
        Kind::Named(name) => types
            .and_then(|types| types.get(name))
            .map(|schema| resolve(schema, types, depth + 1, select))
            .unwrap_or_default(),
        Kind::Union(members) => members.iter().flat_map(|member| resolve(member, types, depth + 1, select)).collect(),
        kind => select(kind),
    }
}

/// Parses text that contains JSON.
fn inner_json(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.len() > MAX_PARSED_BYTES || !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests;
