//! The discovery bundle: the raw tool list of an upstream and the operations derived from it (R-DIS-2, R-DIS-3).
//!
//! Field names and their order follow the published schema. Bundles captured over HTTP validate against it; the
//! transport `stdio` is our extension.

mod check;
pub(crate) mod normalize;
mod operation;
mod raw;
mod source;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::classify::more_severe;
use crate::digest::{Pin, pin};
use crate::tool::Tool;
use crate::warning::BundleWarning;
use normalize::{Listing, normalize};

pub use operation::InferenceSources;
pub use operation::NormalizedOperation;
pub use operation::NormalizedParameter;
pub use operation::NormalizedReturns;
pub use operation::Provenance;
pub use raw::CaptureError;
pub use raw::RawCapture;
pub use source::Auth;
pub use source::AuthKind;
pub use source::ServerIdentity;
pub use source::Source;
pub use source::Transport;

/// The version of the bundle format.
pub const SCHEMA_VERSION: &str = "1.0.0-draft";

/// A discovery bundle.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The version of the bundle format.
    pub schema_version: String,
    /// Where the capture was made.
    pub source: Source,
    /// The upstream's answer, unchanged.
    pub raw_capture: RawCapture,
    /// The operations derived from it.
    pub normalized_bundle: NormalizedBundle,
}

/// The operations derived from a capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizedBundle {
    /// One operation for each usable tool, in the upstream's order.
    pub operations: Vec<NormalizedOperation>,
    /// Problems and omissions.
    pub warnings: Vec<BundleWarning>,
}

/// A bundle that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not JSON, or not a bundle.
    #[error("not a discovery bundle: {0}")]
    Malformed(String),
    /// An unsupported version.
    #[error("the bundle's schema_version is not supported; expected \"{SCHEMA_VERSION}\"")]
    Version,
}

impl Bundle {
    /// Reads a bundle's text.
    pub fn read(text: &str) -> Result<Self, BundleError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: Option<Value>,
        }
        let malformed = |error: serde_json::Error| BundleError::Malformed(error.to_string());
        let version: Version = serde_json::from_str(text).map_err(malformed)?;
        if version.schema_version.is_some_and(|version| version != SCHEMA_VERSION) {
            return Err(BundleError::Version);
        }
        serde_json::from_str(text).map_err(malformed)
    }

    /// Serializes the bundle. Equal bundles give equal bytes, and the upstream's answer is unchanged.
    pub fn write(&self) -> Result<String, BundleError> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| BundleError::Malformed(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// The tools that became operations, in the order of the operations.
    pub fn tools(&self) -> Vec<Tool> {
        Listing::from_capture(&self.raw_capture).tools
    }

    /// Raises category, danger and the need for review to what the bundle's own capture shows, because the file may
    /// have been edited. The operator's decisions belong in overrides, where they are recorded.
    pub fn raise_to_evidence(&mut self) {
        let fresh = normalize(self.source.clone(), self.raw_capture.clone()).normalized_bundle.operations;
        let fresh: HashMap<&str, &NormalizedOperation> =
            fresh.iter().map(|operation| (operation.source_tool_name.as_str(), operation)).collect();
        for operation in &mut self.normalized_bundle.operations {
            let Some(evident) = fresh.get(operation.source_tool_name.as_str()) else { continue };
            operation.endpoint = more_severe(operation.endpoint, evident.endpoint);
            operation.danger_level = operation.danger_level.max(evident.danger_level);
            if evident.needs_review && !operation.needs_review {
                operation.needs_review = true;
                operation.review_reasons.clone_from(&evident.review_reasons);
            }
        }
    }

    /// The pins of all definitions.
    pub fn pins(&self) -> Vec<Pin> {
        self.tools().iter().map(pin).collect()
    }
}
