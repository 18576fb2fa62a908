//! Request bodies: as separate parameters, or as a single one.
//!
//! The fields of a plain object are parameters of the operation. The fields of an update are collected in `input`, as
//! for every update. Everything else is a single parameter, `body`.

use std::sync::Arc;

use aquifer_protocol::requirement::Requirement;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape};
use serde_json::Value;

use super::body_requirements::BodyFields;
use super::document::Document;
use super::media;
use super::parameters::PlacedParameter;
use super::schemas::Schemas;
use crate::route::{Body, BodyEncoding, FieldEncoding, Method, Notation, Place, Style, is_override};

/// The maximum number of fields that become separate parameters.
const MAX_FIELDS: usize = 400;

/// The maximum depth at which the parts of an `allOf` are searched for a field.
const MAX_DEPTH: usize = 8;

/// A body and its parameters.
#[derive(Clone)]
pub(super) struct ReadBody {
    pub(super) body: Body,
    /// The parameters that go into it.
    pub(super) parameters: Vec<PlacedParameter>,
    /// What several of them, or several fields of one of them, have to meet together. All names are original ones.
    pub(super) requirements: Vec<Requirement>,
}

/// Reads the body of a request.
pub(super) fn read(
    document: &Document<'_>,
    schemas: &mut Schemas<'_>,
    json: &Value,
    method: Method,
) -> Result<Option<ReadBody>, String> {
    let json = document.resolve(json)?;
    let required = json.get("required").and_then(Value::as_bool);
    let content = json.get("content").and_then(Value::as_object).filter(|content| !content.is_empty());
    let Some(content) = content else {
        return if required == Some(true) { Err("its body has no media type".to_owned()) } else { Ok(None) };
    };
    let Some((media_type, encoding, chosen)) = media::choose(content) else {
        return Err("its body has no valid media type".to_owned());
    };
    let chosen = document.resolve(chosen)?;
    let body = Body { media_type, encoding, required: required == Some(true), fields: Vec::new() };
    let mut reader = BodyReader {
        document,
        schemas,
        body,
        is_required: required,
        description: json.get("description"),
        requirements: Vec::new(),
    };
    let parameters = reader.parameters(chosen, method)?;
    Ok(Some(ReadBody { body: reader.body, parameters, requirements: reader.requirements }))
}

struct BodyReader<'r, 's, 'd> {
    document: &'r Document<'d>,
    schemas: &'r mut Schemas<'s>,
    body: Body,
    /// Whether the description says that a body is required, if it says anything.
    is_required: Option<bool>,
    description: Option<&'r Value>,
    requirements: Vec<Requirement>,
}

impl BodyReader<'_, '_, '_> {
    fn parameters(&mut self, chosen: &Value, method: Method) -> Result<Vec<PlacedParameter>, String> {
        let json = chosen.get("schema").unwrap_or(&Value::Null);
        if matches!(self.body.encoding, BodyEncoding::Text | BodyEncoding::Binary) {
            let schema = self.plain_schema();
            return Ok(vec![self.whole("body", schema)]);
        }
        let target = match json.is_null() {
            true => json,
            false => self.document.resolve(json)?,
        };
        let raw = self.schemas.read_raw(json);
        let shape = match &raw.resolve(self.schemas.types()).kind {
            Kind::Object(shape) if !shape.fields.is_empty() => Some(shape.clone()),
            _ => None,
        };
        let is_update = matches!(method, Method::Put | Method::Patch) && self.body.encoding == BodyEncoding::Json;
        let mut require = |shape: &Shape, within: Option<&str>| {
            self.requirements =
                BodyFields::new(shape, self.schemas.types(), within).requirements(self.document, target);
        };
        match shape {
            Some(shape) if is_update => {
                require(&shape, Some("input"));
                let schema = self.without_read_only(raw, shape);
                Ok(vec![self.whole("input", schema)])
            }
            Some(shape) if is_closed(&shape, target) => {
                // Without any of the fields, no body is sent.
                if self.is_required != Some(false) {
                    require(&shape, None);
                }
                Ok(self.fields(shape, target, chosen.get("encoding")))
            }
            Some(shape) => {
                require(&shape, Some("body"));
                Ok(vec![self.whole("body", raw)])
            }
            None => Ok(vec![self.whole("body", raw)]),
        }
    }

    /// The schema of changes without the fields that the API sets itself. It accepts no other fields, so that those are
    /// refused by name.
    fn without_read_only(&self, schema: Schema, shape: Shape) -> Schema {
        let types = self.schemas.types();
        let is_written = |field: &Parameter| !field.schema.read_only && !field.schema.resolve(types).read_only;
        if shape.fields.iter().all(is_written) {
            return schema;
        }
        let rest = match shape.rest {
            Rest::Free => Rest::Refused,
            rest => rest,
        };
        let description = schema.description.clone().or_else(|| schema.resolve(types).description.clone());
        let fields = shape.fields.into_iter().filter(is_written).collect();
        Schema { description, ..Schema::new(Kind::Object(Shape { fields, rest })) }
    }

    /// The body as a single parameter.
    fn whole(&mut self, name: &str, mut schema: Schema) -> PlacedParameter {
        if let Some(description) = self.description.and_then(Value::as_str) {
            schema.description = Some(description.into());
        }
        let mut parameter =
            Parameter { name: name.into(), required: self.body.required, schema, ..Parameter::default() };
        self.schemas.cleaner.parameter(&mut parameter);
        parameter.required = self.body.required;
        PlacedParameter { place: Place::Body, parameter }
    }

    fn plain_schema(&self) -> Schema {
        match self.body.encoding {
            BodyEncoding::Binary => Schema::string().describe("The bytes of the body in base64."),
            _ => Schema::string().describe("The text of the body."),
        }
    }

    /// The fields of the body as parameters, without those that the API sets itself.
    fn fields(&mut self, shape: Shape, json: &Value, encodings: Option<&Value>) -> Vec<PlacedParameter> {
        let types = self.schemas.types();
        let is_written = |field: &Parameter| !field.schema.read_only && !field.schema.resolve(types).read_only;
        let fields: Vec<Parameter> = shape.fields.into_iter().filter(is_written).collect();
        // Many descriptions omit that a body with required fields is required.
        let is_required = self.is_required.unwrap_or_else(|| fields.iter().any(|field| field.required));
        self.body.required = is_required;
        let mut parameters = Vec::with_capacity(fields.len());
        for mut field in fields {
            self.schemas.cleaner.parameter(&mut field);
            if !self.schemas.cleaner.is_clean(&field.name) || is_override(&field.name) {
                continue;
            }
            field.required &= is_required;
            let property = property(self.document, json, &field.name, 0);
            if let Some(encoding) = self.encoding(&field, property, encodings) {
                if encoding == FieldEncoding::File {
                    field.schema = file_schema(&field.schema);
                }
                self.body.fields.push((field.name.clone(), encoding));
            }
            parameters.push(PlacedParameter { place: Place::BodyField, parameter: field });
        }
        parameters
    }

    /// The encoding of a field, if it is not the default.
    fn encoding(
        &self,
        field: &Parameter,
        property: Option<&Value>,
        encodings: Option<&Value>,
    ) -> Option<FieldEncoding> {
        let encoding = encodings.and_then(|encodings| encodings.get(&*field.name));
        let text = |key: &str| encoding?.get(key)?.as_str();
        match self.body.encoding {
            BodyEncoding::Multipart => {
                if is_file(field.schema.resolve(self.schemas.types()), property) {
                    return Some(FieldEncoding::File);
                }
                // Without a style, a part is encoded by its media type.
                if let Some(encoding) = encoding.filter(|one| one.get("style").is_some()) {
                    return notation(encoding).map(FieldEncoding::Notation);
                }
                let media_type = text("contentType").and_then(|types| types.split(',').next()).map(str::trim);
                let is_usable =
                    |one: &&str| one.contains('/') && !one.contains('*') && one.bytes().all(|b| b.is_ascii_graphic());
                media_type.filter(is_usable).map(|one| FieldEncoding::MediaType(one.into()))
            }
            BodyEncoding::Form => notation(encoding?).map(FieldEncoding::Notation),
            BodyEncoding::Json | BodyEncoding::Text | BodyEncoding::Binary => None,
        }
    }
}

