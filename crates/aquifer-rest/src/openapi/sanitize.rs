//! Cleans the schemas of a description and fits them to what requests need.
//!
//! Descriptions are only shown, so they are replaced. Values that a caller chooses from have to reach the API exactly, so
//! a list with a value that cannot be shown as it is becomes no list at all: the API itself refuses what it does not
//! know. The same holds for patterns and for names of fields.

use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};
use aquifer_protocol::text::{clean_json, presentable};
use serde_json::Value;

use super::text::prose;

/// The longest description of a field or parameter.
const MAX_DESCRIPTION_CHARS: usize = 400;

/// The largest list of allowed values, in values. Longer ones are left to the API.
const MAX_ALLOWED: usize = 2_000;

/// Cleans a schema.
pub(super) fn schema(schema_: &mut Schema) {
    if let Some(description) = schema_.description.take() {
        let shown = prose(&description, MAX_DESCRIPTION_CHARS);
        schema_.description = (!shown.is_empty()).then(|| shown.into());
    }
    if let Some(default) = schema_.default.take() {
        schema_.default = Some(default).filter(is_clean_value);
        // The API fills it in, and may have another one by now.
        schema_.is_source_default = true;
    }
    schema_.example = schema_.example.take().filter(is_clean_value);
    schema_.pattern = schema_.pattern.take().filter(|pattern| is_clean(pattern.source()));
    schema_.format = schema_.format.take().filter(|format| is_clean(format.as_str()));
    schema_.allowed =
        schema_.allowed.take().filter(|values| values.len() <= MAX_ALLOWED && values.iter().all(is_clean_value));
    match &mut schema_.kind {
        Kind::Array(Some(items)) => schema(items),
        Kind::Union(members) => members.iter_mut().for_each(schema),
        Kind::Object(shape) => fields(shape),
        _ => {}
    }
}

fn fields(shape: &mut Shape) {
    let before = shape.fields.len();
    shape.fields.retain(|field| is_clean(&field.name));
    if shape.fields.len() < before && matches!(shape.rest, Rest::Refused) {
        shape.rest = Rest::Free;
    }
    shape.fields.iter_mut().for_each(parameter);
    if let Rest::Of(rest) = &mut shape.rest {
        schema(rest);
    }
}

/// Cleans a parameter or field. A field that the API sets itself is never required of a caller.
pub(super) fn parameter(parameter: &mut Parameter) {
    schema(&mut parameter.schema);
    parameter.required &= !parameter.schema.read_only;
    parameter.sensitive |= is_password(&parameter.schema);
}

/// Whether the value is a password by its format.
pub(super) fn is_password(schema: &Schema) -> bool {
    schema.format.as_ref().is_some_and(|format| format.as_str() == "password")
}

pub(super) fn is_clean(text: &str) -> bool {
    presentable(text) == text
}

fn is_clean_value(value: &Value) -> bool {
    match value {
        Value::String(text) => is_clean(text),
        Value::Array(_) | Value::Object(_) => {
            clean_json(value.clone(), &|text| presentable(text).into_owned()) == *value
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
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
        schema(&mut read);
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
