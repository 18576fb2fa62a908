//! Request bodies: JSON, forms, multipart data, text and bytes.

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::exact_number;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::encoding::{Escape, decode_base64};
use super::header::{is_media_type, refuse_override};
use super::path::missing_parameter;
use super::request::{RequestBody, invalid_route};
use super::{Body, BodyEncoding, FieldEncoding, Notation, Place, Route, multipart, notation};

const OCTETS: &str = "application/octet-stream";

/// A field of a form or of multipart data.
pub(super) struct Field<'a> {
    /// The canonical name of its parameter.
    pub(super) parameter: &'a str,
    /// Its name at the target.
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
    /// Its encoding, if it is not the default.
    pub(super) encoding: Option<&'a FieldEncoding>,
}

/// The value of the whole body, with the canonical name of its parameter.
#[derive(Clone, Copy)]
struct Whole<'a> {
    parameter: &'a str,
    value: &'a Value,
}

/// Encodes the body of a request. `None` if it has none.
pub(super) fn body(route: &Route, params: &Map<String, Value>) -> Result<Option<RequestBody>, Failure> {
    let Some(body) = &route.body else { return Ok(None) };
    let whole = whole(route, params);
    let has_fields = route.parameters.iter().any(|parameter| parameter.place == Place::BodyField);
    let has_field_values = field_values(route, params).next().is_some();
    if whole.is_none() && !has_field_values {
        if !body.required {
            return Ok(None);
        }
        if !has_fields {
            let name = route.parameters.iter().find(|parameter| parameter.place == Place::Body);
            return Err(missing_parameter(name.map_or("body", |parameter| &parameter.name)));
        }
    }
    let encoded = match body.encoding {
        BodyEncoding::Json => json(body, route, params, whole)?,
        BodyEncoding::Form => form(body, &fields(body, route, params, whole)?)?,
        BodyEncoding::Multipart => multipart::body(&body.media_type, &fields(body, route, params, whole)?)?,
        BodyEncoding::Text => RequestBody {
            media_type: media_type_or(&body.media_type, "text/plain; charset=utf-8"),
            bytes: notation::scalar(only_value(whole)?.value).unwrap_or_default().into(),
        },
        BodyEncoding::Binary => binary(body, only_value(whole)?)?,
    };
    if is_media_type(&encoded.media_type) { Ok(Some(encoded)) } else { Err(invalid_route("its media type is invalid")) }
}

/// Decodes a parameter that is base64.
pub(super) fn decode(parameter: &str, text: &str) -> Result<Bytes, Failure> {
    let decoded = decode_base64(text).ok_or_else(|| Failure::invalid_value(parameter, "is not valid base64"))?;
    Ok(decoded.into())
}

/// The failure for a parameter value of the wrong type.
pub(super) fn wrong_type(parameter: &str, expected: &str, value: &Value) -> Failure {
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let message = format!("Parameter '{parameter}' expected '{expected}', got '{actual}'");
    Failure::new(Code::ValidationInvalidType, message)
        .detail("param_name", parameter)
        .detail("expected_type", expected)
        .detail("actual_type", actual)
}

/// Whether a media type is JSON.
pub(super) fn is_json(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence == "text/json" || essence.ends_with("+json")
}

fn whole<'a>(route: &'a Route, params: &'a Map<String, Value>) -> Option<Whole<'a>> {
    let parameter = route.parameters.iter().find(|parameter| parameter.place == Place::Body)?;
    let value = params.get(&*parameter.name).filter(|value| !value.is_null())?;
    Some(Whole { parameter: &parameter.name, value })
}

/// The body fields among the parameters, as canonical name, original name and value.
fn field_values<'a>(
    route: &'a Route,
    params: &'a Map<String, Value>,
) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let fields = route.parameters.iter().filter(|parameter| parameter.place == Place::BodyField);
    fields.filter_map(|field| Some((&*field.name, &*field.original_name, params.get(&*field.name)?)))
}

