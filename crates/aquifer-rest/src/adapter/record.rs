//! The sidecar of an adapter that was built from a description: the description itself, and the digests that were
//! reviewed.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::api::Api;
use crate::openapi::{self, DescriptionError, ReadOptions};

/// The sidecar's data about an API. The description provides everything for which the adapter file has no fields:
/// places and original names of parameters, notations, bodies, media types, complete schemas and types, and pagination.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct ApiRecord {
    /// The name of the source when the file was built. Names of environment variables are derived from it.
    pub(super) source: String,
    /// The URL of the description, to resolve relative URLs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) url: Option<String>,
    /// Values of the variables in server URLs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) server_variables: BTreeMap<String, String>,
    /// The digest of each definition, by its location in the description.
    pub(super) digests: BTreeMap<String, String>,
    /// The description.
    pub(super) description: Value,
    /// The other documents that it refers to, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) documents: BTreeMap<String, Value>,
}

impl ApiRecord {
    /// Reads a record.
    pub(super) fn from_json(json: &Value) -> Result<Self, String> {
        Self::deserialize(json).map_err(|error| aquifer_discovery::text::presentable(&error.to_string()))
    }

    /// The API as the description defines it.
    pub(super) fn api(&self) -> Result<Api, DescriptionError> {
        let loader = |name: &str| self.documents.get(name).cloned();
        let options = ReadOptions {
            source: self.source.clone(),
            url: self.url.clone(),
            server_variables: self.server_variables.clone(),
            loader: Some(&loader),
            ..ReadOptions::default()
        };
        openapi::read(&self.description, &options)
    }
}
