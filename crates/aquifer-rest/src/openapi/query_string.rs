//! Parameters that are a whole query string (`in: querystring`, OpenAPI 3.2).
//!
//! A form is the same as one query parameter for each of its fields, so it becomes these. Then credentials, paging and
//! everything else that is known of query parameters applies to them as well. Other query strings are not supported.

use aquifer_protocol::schema::{Kind, Parameter, Rest, Shape};
use serde_json::Value;

use super::body;
use super::document::Document;
use super::media;
use super::parameters::PlacedParameter;
use super::schemas::Schemas;
use super::text::quote;
use crate::route::{Notation, Place, Style, is_override};

/// The maximum number of fields.
const MAX_FIELDS: usize = 400;

/// The query string of an operation, if one of its parameters is that.
#[derive(Debug, Default)]
pub(super) struct QueryString(Option<(String, Vec<PlacedParameter>)>);

impl QueryString {
    /// Sets the parameter that is the query string. That of an operation replaces that of its path if they have the same
    /// name.
    pub(super) fn set(&mut self, name: &str, fields: Vec<PlacedParameter>) -> Result<(), String> {
        match &self.0 {
            Some((known, _)) if known != name => {
                Err(format!("its parameters {} and {} are both the whole query string", quote(known), quote(name)))
            }
            _ => {
                self.0 = Some((name.to_owned(), fields));
                Ok(())
            }
        }
    }

    /// Adds its fields to the other parameters of an operation. None of those may be in the query.
    pub(super) fn add_to(self, found: &mut Vec<PlacedParameter>) -> Result<(), String> {
        let Some((name, fields)) = self.0 else { return Ok(()) };
        match found.iter().find(|one| matches!(one.place, Place::Query { .. })) {
            Some(other) => Err(format!(
                "its parameter {} is the whole query string, but {} is in the query as well",
                quote(&name),
                quote(&other.parameter.name)
            )),
            None => {
                found.extend(fields);
                Ok(())
            }
        }
    }
}

/// Reads a parameter that is the query string: its fields as query parameters.
pub(super) fn read(
    document: &Document<'_>,
    schemas: &mut Schemas<'_>,
    json: &Value,
    name: &str,
) -> Result<Vec<PlacedParameter>, String> {
    let unsupported = |problem: &str| {
        format!("its parameter {} is the whole query string, {problem}, which is not supported", quote(name))
    };
    let content = json.get("content").and_then(Value::as_object);
    let form = content.into_iter().flatten().find(|(media_type, _)| media::is_form(media_type));
    let Some((_, form)) = form else { return Err(unsupported("but not a form")) };
    let form = document.resolve(form)?;
    let schema = schemas.read_raw(form.get("schema").unwrap_or(&Value::Null));
    let shape = match &schema.resolve(schemas.types()).kind {
        Kind::Object(shape) if is_closed(shape) => shape.clone(),
        _ => return Err(unsupported("whose fields are unknown")),
    };
    let is_required = json.get("required").and_then(Value::as_bool) == Some(true);
    let types = schemas.types();
    let is_written = |field: &Parameter| !field.schema.read_only && !field.schema.resolve(types).read_only;
    let fields: Vec<Parameter> = shape.fields.into_iter().filter(is_written).collect();
    let mut found = Vec::with_capacity(fields.len());
    for mut field in fields {
        let is_object = matches!(field.schema.resolve(schemas.types()).kind, Kind::Object(_));
        schemas.cleaner.parameter(&mut field);
        if !schemas.cleaner.is_clean(&field.name) || is_override(&field.name) {
            continue;
        }
        field.required &= is_required;
        let encoding = form.get("encoding").and_then(|encodings| encodings.get(&*field.name));
        let allow_reserved = encoding.and_then(|one| one.get("allowReserved")).and_then(Value::as_bool) == Some(true);
        let place = Place::Query { notation: notation(encoding, is_object), allow_reserved };
        found.push(PlacedParameter { place, parameter: field });
    }
    Ok(found)
}

fn is_closed(shape: &Shape) -> bool {
    !shape.fields.is_empty() && shape.fields.len() <= MAX_FIELDS && !matches!(shape.rest, Rest::Of(_))
}

