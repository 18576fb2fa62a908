//! The sidecar: a file beside the adapter with the data for which the published adapter schema has no fields.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bundle::{Bundle, NormalizedOperation, Provenance, Source};
use crate::classify::Confidence;
use crate::digest::{Pin, pin};
use crate::tool::Tool;
use crate::warning::BundleWarning;
use aquifer_protocol::trust::Trust;

/// The data about an adapter that its front matter cannot contain.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Sidecar {
    /// The version of the file format.
    pub schema_version: String,
    /// The adapter it belongs to.
    pub adapter: String,
    /// Its trust level.
    pub trust: Trust,
    /// Where the tools were captured.
    pub source: Source,
    /// One entry for each tool.
    pub operations: Vec<SidecarOperation>,
    /// The bundle's warnings.
    pub warnings: Vec<BundleWarning>,
}

/// The sidecar of an adapter for an HTTP API.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ApiSidecar {
    /// The version of the file format.
    pub(super) schema_version: String,
    /// The adapter it belongs to.
    pub(super) adapter: String,
    /// Its trust level.
    pub(super) trust: Trust,
    /// The data about the API that is needed to serve it.
    pub(super) api: Value,
}

/// The data about one tool.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SidecarOperation {
    /// The tool's name, exactly.
    pub tool: String,
    /// The operation that was made from it.
    pub operation_name: String,
    /// The canonical name of each parameter and the tool's own.
    pub parameters: Vec<ParameterNames>,
    /// How well the evidence supports the category.
    pub endpoint_confidence: Confidence,
    /// Whether it needs review.
    pub needs_review: bool,
    /// Why.
    pub review_reasons: Vec<String>,
    /// Where the fields came from.
    pub provenance: Provenance,
    /// The definition, pinned.
    pub pin: Pin,
    /// The tool's hints, as the upstream gave them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub annotations: Option<Value>,
    /// The tool's complete input schema. Calls are checked against it as far as the catalog can express it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub input_schema: Option<Value>,
    /// The tool's complete output schema.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub output_schema: Option<Value>,
}

/// The two names of a parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParameterNames {
    /// The canonical one.
    pub name: String,
    /// The tool's own, exactly.
    pub original_name: String,
}

impl Sidecar {
    /// The sidecar of a bundle.
    pub(super) fn from_bundle(bundle: &Bundle, adapter: &str) -> Self {
        let tools = bundle.tools();
        let tools: HashMap<&str, &Tool> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let operations = bundle
            .normalized_bundle
            .operations
            .iter()
            .filter_map(|operation| {
                let tool = tools.get(operation.source_tool_name.as_str())?;
                Some(entry(operation, tool))
            })
            .collect();
        Self {
            schema_version: bundle.schema_version.clone(),
            adapter: adapter.to_owned(),
            trust: Trust::Generated,
            source: bundle.source.clone(),
            operations,
            warnings: bundle.normalized_bundle.warnings.clone(),
        }
    }

    /// The pins of the tools it was made from.
    pub fn pins(&self) -> Vec<Pin> {
        self.operations.iter().map(|operation| operation.pin.clone()).collect()
    }
}

fn entry(operation: &NormalizedOperation, tool: &Tool) -> SidecarOperation {
    SidecarOperation {
        tool: tool.name.clone(),
        operation_name: operation.operation_name.clone(),
        parameters: operation
            .params
            .iter()
            .map(|parameter| ParameterNames {
                name: parameter.name.clone(),
                original_name: parameter.original_name.clone(),
            })
            .collect(),
        endpoint_confidence: operation.endpoint_confidence,
        needs_review: operation.needs_review,
        review_reasons: operation.review_reasons.clone(),
        provenance: operation.provenance.clone(),
        pin: pin(tool),
        annotations: tool.definition.get("annotations").cloned(),
        input_schema: tool.input_schema().cloned(),
        output_schema: tool.definition.get("outputSchema").cloned(),
    }
}
