//! Makes a copy of a schema with cleaned text that [`aquifer_protocol::schema::SchemaReader`] can read without
//! rejecting what the original accepts.

use serde_json::{Map, Value};

use super::definition;
use super::properties::segment;
use crate::text;

/// Maximum depth. Deeper schemas are read as "anything", because they are untrusted and reading them must terminate.
const MAX_DEPTH: usize = 96;

/// The maximum number of notes of one kind. Further ones are dropped.
const MAX_NOTES: usize = 20;

/// Parts of an `allOf` with more text than this are not merged into one schema.
const MAX_MERGED_BYTES: usize = 4 * 1_024;

/// Keywords whose value maps names to schemas.
const SCHEMA_MAPS: &[&str] = &["properties", "$defs", "definitions", "patternProperties", "dependentSchemas"];

/// Keywords whose value is a list of schemas.
const SCHEMA_LISTS: &[&str] = &["allOf", "anyOf", "oneOf", "prefixItems"];

/// Keywords whose value is a schema.
const SINGLE_SCHEMAS: &[&str] =
    &["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];

/// Keywords that the reader does not support. Only the upstream enforces them.
const UNSUPPORTED_KEYWORDS: &[&str] = &[
    "not",
    "if",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "contains",
    "minProperties",
    "maxProperties",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "$dynamicRef",
];

/// Notes about a schema, collected while it is copied.
#[derive(Debug, Default)]
pub(super) struct SchemaNotes {
    /// Errors in the schema.
    pub(super) broken: Vec<String>,
    /// The paths of texts that were cleaned.
    pub(super) hidden: Vec<String>,
    /// The paths of keywords that are not validated here, and the keywords.
    pub(super) not_read: Vec<(String, String)>,
}

/// A simplified copy of a schema, and notes about it.
pub(super) fn make_readable(schema: &Value) -> (Value, SchemaNotes) {
    let mut copier = Copier { document: schema, notes: SchemaNotes::default() };
    let copy = copier.schema(schema, &Path::Root, 0);
    (copy, copier.notes)
}

/// The path of a schema. Formatted only for a note: untrusted names can be long, and every nested path would repeat
/// them.
enum Path<'a> {
    Root,
    Field(&'a Path<'a>, &'a str),
    Item(&'a Path<'a>, usize),
}

impl std::fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Path::Root => f.write_str("inputSchema"),
            Path::Field(outer, name) => write!(f, "{outer}{}", segment(name)),
            Path::Item(outer, index) => write!(f, "{outer}.{index}"),
        }
    }
}

struct Copier<'a> {
    document: &'a Value,
    notes: SchemaNotes,
}

