//! The discovery bundle: the raw tool list of an upstream and the operations derived from it (R-DIS-2, R-DIS-3).
//!
//! The field names and their order are the published schema's. A bundle captured over HTTP validates against it; the
//! transport `stdio` is our extension.

mod check;
mod operation;
mod raw;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Listing;
use crate::classify::more_severe;
use crate::digest::{Pin, pin};
use crate::tool::Tool;
use crate::warning::BundleWarning;

pub use operation::InferenceSources;
pub use operation::NormalizedOperation;
pub use operation::NormalizedParameter;
pub use operation::NormalizedReturns;
pub use operation::Provenance;
pub use raw::CaptureError;
pub use raw::RawCapture;

/// The version of the bundle's shape.
pub const SCHEMA_VERSION: &str = "1.0.0-draft";

/// A discovery bundle.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// The version of the bundle's shape.
    pub schema_version: String,
    /// Where the capture was made.
    pub source: Source,
    /// What the upstream said.
    pub raw_capture: RawCapture,
    /// What was made of it.
    pub normalized_bundle: NormalizedBundle,
}

/// Where a capture was made. Nothing in it is secret: see [`crate::redact`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// What the upstream is called here.
    pub name: String,
    /// Its URL without secrets; `stdio:NAME` for a child process.
    pub server_url: String,
    /// How it was reached.
    pub transport: Transport,
    /// When, ISO 8601 in UTC.
    pub captured_at: String,
    /// Who it said it is.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerIdentity>,
    /// How it was authenticated to.
    pub auth: Auth,
    /// The configuration, redacted.
    pub capture_config_redacted: Map<String, Value>,
}

/// How an upstream was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Over HTTP; the published schema knows only this one.
    StreamableHttp,
    /// As a child process: our extension.
    Stdio,
}

/// Who an upstream says it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Its name for people.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
}

impl ServerIdentity {
    /// The identity from `serverInfo`, cleaned; fields the bundle does not know are left out.
    pub fn read(server_info: &Value) -> Self {
        let text = |key: &str| server_info.get(key).and_then(Value::as_str).map(crate::text::presentable);
        Self { name: text("name"), version: text("version"), title: text("title") }
    }
}

/// How an upstream was authenticated to: the names of things, never a secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Whether there was any.
    #[serde(rename = "type")]
    pub kind: AuthKind,
    /// The header that carried the credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub header: Option<String>,
    /// What stood in front of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix: Option<String>,
    /// The environment variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token_env: Option<String>,
    /// The program that prints it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token_command: Option<String>,
}

/// Whether an upstream wanted a credential. One in another header is `bearer` with that header and no prefix: the
/// published schema has no other word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// A credential in a header.
    Bearer,
    /// Nothing.
    None,
}

impl Auth {
    /// No authentication.
    pub const fn none() -> Self {
        Self { kind: AuthKind::None, header: None, prefix: None, token_env: None, token_command: None }
    }

    /// A bearer token from this environment variable.
    pub fn bearer(token_env: &str) -> Self {
        Self {
            kind: AuthKind::Bearer,
            header: Some("Authorization".to_owned()),
            prefix: Some("Bearer ".to_owned()),
            token_env: Some(token_env.to_owned()),
            token_command: None,
        }
    }
}

/// What was made of a capture.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NormalizedBundle {
    /// One operation for each usable tool, in the upstream's order.
    pub operations: Vec<NormalizedOperation>,
    /// What went wrong or was left out.
    pub warnings: Vec<BundleWarning>,
}

/// A bundle that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not JSON, or not the shape of a bundle.
    #[error("not a discovery bundle: {0}")]
    Malformed(String),
    /// Another version.
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

    /// The bundle as text: the same bytes for the same bundle, and what the upstream said untouched inside.
    pub fn write(&self) -> Result<String, BundleError> {
        let mut text = serde_json::to_string_pretty(self).map_err(|error| BundleError::Malformed(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// The tools that became operations, in the order of the operations.
    pub fn tools(&self) -> Vec<Tool> {
        Listing::from_capture(&self.raw_capture).tools
    }

    /// Raises what the bundle says of its operations to what its own capture shows. Somebody may have edited the file:
    /// what an operator decides belongs into overrides, where it is on record.
    pub fn hold_to_evidence(&mut self) {
        let fresh = crate::normalize(self.source.clone(), self.raw_capture.clone()).normalized_bundle.operations;
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

    /// The definitions, pinned.
    pub fn pins(&self) -> Vec<Pin> {
        self.tools().iter().map(pin).collect()
    }
}
