//! A normalized operation, with exactly the published fields.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::classify::{Confidence, Inference};

/// An operation made from a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizedOperation {
    /// The exact name of the tool.
    pub source_tool_name: String,
    /// The operation's name.
    pub operation_name: String,
    /// The tool's title, cleaned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
    /// Its description, cleaned.
    pub description: String,
    /// Its category.
    pub endpoint: Category,
    /// How well the evidence supports the category.
    pub endpoint_confidence: Confidence,
    /// Its danger level.
    pub danger_level: Danger,
    /// Whether it needs review.
    pub needs_review: bool,
    /// Why it needs review.
    pub review_reasons: Vec<String>,
    /// Its parameters.
    pub params: Vec<NormalizedParameter>,
    /// The target of its calls: `tool:NAME`.
    pub maps_to: String,
    /// Its result.
    pub returns: NormalizedReturns,
    /// Where these fields came from.
    pub provenance: Provenance,
}

/// A parameter, reduced to the published fields.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizedParameter {
    /// Its canonical name.
    pub name: String,
    /// The upstream's exact name of the parameter.
    pub original_name: String,
    /// Its JSON type, several separated by `|`, or `any`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Whether it is required.
    pub required: bool,
    /// Its description, cleaned.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// The default value.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub default: Option<Value>,
    /// The accepted values, if they are strings.
    #[serde(rename = "enum", skip_serializing_if = "Option::is_none", default)]
    pub allowed: Option<Vec<String>>,
    /// The minimum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub minimum: Option<Value>,
    /// The maximum.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub maximum: Option<Value>,
    /// A pattern that strings must match.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pattern: Option<String>,
    /// A format that strings should have.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub format: Option<String>,
    /// Its path in the tool's definition.
    pub source_path: String,
}

/// The result of an operation. The envelope is always an object, whatever the tool returns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizedReturns {
    /// Always `object`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// The type's name.
    pub name: String,
    /// The description of the result.
    pub description: String,
}

/// Where an operation's fields came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The field from which its name was derived.
    pub name: String,
    /// The field from which its description was derived, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub description: Option<String>,
    /// The annotations of the tool.
    #[serde(default)]
    pub annotations: Vec<String>,
    /// Whether the tool has an input schema.
    pub input_schema_present: bool,
    /// How each field was derived.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub inference_sources: Option<InferenceSources>,
}

/// How each field of an operation was derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InferenceSources {
    /// Its name.
    pub operation_name: Inference,
    /// Its description.
    pub description: Inference,
    /// Its category.
    pub endpoint: Inference,
    /// Its danger.
    pub danger_level: Inference,
    /// The target of its calls.
    pub maps_to: Inference,
}