impl Copier<'_> {
    fn schema(&mut self, json: &Value, path: &Path<'_>, depth: usize) -> Value {
        let object = match json {
            Value::Object(object) if depth < MAX_DEPTH => object,
            // `true` and `{}` accept anything, `false` accepts nothing. The reader cannot express "nothing", so it
            // accepts anything.
            Value::Bool(_) => return Value::Object(Map::new()),
            Value::Object(_) => {
                self.note_not_read(path, "nesting");
                return Value::Object(Map::new());
            }
            _ => {
                self.note_broken(|| format!("'{path}' is not a schema"));
                return Value::Object(Map::new());
            }
        };
        self.check(object, path);
        let mut copy = Map::new();
        for (key, value) in object {
            let place = Path::Field(path, key);
            let value = match (key.as_str(), value) {
                ("description" | "title", Value::String(words)) => Value::from(self.text(words, &place)),
                (key, Value::Object(map)) if SCHEMA_MAPS.contains(&key) => Value::Object(
                    map.iter()
                        .map(|(name, json)| {
                            let copied = self.schema(json, &Path::Field(&place, name), depth + 1);
                            (name.clone(), copied)
                        })
                        .collect(),
                ),
                (key, Value::Array(list)) if SCHEMA_LISTS.contains(&key) => Value::Array(
                    list.iter()
                        .enumerate()
                        .map(|(index, json)| self.schema(json, &Path::Item(&place, index), depth + 1))
                        .collect(),
                ),
                ("additionalProperties", Value::Bool(_)) => value.clone(),
                (key, Value::Object(_)) if SINGLE_SCHEMAS.contains(&key) => self.schema(value, &place, depth + 1),
                _ => value.clone(),
            };
            copy.insert(key.clone(), value);
        }
        remove_stricter_keywords(&mut copy);
        self.merge_all_of(&mut copy, path);
        Value::Object(copy)
    }

    /// Notes keywords with invalid values, and keywords that are not validated here.
    fn check(&mut self, object: &Map<String, Value>, path: &Path<'_>) {
        let mut wrong = |key: &str, is_fine: fn(&Value) -> bool, expected: &str| {
            if object.get(key).is_some_and(|value| !is_fine(value)) {
                self.note_broken(|| format!("'{path}{}' must be {expected}", segment(key)));
            }
        };
        wrong("type", is_type, "the name of a JSON type or a list of them");
        wrong("properties", Value::is_object, "an object");
        wrong("required", |value| is_list_of(value, Value::is_string) || value.is_boolean(), "a list of names");
        wrong("enum", Value::is_array, "a list");
        for key in ["allOf", "anyOf", "oneOf"] {
            wrong(key, |value| value.as_array().is_some_and(|list| !list.is_empty()), "a list of schemas");
        }
        if let Some(reference) = object.get("$ref") {
            let reference = reference.as_str().unwrap_or_default();
            if reference != "#" && definition(self.document, reference).is_none() {
                self.note_broken(|| format!("'{path}.$ref' points to nothing in the schema"));
            }
        }
        for key in UNSUPPORTED_KEYWORDS {
            if object.contains_key(*key) {
                self.note_not_read(path, key);
            }
        }
    }

    /// Merges an `allOf` that constrains a scalar into one schema, because the reader treats every `allOf` of several
    /// parts as an object. If that is not possible, anything is accepted.
    fn merge_all_of(&mut self, copy: &mut Map<String, Value>, path: &Path<'_>) {
        let Some(Value::Array(parts)) = copy.get("allOf") else { return };
        let alone = parts.len() == 1 && !copy.contains_key("properties");
        let is_object = |part: &Value| {
            let part = self.resolved(part);
            part.get("properties").is_some() || part.get("type").is_some_and(|name| name == "object")
        };
        if alone || parts.iter().any(is_object) || copy.contains_key("properties") {
            return;
        }
        // Only small parts are merged, so that a thousand references to a large part do not make a thousand copies of
        // it.
        let is_flat = |value: &Value| !value.is_array() && !value.is_object();
        let is_small = |value: &Value| match value {
            Value::Array(all) => all.len() <= 64 && all.iter().all(is_flat),
            value => is_flat(value),
        };
        let is_small_part = |part: &Map<String, Value>| part.len() <= 64 && part.values().all(is_small);
        let small = parts.len() <= 16
            && parts.iter().all(|part| self.resolved(part).as_object().is_some_and(is_small_part))
            && parts.iter().map(|part| text_bytes(self.resolved(part))).sum::<usize>() <= MAX_MERGED_BYTES;
        if !small {
            self.note_not_read(path, "allOf");
            copy.retain(|key, _| matches!(key.as_str(), "description" | "title" | "default"));
            return;
        }
        let parts: Vec<Value> = parts.iter().map(|part| self.resolved(part).clone()).collect();
        copy.remove("allOf");
        let mut merged = copy.clone();
        for part in &parts {
            for (key, value) in part.as_object().into_iter().flatten() {
                let is_text = matches!(key.as_str(), "description" | "title");
                match merged.get(key) {
                    Some(known) if known != value && !is_text => {
                        self.note_not_read(path, "allOf");
                        copy.retain(|key, _| matches!(key.as_str(), "description" | "title" | "default"));
                        return;
                    }
                    Some(_) => {}
                    None => {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        *copy = merged;
    }

    fn resolved<'a>(&'a self, part: &'a Value) -> &'a Value {
        let reference = part.get("$ref").and_then(Value::as_str);
        reference.and_then(|reference| definition(self.document, reference)).map_or(part, |(found, _)| found)
    }

    fn text(&mut self, words: &str, path: &Path<'_>) -> String {
        let cleaned = text::presentable(words);
        if cleaned != words && self.notes.hidden.len() < MAX_NOTES {
            self.notes.hidden.push(path.to_string());
        }
        cleaned
    }

    fn note_broken(&mut self, what: impl FnOnce() -> String) {
        if self.notes.broken.len() < MAX_NOTES {
            self.notes.broken.push(text::shorten(&text::presentable(&what()), 200));
        }
    }

    fn note_not_read(&mut self, path: &Path<'_>, what: &str) {
        if self.notes.not_read.len() < MAX_NOTES {
            self.notes.not_read.push((path.to_string(), what.to_owned()));
        }
    }
}

/// The size of the text in a value, at any depth.
fn text_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(all) => all.iter().map(text_bytes).sum(),
        Value::Object(all) => all.iter().map(|(key, value)| key.len() + text_bytes(value)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// Removes keywords that the reader would interpret more strictly than JSON Schema does.
fn remove_stricter_keywords(copy: &mut Map<String, Value>) {
    if copy.contains_key("patternProperties") {
        copy.remove("additionalProperties");
    }
    if copy.get("const").is_some_and(Value::is_null) {
        copy.remove("const");
        copy.insert("type".to_owned(), "null".into());
    }
    // A list that contains only null would exclude every other value.
    if copy.get("enum").and_then(Value::as_array).is_some_and(|values| values.iter().all(Value::is_null)) {
        copy.remove("enum");
    }
    // An empty or invalid union accepts anything instead of nothing.
    for key in ["anyOf", "oneOf", "allOf"] {
        if copy.get(key).is_some_and(|value| value.as_array().is_none_or(Vec::is_empty)) {
            copy.remove(key);
        }
    }
}

fn is_type(value: &Value) -> bool {
    const NAMES: &[&str] = &["null", "boolean", "integer", "number", "string", "array", "object"];
    let is_name = |value: &Value| value.as_str().is_some_and(|name| NAMES.contains(&name));
    is_name(value)
        || (is_list_of(value, Value::is_string) && value.as_array().is_some_and(|all| all.iter().all(is_name)))
}

fn is_list_of(value: &Value, is_fine: fn(&Value) -> bool) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(is_fine))
}