/// Encodes JSON. `null` is kept, because in an update it removes a value.
fn json(
    body: &Body,
    route: &Route,
    params: &Map<String, Value>,
    whole: Option<Whole<'_>>,
) -> Result<RequestBody, Failure> {
    let values: Vec<_> = field_values(route, params).collect();
    for (parameter, name, _) in &values {
        refuse_override(parameter, name)?;
    }
    if let Some((whole, members)) = whole.and_then(|whole| Some((whole, whole.value.as_object()?))) {
        members.keys().try_for_each(|name| refuse_override(whole.parameter, name))?;
    }
    let text = match whole {
        Some(whole) if values.is_empty() => exact_number::to_text(whole.value),
        _ => {
            let mut object = whole.map(members).transpose()?.cloned().unwrap_or_default();
            object.extend(values.into_iter().map(|(_, name, value)| (name.to_owned(), value.clone())));
            exact_number::to_text(&Value::Object(object))
        }
    };
    let media_type = media_type_or(&body.media_type, "application/json");
    Ok(RequestBody { media_type, bytes: text.into() })
}

/// All fields of a form or of multipart data: the members of the whole body, then the separate fields, which replace
/// them.
fn fields<'a>(
    body: &'a Body,
    route: &'a Route,
    params: &'a Map<String, Value>,
    whole: Option<Whole<'a>>,
) -> Result<Vec<Field<'a>>, Failure> {
    let encoding = |name: &str| body.fields.iter().find(|(field, _)| &**field == name).map(|(_, encoding)| encoding);
    let mut fields = Vec::new();
    if let Some(whole) = whole {
        for (name, value) in members(whole)? {
            fields.push(Field { parameter: whole.parameter, name, value, encoding: encoding(name) });
        }
    }
    for (parameter, name, value) in field_values(route, params) {
        fields.retain(|field| field.name != name);
        fields.push(Field { parameter, name, value, encoding: encoding(name) });
    }
    fields.iter().try_for_each(|field| refuse_override(field.parameter, field.name))?;
    Ok(fields)
}

fn members(whole: Whole<'_>) -> Result<&Map<String, Value>, Failure> {
    whole.value.as_object().ok_or_else(|| wrong_type(whole.parameter, "object", whole.value))
}

/// Encodes a form. Arrays repeat their field, and objects are JSON text, unless the description states a notation.
fn form(body: &Body, fields: &[Field<'_>]) -> Result<RequestBody, Failure> {
    let mut text = String::new();
    for field in fields {
        let notation = match field.encoding {
            Some(FieldEncoding::Notation(notation)) => *notation,
            Some(FieldEncoding::MediaType(media_type)) if is_json(media_type) => Notation::Json,
            _ if field.value.is_object() => Notation::Json,
            _ => Notation::Style { style: super::Style::Form, explode: true },
        };
        for (name, value) in notation::pairs(field.name, field.value, notation, Escape::Unreserved) {
            refuse_override(field.parameter, &name)?;
            if !text.is_empty() {
                text.push('&');
            }
            text.extend([name.as_str(), "=", value.as_str()]);
        }
    }
    let media_type = media_type_or(&body.media_type, "application/x-www-form-urlencoded");
    Ok(RequestBody { media_type, bytes: text.into() })
}

fn binary(body: &Body, whole: Whole<'_>) -> Result<RequestBody, Failure> {
    let Some(text) = whole.value.as_str() else { return Err(wrong_type(whole.parameter, "string", whole.value)) };
    let bytes = decode(whole.parameter, text)?;
    Ok(RequestBody { media_type: media_type_or(&body.media_type, OCTETS), bytes })
}

/// The value of a text or binary body, which has no fields.
fn only_value(whole: Option<Whole<'_>>) -> Result<Whole<'_>, Failure> {
    whole.ok_or_else(|| invalid_route("its body is text or bytes, but it consists of fields"))
}

/// The first media type of a list, or the default if it is missing or a range.
pub(super) fn media_type_or(media_type: &str, default: &str) -> String {
    let first = media_type.split(',').next().unwrap_or_default().trim();
    if first.is_empty() || first.contains('*') { default.to_owned() } else { first.to_owned() }
}
