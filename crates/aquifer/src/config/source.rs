//! The configuration section `[[source]]`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::results::{ControlsConfig, OperationConfig};
use super::target::{is_adapter, is_client_file, is_http_url};
use super::{TrustSetting, Variables};

/// `[[source]]`: something that is served.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceConfig {
    /// The target, as on the command line.
    pub(crate) target: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) prefix: Option<String>,
    /// Whether the source is skipped.
    #[serde(default)]
    pub(crate) disabled: bool,
    /// The trust level. Default: depends on how the source was named.
    pub(crate) trust: Option<TrustSetting>,
    /// For MCP servers: the program to start.
    pub(crate) command: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    /// For MCP servers: the URL of a remote one.
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The environment variable that holds a bearer token for it.
    pub(crate) bearer_env: Option<String>,
    /// For HTTP APIs: the file or URL of the OpenAPI description.
    pub(crate) openapi: Option<String>,
    /// Overlays of the description, in order.
    #[serde(default)]
    pub(crate) overlays: Vec<PathBuf>,
    /// The base URL, if not that of the description.
    pub(crate) base_url: Option<String>,
    /// The token endpoint for client credentials, if not that of the description.
    pub(crate) token_url: Option<String>,
    /// Where it may send something without a person: addresses, and domains as `@domain` or `https://host/*`.
    #[serde(default)]
    pub(crate) known_destinations: Vec<String>,
    /// Values of variables in the description's server URLs.
    #[serde(default)]
    pub(crate) server_variables: BTreeMap<String, String>,
    /// Whether its host may have a private address.
    #[serde(default)]
    pub(crate) allow_private_addresses: bool,
    /// Headers that callers may set.
    #[serde(default)]
    pub(crate) call_headers: Vec<String>,
    /// The header for an idempotency key.
    pub(crate) idempotency_header: Option<String>,
    /// The folders whose files callers may upload.
    #[serde(default)]
    pub(crate) file_roots: Vec<PathBuf>,
    /// How to log in to it, if it requires a login and does not publish everything needed.
    pub(crate) login: Option<LoginConfig>,
    /// The servers to use from a file that names several.
    #[serde(default)]
    pub(crate) servers: Vec<String>,
    /// A reviewed adapter that is served instead of the server's own definitions.
    pub(crate) adapter: Option<PathBuf>,
    /// A reviewer's decisions.
    pub(crate) overrides: Option<PathBuf>,
    pub(crate) start_timeout_seconds: Option<u64>,
    /// Maximum number of concurrent calls.
    pub(crate) max_concurrent_calls: Option<usize>,
    /// Maximum size of one answer, in bytes.
    pub(crate) max_answer_bytes: Option<usize>,
    /// Which definitions have to be accepted first. Default: the setting in `[gate]`.
    pub(crate) quarantine: Option<QuarantineConfig>,
    /// Maximum number of tools.
    pub(crate) max_tools: Option<usize>,
    /// Maximum size of one tool's definition, in bytes.
    pub(crate) max_tool_bytes: Option<usize>,
    /// Maximum number of objects and arrays in one tool's definition.
    pub(crate) max_schema_nodes: Option<usize>,
    /// How many parameters READ operations get for shaping their results.
    pub(crate) controls: Option<ControlsConfig>,
    /// The requests that the server may make to the clients behind its calls. Default: none.
    #[serde(default)]
    pub(crate) allow: Vec<AllowedRequest>,
    /// Settings of single operations, by name without prefix.
    #[serde(default)]
    pub(crate) operations: BTreeMap<String, OperationConfig>,
    /// PostgreSQL schemas. Tables of the first have no prefix.
    #[serde(default)]
    pub(crate) schemas: Vec<String>,
    #[serde(default)]
    pub(crate) include: Vec<String>,
    #[serde(default)]
    pub(crate) exclude: Vec<String>,
    #[serde(default)]
    pub(crate) read_only: bool,
    /// Whether callers may run SELECT statements of their own on a database.
    #[serde(default)]
    pub(crate) query_sql: bool,
    pub(crate) style: Option<TableStyle>,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) max_connections: Option<usize>,
    pub(crate) page_size: Option<usize>,
    pub(crate) max_page_size: Option<usize>,
    #[serde(default)]
    pub(crate) tables: BTreeMap<String, TableConfig>,
    /// The values of its `${NAME}` references.
    #[serde(skip)]
    pub(crate) variables: Variables,
}

