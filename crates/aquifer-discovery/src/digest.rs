//! Definitions pinned by digest, and what changed between two captures (R-DIS-7a).
//!
//! A tool that was reviewed yesterday may say something else today. Digests are taken over canonical JSON (keys
//! sorted), so a server that only writes its fields in another order has not changed. The schemas have one more digest
//! without their descriptions, so that a reviewer is told whether what is accepted changed or only the words about it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::name::hex;
use crate::tool::Tool;

/// The digests of one tool's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The tool's name.
    pub tool: String,
    /// Everything below, in one.
    pub digest: String,
    /// Its title and description, exactly as the upstream wrote them.
    pub description: String,
    /// Its input schema.
    pub input_schema: String,
    /// Its output schema.
    pub output_schema: String,
    /// Its annotations.
    pub annotations: String,
    /// Its schemas without descriptions. Files of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

/// What changed between two captures of one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Tools that were not there before.
    pub added: Vec<String>,
    /// Tools that are gone.
    pub removed: Vec<String>,
    /// Tools that say something else.
    pub changed: Vec<Changed>,
}

/// A tool that says something else than before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Changed {
    /// The tool's name.
    pub tool: String,
    /// Which parts of its definition changed.
    pub parts: Vec<Part>,
}

/// A part of a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// Title or description.
    Description,
    /// What it accepts.
    InputSchema,
    /// Only the descriptions in its input schema.
    InputDescriptions,
    /// What it answers with.
    OutputSchema,
    /// Only the descriptions in its output schema.
    OutputDescriptions,
    /// What it says of its own effects.
    Annotations,
}

impl Part {
    /// The part in a word for people.
    pub const fn as_str(self) -> &'static str {
        match self {
            Part::Description => "description",
            Part::InputSchema => "parameters",
            Part::InputDescriptions => "descriptions of parameters",
            Part::OutputSchema => "result",
            Part::OutputDescriptions => "descriptions of the result",
            Part::Annotations => "hints",
        }
    }
}

impl Drift {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// Pins one tool.
pub fn pin(tool: &Tool) -> Pin {
    let part = |names: &[&str]| {
        let picked: BTreeMap<&str, &Value> =
            names.iter().filter_map(|&name| Some((name, tool.definition.get(name)?))).collect();
        of_json(&serde_json::json!(picked))
    };
    let description = part(&["title", "description"]);
    let input_schema = part(&["inputSchema"]);
    let output_schema = part(&["outputSchema"]);
    let annotations = part(&["annotations"]);
    let digest = of_json(&serde_json::json!([tool.name, description, input_schema, output_schema, annotations]));
    let shape = |name: &str| tool.definition.get(name).map(without_descriptions);
    let shape = Some(of_json(&serde_json::json!([shape("inputSchema"), shape("outputSchema")])));
    Pin { tool: tool.name.clone(), digest, description, input_schema, output_schema, annotations, shape }
}

/// A schema without the words in it that nothing is checked against.
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let kept = keywords.iter().filter_map(|(keyword, value)| {
                let kept = match (keyword.as_str(), value) {
                    ("description" | "title" | "$comment", Value::String(_)) | ("examples", Value::Array(_)) => None,
                    ("default" | "const" | "enum", value) => Some(value.clone()),
                    // Names of fields, of which one may be called 'description'.
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                        Value::Object(named),
                    ) => {
                        Some(named.iter().map(|(name, schema)| (name.clone(), without_descriptions(schema))).collect())
                    }
                    (_, value) => Some(without_descriptions(value)),
                };
                Some((keyword.clone(), kept?))
            });
            Value::Object(kept.collect())
        }
        Value::Array(schemas) => schemas.iter().map(without_descriptions).collect(),
        plain => plain.clone(),
    }
}

/// What changed from one set of pins to another, by name.
pub fn drift(before: &[Pin], now: &[Pin]) -> Drift {
    let by_name =
        |pins: &[Pin]| -> BTreeMap<String, Pin> { pins.iter().map(|pin| (pin.tool.clone(), pin.clone())).collect() };
    let (before, now) = (by_name(before), by_name(now));
    let missing = |from: &BTreeMap<String, Pin>, of: &BTreeMap<String, Pin>| {
        of.keys().filter(|tool| !from.contains_key(*tool)).cloned().collect()
    };
    let changed = before
        .iter()
        .filter_map(|(tool, old)| {
            let parts = changed_parts(old, now.get(tool)?);
            (!parts.is_empty()).then(|| Changed { tool: tool.clone(), parts })
        })
        .collect();
    Drift { added: missing(&before, &now), removed: missing(&now, &before), changed }
}

/// Which parts of a definition differ.
pub fn changed_parts(old: &Pin, new: &Pin) -> Vec<Part> {
    differing((old.parts(), old.shape.as_deref()), (new.parts(), new.shape.as_deref()))
}

/// Which of these digests differ, in the order of [`Pin::parts`]. Where the shape is the same on both sides, only the
/// descriptions in a schema differ.
pub(crate) fn differing<T: PartialEq>(old: ([T; 4], Option<T>), new: ([T; 4], Option<T>)) -> Vec<Part> {
    let is_same_shape = old.1.is_some() && old.1 == new.1;
    let (input, output) = match is_same_shape {
        true => (Part::InputDescriptions, Part::OutputDescriptions),
        false => (Part::InputSchema, Part::OutputSchema),
    };
    [Part::Description, input, output, Part::Annotations]
        .into_iter()
        .zip(old.0.into_iter().zip(new.0))
        .filter(|(_, (old, new))| old != new)
        .map(|(part, _)| part)
        .collect()
}

impl Pin {
    /// The digests of its parts: description, input schema, output schema, annotations.
    pub(crate) fn parts(&self) -> [&str; 4] {
        [&self.description, &self.input_schema, &self.output_schema, &self.annotations]
    }
}

fn of_json(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    format!("sha256:{}", hex(&Sha256::digest(text.as_bytes())))
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            text.push('{');
            for (key, value) in sorted {
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write_canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_canonical(item, text);
                text.push(',');
            }
            text.push(']');
        }
        plain => text.push_str(&plain.to_string()),
    }
}