/// How a field is written. Objects in forms are JSON unless the description says otherwise.
fn notation(encoding: Option<&Value>, is_object: bool) -> Notation {
    let media_type = encoding.and_then(|one| one.get("contentType")).and_then(Value::as_str);
    match encoding.and_then(body::notation) {
        Some(notation) => notation,
        None if is_object || media_type.is_some_and(|one| one.contains('/') && media::is_json(one)) => Notation::Json,
        None => Notation::Style { style: Style::Form, explode: true },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use serde_json::json;

    use super::super::options::ReadOptions;
    use super::super::parameters::{self, ParameterCache};
    use super::*;

    fn form(schema: Value) -> Value {
        json!({ "name": "q", "in": "querystring", "required": true, "content": { "application/x-www-form-urlencoded": { "schema": schema } } })
    }

    fn read_all(path: Value, own: Value) -> Result<Vec<PlacedParameter>, String> {
        let root = json!({ "path": path, "own": own });
        let options = ReadOptions::default();
        let document = Document::load(&root, &options);
        let mut schemas = Schemas::new(&document);
        parameters::read(&document, &mut schemas, &mut ParameterCache::default(), [root.get("path"), root.get("own")])
    }

    fn object(properties: Value) -> Value {
        json!({ "type": "object", "properties": properties })
    }

    #[test]
    fn the_fields_of_a_form_are_query_parameters() {
        let mut parameter = form(json!({ "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string" }, "tags": { "type": "array", "items": { "type": "string" } },
            "range": { "type": "object", "properties": { "from": { "type": "integer" } } },
            "deep": { "type": "object" }, "_method": { "type": "string" }, "own": { "type": "string", "readOnly": true }
        } }));
        parameter["content"]["application/x-www-form-urlencoded"]["encoding"] =
            json!({ "deep": { "style": "deepObject" }, "tags": { "explode": false } });
        let found = read_all(json!([]), json!([parameter])).unwrap();
        let read: Vec<(&str, bool, Notation)> = found
            .iter()
            .map(|one| match one.place {
                Place::Query { notation, .. } => (&*one.parameter.name, one.parameter.required, notation),
                _ => ("elsewhere", false, Notation::Json),
            })
            .collect();
        let style = |style, explode| Notation::Style { style, explode };
        assert_eq!(
            read,
            [
                ("name", true, style(Style::Form, true)),
                ("tags", false, style(Style::Form, false)),
                ("range", false, Notation::Json),
                ("deep", false, style(Style::DeepObject, false)),
            ]
        );
    }

    #[test]
    fn the_query_string_of_an_operation_replaces_that_of_its_path() {
        let (path, own) = (form(object(json!({ "a": {} }))), form(object(json!({ "b": {} }))));
        let found = read_all(json!([path]), json!([own])).unwrap();
        assert_eq!(found.iter().map(|one| &*one.parameter.name).collect::<Vec<_>>(), ["b"]);
    }

    #[test]
    fn other_query_strings_have_a_reason() {
        let known = || form(object(json!({ "a": {} })));
        let mut second = known();
        second["name"] = json!("r");
        let many: serde_json::Map<String, Value> = (0..500).map(|number| (format!("f{number}"), json!({}))).collect();
        for (parameters, reason) in [
            (json!([{ "name": "q", "in": "querystring" }]), "not a form"),
            (
                json!([{ "name": "q", "in": "querystring", "content": { "application/json": { "schema": { "type": "object" } } } }]),
                "not a form",
            ),
            (json!([form(json!({ "type": "string" }))]), "fields are unknown"),
            (json!([form(json!({ "type": "object" }))]), "fields are unknown"),
            (
                json!([form(
                    json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": { "type": "string" } })
                )]),
                "fields are unknown",
            ),
            (json!([form(object(Value::Object(many)))]), "fields are unknown"),
            (json!([known(), second]), "both the whole query string"),
            (json!([known(), { "name": "x", "in": "query" }]), "'x' is in the query as well"),
        ] {
            let message = read_all(json!([]), parameters).unwrap_err();
            assert!(message.contains(reason), "{message}");
        }
    }
}
