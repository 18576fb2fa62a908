//! `aquifer.toml`. A file that does not parse is shown with line, column and what was expected there.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

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
    pub(crate) state: StateConfig,
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

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceConfig {
    /// What to serve, as on the command line.
    pub(crate) target: String,
    pub(crate) name: Option<String>,
    pub(crate) prefix: Option<String>,
    /// PostgreSQL schemas, the first without a prefix.
    #[serde(default)]
    pub(crate) schemas: Vec<String>,
    #[serde(default)]
    pub(crate) include: Vec<String>,
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    #[serde(default)]
    pub(crate) read_only: bool,
    pub(crate) style: Option<TableStyle>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) connections: Option<usize>,
    pub(crate) page_size: Option<usize>,
    pub(crate) largest_page: Option<usize>,
    #[serde(default)]
    pub(crate) tables: BTreeMap<String, TableConfig>,
}

impl SourceConfig {
    /// A target from the command line, about which nothing else is said.
    pub(crate) fn of(target: &str) -> Self {
        Self { target: target.to_owned(), ..Self::default() }
    }
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TableStyle {
    Auto,
    Tables,
    Generic,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableConfig {
    pub(crate) singular: Option<String>,
    pub(crate) plural: Option<String>,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) key: Vec<String>,
    #[serde(default)]
    pub(crate) hide: Vec<String>,
    #[serde(default)]
    pub(crate) presets: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) computed: BTreeMap<String, ComputedConfig>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComputedConfig {
    pub(crate) sql: String,
    #[serde(rename = "type")]
    pub(crate) of: String,
    pub(crate) description: Option<String>,
    pub(crate) filterable: Option<bool>,
    pub(crate) sortable: Option<bool>,
}

/// Where things are kept that outlive the process.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateConfig {
    pub(crate) dir: Option<PathBuf>,
    /// What cursors are sealed with. The same in several processes, cursors of one work in the other.
    pub(crate) cursor_secret: Option<String>,
}

/// `${VAR}` is the environment's.
pub(crate) fn expand(text: &str) -> anyhow::Result<String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            bail!("'${{' without '}}' in the configuration");
        };
        let value = std::env::var(name)
            .with_context(|| format!("the configuration refers to ${{{name}}}, which is not set in the environment"))?;
        expanded.push_str(before);
        expanded.push_str(&value);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
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
