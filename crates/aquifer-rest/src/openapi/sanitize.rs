//! Cleans the schemas of a description and adapts them to what requests need.
//!
//! Descriptions are only displayed, so they are replaced by cleaned ones. Values that a caller chooses from must reach
//! the API unchanged. A list of allowed values is therefore dropped if one of them cannot be displayed unchanged, and
//! the API itself refuses unknown values. The same applies to patterns and field names.

use std::collections::HashMap;
use std::sync::Arc;

use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};
use aquifer_protocol::text::{clean_json, presentable};
use serde_json::Value;

use super::text::prose;

/// The maximum length of the description of a field or parameter.
const MAX_DESCRIPTION_CHARS: usize = 400;

/// The maximum number of allowed values. Longer lists are left to the API.
const MAX_ALLOWED: usize = 2_000;

/// The maximum number of cached texts.
const MAX_REMEMBERED: usize = 100_000;

/// Cleans schemas. Texts repeat, so each is cleaned once and shared.
#[derive(Default)]
pub(super) struct Cleaner {
    descriptions: HashMap<Arc<str>, Option<Arc<str>>>,
    words: HashMap<Box<str>, bool>,
}

impl Cleaner {
    /// Cleans a schema.
    pub(super) fn schema(&mut self, schema: &mut Schema) {
        schema.description = schema.description.take().and_then(|raw| self.description(raw));
        if let Some(default) = schema.default.take() {
            schema.default = Some(default).filter(|default| self.is_clean_value(default));
            // The API applies its own default, which may have changed.
            schema.is_source_default = true;
        }
        schema.example = schema.example.take().filter(|example| self.is_clean_value(example));
        schema.pattern = schema.pattern.take().filter(|pattern| self.is_clean(pattern.source()));
        schema.format = schema.format.take().filter(|format| self.is_clean(format.as_str()));
        let is_shown = |values: &Arc<[Value]>| {
            values.len() <= MAX_ALLOWED && values.iter().all(|value| self.is_clean_value(value))
        };
        schema.allowed = schema.allowed.take().filter(is_shown);
        match &mut schema.kind {
            Kind::Array(Some(items)) => self.schema(items),
            Kind::Union(members) => members.iter_mut().for_each(|member| self.schema(member)),
            Kind::Object(shape) => self.fields(shape),
            _ => {}
        }
    }

    fn fields(&mut self, shape: &mut Shape) {
        let before = shape.fields.len();
        shape.fields.retain(|field| self.is_clean(&field.name));
        if shape.fields.len() < before && matches!(shape.rest, Rest::Refused) {
            shape.rest = Rest::Free;
        }
        shape.fields.iter_mut().for_each(|field| self.parameter(field));
        if let Rest::Of(rest) = &mut shape.rest {
            self.schema(rest);
        }
    }

    /// Cleans a parameter or field. A field that the API sets itself is never required from a caller.
    pub(super) fn parameter(&mut self, parameter: &mut Parameter) {
        self.schema(&mut parameter.schema);
        parameter.required &= !parameter.schema.read_only;
        parameter.sensitive |= is_password(&parameter.schema);
    }

    fn description(&mut self, raw: Arc<str>) -> Option<Arc<str>> {
        if let Some(known) = self.descriptions.get(&raw) {
            return known.clone();
        }
        let shown = prose(&raw, MAX_DESCRIPTION_CHARS);
        let shown: Option<Arc<str>> = match shown.is_empty() {
            true => None,
            false if *shown == *raw => Some(raw.clone()),
            false => Some(shown.into()),
        };
        if self.descriptions.len() < MAX_REMEMBERED {
            self.descriptions.insert(raw, shown.clone());
        }
        shown
    }

    /// Whether a text can be displayed unchanged.
    pub(super) fn is_clean(&mut self, text: &str) -> bool {
        if let Some(known) = self.words.get(text) {
            return *known;
        }
        let is_clean = presentable(text) == text;
        if self.words.len() < MAX_REMEMBERED {
            self.words.insert(text.into(), is_clean);
        }
        is_clean
    }

    fn is_clean_value(&mut self, value: &Value) -> bool {
        match value {
            Value::String(text) => self.is_clean(text),
            Value::Array(_) | Value::Object(_) => {
                clean_json(value.clone(), &|text| presentable(text).into_owned()) == *value
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }
}

/// Whether the format marks the value as a password.
pub(super) fn is_password(schema: &Schema) -> bool {
    schema.format.as_ref().is_some_and(|format| format.as_str() == "password")
}

#[cfg(test)]
#[allow(clippy::panic, clippy::indexing_slicing)]
mod tests {
    use aquifer_protocol::schema::SchemaReader;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_shown_is_clean_and_what_is_sent_is_exact() {
        let document = json!({ "type": "object", "required": ["id", "state"], "additionalProperties": false, "properties": {
            "id": { "type": "string", "readOnly": true, "description": "See [docs](https://x).\u{202e}" },
            "state": { "type": "string", "enum": ["a", "b\u{200b}"], "default": "a" },
            "secret": { "type": "string", "format": "password" },
            "odd\u{200b}": { "type": "string" }
        } });
        let mut read = SchemaReader::new(&document).read(&document);
        Cleaner::default().schema(&mut read);
        let Kind::Object(shape) = &read.kind else { panic!("no object") };
        let names: Vec<&str> = shape.fields.iter().map(|field| &*field.name).collect();
        assert_eq!(names, ["id", "state", "secret"]);
        assert!(matches!(shape.rest, Rest::Free));
        assert_eq!(shape.fields[0].schema.description.as_deref(), Some("See docs."));
        assert!(!shape.fields[0].required);
        assert!(shape.fields[1].required);
        assert!(shape.fields[1].schema.allowed.is_none());
        assert!(shape.fields[1].schema.is_source_default);
        assert!(shape.fields[2].sensitive);
    }
}