/// The notation that the encoding of a field states, if any.
pub(super) fn notation(encoding: &Value) -> Option<Notation> {
    let explode = encoding.get("explode").and_then(Value::as_bool);
    let style = match encoding.get("style").and_then(Value::as_str) {
        Some("spaceDelimited") => Style::SpaceDelimited,
        Some("pipeDelimited") => Style::PipeDelimited,
        Some("deepObject") => Style::DeepObject,
        Some("form") => Style::Form,
        _ => return explode.map(|explode| Notation::Style { style: Style::Form, explode }),
    };
    Some(Notation::Style { style, explode: explode.unwrap_or(style == Style::Form) })
}

/// Whether an object has only the known fields.
fn is_closed(shape: &Shape, json: &Value) -> bool {
    let is_open = match json.get("additionalProperties") {
        Some(Value::Bool(is_open)) => *is_open,
        Some(_) => true,
        None => matches!(shape.rest, Rest::Of(_)),
    };
    !is_open && shape.fields.len() <= MAX_FIELDS
}

/// The unparsed schema of a field.
fn property<'d>(document: &'d Document<'_>, json: &'d Value, name: &str, depth: usize) -> Option<&'d Value> {
    if depth > MAX_DEPTH {
        return None;
    }
    let json = document.resolve(json).ok()?;
    if let Some(found) = json.get("properties").and_then(|properties| properties.get(name)) {
        return document.resolve(found).ok();
    }
    let parts = json.get("allOf").and_then(Value::as_array)?;
    parts.iter().find_map(|part| property(document, part, name, depth + 1))
}

/// Whether a field of multipart data is a file, or a list of files.
fn is_file(schema: &Schema, property: Option<&Value>) -> bool {
    let is_binary = |schema: &Schema| schema.format.as_ref().is_some_and(|format| format.as_str() == "binary");
    let items = match &schema.kind {
        Kind::Array(items) => items.as_deref().is_some_and(is_binary),
        _ => false,
    };
    let is_media = |json: &Value| {
        let text = |key: &str| json.get(key).and_then(Value::as_str);
        text("contentMediaType")
            .is_some_and(|media_type| !media_type.starts_with("text/") && !media::is_json(media_type))
    };
    let items_json = property.and_then(|json| json.get("items"));
    is_binary(schema) || items || property.is_some_and(is_media) || items_json.is_some_and(is_media)
}

/// The schema of a file parameter.
fn file_schema(schema: &Schema) -> Schema {
    let content = Schema::string().describe("The content in base64.");
    let object = Schema::object(vec![
        Parameter::required("content", content.clone()),
        Parameter::optional("filename", Schema::string().describe("The name of the file.")),
        Parameter::optional("media_type", Schema::string().describe("The media type of the content.")),
    ]);
    let one = Schema::new(Kind::Union(vec![content, object]));
    let description: Option<Arc<str>> = schema.description.clone();
    match &schema.kind {
        Kind::Array(_) => Schema { description, ..Schema::new(Kind::Array(Some(Box::new(one)))) },
        _ => Schema { description, ..one },
    }
}
