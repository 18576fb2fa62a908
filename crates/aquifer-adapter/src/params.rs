//! Parameter and result types with the same meaning in every adapter.

use std::borrow::Cow;
use std::marker::PhantomData;

use aquifer_protocol::error::{Code, Failure};
use base64::Engine;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The `dry_run` of an operation that changes something: validate, report what would change, change nothing (R-REQ-9).
///
/// As an argument of a handler it adds the parameter `dry_run`. An operation without it refuses the parameter, so a caller
/// can never mistake a real change for a dry run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DryRun(bool);

impl DryRun {
    /// Whether this is a dry run.
    pub fn is_on(self) -> bool {
        self.0
    }

    /// Makes the change, unless this is a dry run.
    pub fn otherwise<T>(self, change: impl FnOnce() -> T) -> Option<T> {
        if self.0 { None } else { Some(change()) }
    }
}

impl Serialize for DryRun {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(self.0)
    }
}

impl JsonSchema for DryRun {
    fn schema_name() -> Cow<'static, str> {
        "DryRun".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "boolean",
            "default": false,
            "description": "Only report the change, do not make it."
        })
    }
}

/// A list as a result: `{items: […]}`, so that page information can be added.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(rename = "{T}Items")]
pub struct Items<T> {
    /// The items.
    pub items: Vec<T>,
}

impl<T> FromIterator<T> for Items<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        Self { items: items.into_iter().collect() }
    }
}

/// Bytes as a result: base64, with encoding and media type (R-RES-5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binary {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Their media type.
    pub media_type: String,
}

impl Serialize for Binary {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = base64::engine::general_purpose::STANDARD.encode(&self.bytes);
        let shown = json!({ "content": content, "encoding": "base64", "media_type": self.media_type });
        shown.serialize(serializer)
    }
}

impl JsonSchema for Binary {
    fn schema_name() -> Cow<'static, str> {
        "Binary".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Bytes.",
            "properties": {
                "content": { "type": "string", "description": "The bytes in base64." },
                "encoding": { "type": "string", "enum": ["base64"] },
                "media_type": { "type": "string", "description": "Their media type." }
            },
            "required": ["content", "encoding", "media_type"]
        })
    }
}

/// The `input` of an UPDATE: the fields of `T` to change, merged deeply into what is stored (R-REQ-6).
///
/// Nested objects merge, arrays are replaced, and `null` removes an optional field.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub struct Patch<T> {
    changes: Map<String, Value>,
    #[serde(skip)]
    of: PhantomData<fn() -> T>,
}

impl<T: Serialize + DeserializeOwned> Patch<T> {
    /// Applies the changes to `current`.
    pub fn apply(&self, current: &T) -> Result<T, Failure> {
        let mut value = serde_json::to_value(current).map_err(Failure::internal)?;
        merge(&mut value, &Value::Object(self.changes.clone()));
        serde_json::from_value(value).map_err(|cause| {
            Failure::new(Code::ValidationInvalidValue, "Parameter 'input' leaves the resource without a valid value")
                .detail("param_name", "input")
                .because(cause)
        })
    }

    /// The fields to change, as they were sent.
    pub fn changes(&self) -> &Map<String, Value> {
        &self.changes
    }
}

fn merge(current: &mut Value, change: &Value) {
    match (current, change) {
        (Value::Object(current), Value::Object(change)) => {
            for (name, value) in change {
                if value.is_null() {
                    current.remove(name);
                } else {
                    merge(current.entry(name.clone()).or_insert(Value::Null), value);
                }
            }
        }
        // An object replaces another kind of value; its nulls are still removed.
        (current, Value::Object(change)) => {
            let mut fresh = Value::Object(Map::new());
            merge(&mut fresh, &Value::Object(change.clone()));
            *current = fresh;
        }
        (current, change) => *current = change.clone(),
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}Patch", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let whole = T::json_schema(generator).to_value();
        let mut patch = patch_schema(&whole, generator, 0);
        if let Some(object) = patch.as_object_mut() {
            object.insert(
                "description".to_owned(),
                "The fields to change; null removes one. Nested objects merge, arrays are replaced.".into(),
            );
        }
        Schema::try_from(patch).unwrap_or_default()
    }
}

/// The schema of a patch: every field is optional, without defaults, and nullable if it can be removed.
fn patch_schema(schema: &Value, generator: &SchemaGenerator, depth: usize) -> Value {
    const MAX_DEPTH: usize = 8;
    let Some(object) = schema.as_object() else { return schema.clone() };
    if let Some([one, other]) = object.get("anyOf").and_then(Value::as_array).map(Vec::as_slice) {
        // An optional struct is a union with null.
        let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
        return match (is_null(one), is_null(other)) {
            (false, true) => patch_schema(one, generator, depth + 1),
            (true, false) => patch_schema(other, generator, depth + 1),
            _ => without_default(schema),
        };
    }
    if let Some(target) = object.get("$ref").and_then(Value::as_str).filter(|_| depth < MAX_DEPTH) {
        let definition = target.rsplit('/').next().and_then(|name| generator.definitions().get(name));
        let is_object = definition.is_some_and(|definition| definition.get("properties").is_some());
        if let (Some(definition), true) = (definition, is_object) {
            return patch_schema(definition, generator, depth + 1);
        }
        return without_default(schema);
    }
    let Some(properties) = object.get("properties").and_then(Value::as_object) else {
        return without_default(schema);
    };
    let required: Vec<&str> =
        object.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let fields: Map<String, Value> = properties
        .iter()
        .filter(|(_, field)| field.get("readOnly").and_then(Value::as_bool) != Some(true))
        .map(|(name, field)| {
            let mut field = patch_schema(field, generator, depth + 1);
            if let (Some(field), false) = (field.as_object_mut(), required.contains(&name.as_str())) {
                field.insert("nullable".to_owned(), Value::Bool(true));
            }
            (name.clone(), field)
        })
        .collect();
    let mut patch = json!({ "type": "object", "properties": fields, "additionalProperties": false });
    if let (Some(patch), Some(description)) = (patch.as_object_mut(), object.get("description")) {
        patch.insert("description".to_owned(), description.clone());
    }
    patch
}

fn without_default(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(object) = schema.as_object_mut() {
        object.remove("default");
    }
    schema
}