/// A request that an MCP server may make to a client.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllowedRequest {
    /// Ask the person to fill in a form.
    Elicitation,
    /// Ask the client's model for a completion.
    Sampling,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginConfig {
    /// The id of a client registered with the authorization server.
    pub(crate) client_id: Option<String>,
    /// The environment variable that holds its secret.
    pub(crate) client_secret_env: Option<String>,
    /// The authorization server it was registered with.
    pub(crate) issuer: Option<String>,
    /// The URL of a document that describes a client.
    pub(crate) client_document: Option<String>,
    /// The scopes to request.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// The port for the browser's redirect, if the client was registered with one.
    pub(crate) port: Option<u16>,
}

impl SourceConfig {
    /// A source that consists only of a target on the command line.
    pub(crate) fn from_target(target: &str) -> Self {
        Self { target: Some(target.to_owned()), ..Self::default() }
    }

    /// Every text of an MCP server's settings that may contain or be the name of a variable.
    pub(super) fn references(&self) -> impl Iterator<Item = &str> {
        let login = self.login.as_ref().and_then(|login| login.client_secret_env.as_ref());
        let single = [self.command.as_ref(), self.url.as_ref(), self.bearer_env.as_ref(), login];
        let pairs = self.env.values().chain(self.headers.values());
        single.into_iter().flatten().chain(&self.args).chain(pairs).map(String::as_str)
    }

    /// The variables that it refers to and that are not set.
    pub(crate) fn unset_variables(&self) -> Vec<String> {
        let texts = self.references().chain(self.target.as_deref()).chain(self.openapi.as_deref());
        let mut names: Vec<String> = texts.flat_map(|text| self.variables.unset_in(text)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether it is an MCP server for certain.
    pub(crate) fn is_mcp(&self) -> bool {
        self.openapi.is_none() && (self.command.is_some() || self.url.is_some())
    }

    /// Patterns that an MCP server would ignore: the key, and what to do instead. Whoever writes them relies on them.
    pub(crate) fn unused_patterns(&self) -> Option<(&'static str, &'static str)> {
        match (self.include.is_empty(), self.exclude.is_empty()) {
            (true, true) => None,
            (false, _) => Some((
                "include",
                "'include' is for databases and HTTP APIs. Deny the other operations of an MCP server with [[gate.rule]]",
            )),
            (true, false) => Some((
                "exclude",
                "'exclude' is for databases and HTTP APIs. Deny operations of an MCP server with [[gate.rule]]",
            )),
        }
    }

    /// Whether it may be one or several MCP servers. References are not expanded, so the target may be unknown.
    pub(crate) fn may_be_mcp(&self) -> bool {
        let is_mcp =
            |target: &str| is_http_url(target) || is_client_file(target) || is_adapter(target) || target.contains("${");
        self.target.as_deref().is_none_or(is_mcp)
    }
}

/// Which definitions of a known MCP server have to be accepted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum QuarantineConfig {
    Changed,
    New,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TableStyle {
    Auto,
    Tables,
    Generic,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TableConfig {
    pub(crate) singular: Option<String>,
    pub(crate) plural: Option<String>,
    pub(crate) description: Option<String>,
    #[serde(default)]
    pub(crate) key: Vec<String>,
    #[serde(default)]
    pub(crate) hide: Vec<String>,
    /// Columns that are served although their names look like secrets.
    #[serde(default)]
    pub(crate) show: Vec<String>,
    #[serde(default)]
    pub(crate) presets: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    pub(crate) computed: BTreeMap<String, ComputedConfig>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ComputedConfig {
    pub(crate) sql: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    pub(crate) description: Option<String>,
    pub(crate) filterable: Option<bool>,
    pub(crate) sortable: Option<bool>,
}
