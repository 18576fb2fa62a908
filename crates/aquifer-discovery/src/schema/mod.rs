//! Reads an upstream's JSON Schema for callers and for the published bundle.
//!
//! The schema itself is kept in the bundle's `raw_capture` and in the adapter's sidecar. This module makes a simplified
//! copy for [`aquifer_protocol::schema::SchemaReader`], which must never reject what the original accepts. Keywords
//! that the reader does not support are left out of the copy and reported as a warning.

mod narrow;
mod properties;
mod readable;

use std::collections::HashMap;

use aquifer_protocol::schema::{Deprecation, Kind, Parameter, Schema, SchemaReader, Types};
use serde_json::Value;

use crate::warning::{self, BundleWarning};

pub(crate) use narrow::NarrowedParameter;
pub(crate) use narrow::NarrowingBudget;
pub(crate) use narrow::fits;
pub(crate) use narrow::{narrow, number, type_words};

/// The parsed arguments of one tool.
#[derive(Debug)]
pub(crate) struct Input {
    /// The parameters under their original names, in the order of the schema.
    pub(crate) parameters: Vec<InputParameter>,
    /// The named types they refer to.
    pub(crate) types: Types,
    /// Whether undeclared parameters are accepted.
    pub(crate) open: bool,
    /// Errors in the schema itself.
    pub(crate) broken: Vec<String>,
    /// Other warnings.
    pub(crate) warnings: Vec<BundleWarning>,
}

/// One argument of a tool.
#[derive(Debug)]
pub(crate) struct InputParameter {
    pub(crate) original_name: String,
    /// Its path in the tool's definition.
    pub(crate) source_path: String,
    pub(crate) required: bool,
    /// Its schema, for validating calls.
    pub(crate) schema: Schema,
    /// The simplified copy of its JSON Schema.
    pub(crate) json: Value,
}

impl Input {
    /// The parameters by their original names.
    pub(crate) fn by_name(&self) -> HashMap<&str, &InputParameter> {
        self.parameters.iter().map(|parameter| (parameter.original_name.as_str(), parameter)).collect()
    }
}

impl InputParameter {
    /// The parameter of the operation, under its canonical name.
    pub(crate) fn under(&self, name: &str) -> Parameter {
        let flag = |key: &str| self.json.get(key).and_then(Value::as_bool) == Some(true);
        Parameter {
            name: name.into(),
            original_name: (name != self.original_name).then(|| self.original_name.as_str().into()),
            required: self.required,
            schema: self.schema.clone(),
            sensitive: flag("writeOnly") || self.json.get("format").and_then(Value::as_str) == Some("password"),
            allow_nul: false,
            deprecated: flag("deprecated").then(Deprecation::default),
            is_shared: false,
        }
    }
}

/// Reads a tool's input schema. A tool without one has no parameters.
pub(crate) fn read_input(schema: Option<&Value>) -> Input {
    let mut input =
        Input { parameters: Vec::new(), types: Types::new(), open: false, broken: Vec::new(), warnings: Vec::new() };
    let Some(schema) = schema else {
        let message = "The tool has no input schema; it is offered without parameters.";
        input.warnings.push(BundleWarning::new(warning::NO_INPUT_SCHEMA, message).field("inputSchema"));
        return input;
    };
    let (readable, notes) = readable::make_readable(schema);
    input.broken = notes.broken;
    if !schema.is_object() {
        return input;
    }
    if let Some(found) = schema.get("type").filter(|found| *found != "object") {
        input.broken.push(format!(
            "'inputSchema.type' must be \"object\", not {}",
            crate::text::shorten(&crate::text::presentable(&found.to_string()), 40)
        ));
    }
    for (path, what) in notes.not_read {
        let message = format!("'{what}' is not checked before the call; the upstream checks it.");
        input.warnings.push(BundleWarning::new(warning::SCHEMA_NOT_READ, message).field(&path));
    }
    if let Some(path) = notes.hidden.first() {
        let message = "Terminal escapes, hidden characters or credentials were removed from the schema's texts.";
        input.warnings.push(BundleWarning::new(warning::HIDDEN_TEXT, message).field(path));
    }
    input.open = is_open(schema);
    if input.open {
        let message = "The tool accepts undeclared parameters; they are passed on unchanged.";
        input.warnings.push(BundleWarning::new(warning::OPEN_INPUT, message).field("inputSchema"));
    }
    let mut reader = SchemaReader::new(&readable);
    let (properties, is_complete) = properties::top_level(&readable);
    if !is_complete {
        input.broken.push("it has too many alternatives to find every parameter".to_owned());
    }
    for property in properties {
        input.parameters.push(InputParameter {
            schema: reader.read(&property.schema),
            original_name: property.name.to_owned(),
            source_path: property.path,
            required: property.required,
            json: property.schema.into_owned(),
        });
    }
    input.types = reader.into_types();
    input
}

/// Reads a tool's output schema: the schema of its results, and the named types that it refers to. `None` if the schema
/// only requires an object.
pub(crate) fn read_output(schema: Option<&Value>) -> Option<(Schema, Types)> {
    let (readable, _) = readable::make_readable(schema.filter(|schema| schema.is_object())?);
    let mut reader = SchemaReader::new(&readable);
    let read = reader.read(&readable);
    let types = reader.into_types();
    let is_telling = match &read.resolve(&types).kind {
        Kind::Object(shape) => !shape.fields.is_empty(),
        Kind::Union(_) => true,
        _ => false,
    };
    is_telling.then_some((read, types))
}

/// Whether a schema accepts undeclared parameters. A schema that declares some parameters and does not mention others
/// is treated as closed, so that a misspelled name is refused here instead of being ignored by the server. A schema
/// that declares none is open.
fn is_open(schema: &Value) -> bool {
    const NAMING: &[&str] = &["properties", "required", "$ref", "allOf", "anyOf", "oneOf", "if"];
    let named_by_pattern = schema.get("patternProperties").is_some();
    match schema.get("additionalProperties").or_else(|| schema.get("unevaluatedProperties")) {
        Some(Value::Bool(false)) => named_by_pattern,
        Some(_) => true,
        None => named_by_pattern || !NAMING.iter().any(|key| schema.get(key).is_some()),
    }
}

/// The definition that a local reference points to.
fn definition<'a>(document: &'a Value, reference: &str) -> Option<(&'a Value, String)> {
    let (group, key) = if let Some(key) = reference.strip_prefix("#/$defs/") {
        ("$defs", key)
    } else {
        ("definitions", reference.strip_prefix("#/definitions/")?)
    };
    Some((document.get(group)?.get(key)?, format!("{group}{}", properties::segment(key))))
}
