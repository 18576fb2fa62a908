//! `aquifer.toml`. A file that does not parse is shown with line, column and what was expected there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, bail};
use aquifer_protocol::limits::Limits;
use serde::Deserialize;

/// The whole file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) surface: SurfaceConfig,
    #[serde(default)]
    pub(crate) limits: LimitsConfig,
    #[serde(default)]
    pub(crate) http: HttpConfig,
    #[serde(default)]
    pub(crate) batch: BatchConfig,
    /// Endpoint families of the operator's own.
    #[serde(default)]
    pub(crate) profile: BTreeMap<String, ProfileConfig>,
    #[serde(default)]
    pub(crate) source: Vec<SourceConfig>,
    /// Accept unknown parameters with a warning. For development.
    #[serde(default)]
    pub(crate) lenient: bool,
    /// Put `_meta` (request id, duration) into answers.
    #[serde(default)]
    pub(crate) meta: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurfaceConfig {
    pub(crate) mode: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    max_request_size: Option<usize>,
    max_response_size: Option<usize>,
    max_string_length: Option<usize>,
    max_array_elements: Option<usize>,
    max_nesting_depth: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpConfig {
    pub(crate) address: Option<SocketAddr>,
    #[serde(default)]
    pub(crate) allowed_hosts: Vec<String>,
    #[serde(default)]
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) most_sessions: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchConfig {
    pub(crate) longest: Option<usize>,
    /// `halt` or `skip`.
    pub(crate) on_confirmation: Option<OnConfirmation>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnConfirmation {
    Halt,
    Skip,
}

/// A family for each category, and where wanted one for schema-like discovery and one for permissions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProfileConfig {
    pub(crate) create: String,
    pub(crate) read: String,
    pub(crate) update: String,
    pub(crate) delete: String,
    pub(crate) execute: String,
    pub(crate) discovery: Option<String>,
    pub(crate) authorization: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceConfig {
    /// What to serve, as on the command line.
    pub(crate) target: String,
    pub(crate) prefix: Option<String>,
}

impl Config {
    /// Reads a file; without one, everything is at its default.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = path else { return Ok(Self::default()) };
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
        match toml::from_str(&text) {
            Ok(config) => Ok(config),
            Err(error) => bail!("{shown} is not a valid configuration:\n{error}"),
        }
    }
}

impl LimitsConfig {
    pub(crate) fn limits(&self) -> Limits {
        let default = Limits::default();
        Limits {
            max_request_size: self.max_request_size.unwrap_or(default.max_request_size),
            max_response_size: self.max_response_size.unwrap_or(default.max_response_size),
            max_string_length: self.max_string_length.unwrap_or(default.max_string_length),
            max_array_elements: self.max_array_elements.unwrap_or(default.max_array_elements),
            max_nesting_depth: self.max_nesting_depth.unwrap_or(default.max_nesting_depth),
        }
    }
}
