//! Digests of tool definitions, and the changes between two captures (R-DIS-7a).
//!
//! The definition of a reviewed tool may change later. Digests are computed from canonical JSON (sorted keys), so
//! reordering fields is not a change. An additional digest covers the schemas without descriptions: it shows a reviewer
//! whether the accepted values changed or only their descriptions.

use std::collections::BTreeMap;

use aquifer_protocol::canonical_json;
use aquifer_protocol::hex::push_hex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Tool;

/// The digests of one tool's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The tool's name.
    pub tool: String,
    /// The digest of the name and all parts below.
    pub digest: String,
    /// The digest of its title and description, exactly as the upstream wrote them.
    pub description: String,
    /// The digest of its input schema.
    pub input_schema: String,
    /// The digest of its output schema.
    pub output_schema: String,
    /// The digest of its annotations.
    pub annotations: String,
    /// The digest of its schemas without descriptions. Files of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<String>,
}

/// The changes between two captures of one upstream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Tools that were added.
    pub added: Vec<String>,
    /// Tools that were removed.
    pub removed: Vec<String>,
    /// Tools whose definition changed.
    pub changed: Vec<ChangedTool>,
}

/// A tool whose definition changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangedTool {
    /// The tool's name.
    pub tool: String,
    /// Which parts of its definition changed.
    pub parts: Vec<DefinitionPart>,
}

/// A part of a tool's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DefinitionPart {
    /// Title or description.
    Description,
    /// Its input schema.
    InputSchema,
    /// Only the descriptions in its input schema.
    InputDescriptions,
    /// Its output schema.
    OutputSchema,
    /// Only the descriptions in its output schema.
    OutputDescriptions,
    /// Its hints about its effects.
    Annotations,
}

impl DefinitionPart {
    /// The part as shown to people.
    pub const fn as_str(self) -> &'static str {
        match self {
            DefinitionPart::Description => "description",
            DefinitionPart::InputSchema => "parameters",
            DefinitionPart::InputDescriptions => "descriptions of parameters",
            DefinitionPart::OutputSchema => "result",
            DefinitionPart::OutputDescriptions => "descriptions of the result",
            DefinitionPart::Annotations => "hints",
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
    let mut text = Vec::new();
    let mut part = |names: &[&str]| {
        text.clear();
        let members = names.iter().filter_map(|&name| Some((name, tool.definition.get(name)?))).collect();
        canonical_json::write_members_with(members, &mut text, |_, value, text| canonical_json::write(value, text));
        digest(&text)
    };
    let description = part(&["title", "description"]);
    let input_schema = part(&["inputSchema"]);
    let output_schema = part(&["outputSchema"]);
    let annotations = part(&["annotations"]);
    let whole = serde_json::json!([tool.name, description, input_schema, output_schema, annotations]);
    let mut text = Vec::new();
    for name in ["inputSchema", "outputSchema"] {
        write_shape(tool.definition.get(name).unwrap_or(&Value::Null), &mut text);
        text.push(b',');
    }
    Pin {
        tool: tool.name.clone(),
        digest: digest_json(&whole),
        description,
        input_schema,
        output_schema,
        annotations,
        shape: Some(digest(&text)),
    }
}

/// Writes a schema without descriptions, titles, comments and examples, which do not affect validation.
fn write_shape(schema: &Value, text: &mut Vec<u8>) {
    let is_description = |keyword: &str, value: &Value| match keyword {
        "description" | "title" | "$comment" => value.is_string(),
        "examples" => value.is_array(),
        _ => false,
    };
    match schema {
        Value::Object(keywords) => {
            let members = keywords.iter().filter(|(keyword, value)| !is_description(keyword, value));
            let members = members.map(|(keyword, value)| (keyword.as_str(), value)).collect();
            canonical_json::write_members_with(members, text, |keyword, value, text| match (keyword, value) {
                ("default" | "const" | "enum", value) => canonical_json::write(value, text),
                // The keys are field names, and a field may be named 'description'.
                (
                    "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas",
                    Value::Object(named),
                ) => {
                    let named = named.iter().map(|(name, schema)| (name.as_str(), schema)).collect();
                    canonical_json::write_members_with(named, text, |_, schema, text| write_shape(schema, text));
                }
                (_, value) => write_shape(value, text),
            });
        }
        Value::Array(schemas) => canonical_json::write_array_with(schemas, text, write_shape),
        plain => canonical_json::write_scalar(plain, text),
    }
}

/// The changes from one set of pins to another, by tool name.
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
            (!parts.is_empty()).then(|| ChangedTool { tool: tool.clone(), parts })
        })
        .collect();
    Drift { added: missing(&before, &now), removed: missing(&now, &before), changed }
}

/// Which parts of a definition differ.
pub fn changed_parts(old: &Pin, new: &Pin) -> Vec<DefinitionPart> {
    differing_parts((old.parts(), old.shape.as_deref()), (new.parts(), new.shape.as_deref()))
}

/// Which of these digests differ, in the order of [`Pin::parts`]. If the shape is equal, only the descriptions in a
/// schema differ.
pub(crate) fn differing_parts<T: PartialEq>(old: ([T; 4], Option<T>), new: ([T; 4], Option<T>)) -> Vec<DefinitionPart> {
    let is_same_shape = old.1.is_some() && old.1 == new.1;
    let (input, output) = match is_same_shape {
        true => (DefinitionPart::InputDescriptions, DefinitionPart::OutputDescriptions),
        false => (DefinitionPart::InputSchema, DefinitionPart::OutputSchema),
    };
    [DefinitionPart::Description, input, output, DefinitionPart::Annotations]
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

fn digest_json(value: &Value) -> String {
    let mut text = Vec::new();
    canonical_json::write(value, &mut text);
    digest(&text)
}

fn digest(text: &[u8]) -> String {
    let mut digest = String::with_capacity("sha256:".len() + 64);
    digest.push_str("sha256:");
    push_hex(&mut digest, &Sha256::digest(text));
    digest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests are stored on disk, so the digest of a definition must never change.
    #[test]
    fn r_dis_7a_digests_are_those_of_canonical_text() {
        let value = serde_json::json!({ "b": [1, 2.5, null, true], "a": { "é\n\"": "x/\u{1}" }, "": {} });
        let mut text = Vec::new();
        canonical_json::write(&value, &mut text);
        let expected = "{\"\":{},\"a\":{\"é\\n\\\"\":\"x/\\u0001\",},\"b\":[1,2.5,null,true,],}";
        assert_eq!(String::from_utf8_lossy(&text), expected);
        let whole = "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a";
        assert_eq!(digest_json(&serde_json::json!({})), whole, "the digest of two braces");
    }
}
