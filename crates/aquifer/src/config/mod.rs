//! Reads `aquifer.toml`. Errors name the line, the column and what was expected there.

mod audit;
mod gate;
mod results;
pub(crate) mod target;
mod trust;
mod variables;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use aquifer_discovery::FileProblem;
use aquifer_protocol::error::Code;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::suggest;
use serde::Deserialize;

use results::{ControlsConfig, OperationConfig, ResultsConfig};
use target::{is_adapter, is_client_file, is_http_url};

pub(crate) use audit::{AuditConfig, AuditPlace};
pub(crate) use gate::GateConfig;
pub(crate) use trust::TrustSetting;
pub(crate) use variables::Variables;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    #[serde(default)]
    pub(crate) surface: SurfaceConfig,
    #[serde(default)]
    pub(crate) limits: LimitsConfig,
    #[serde(default)]
    pub(crate) results: ResultsConfig,
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
    pub(crate) gate: GateConfig,
    #[serde(default)]
    pub(crate) audit: AuditConfig,
    #[serde(default)]
    pub(crate) source: Vec<SourceConfig>,
    /// A file of `NAME=value` lines that `${NAME}` is looked up in before the environment.
    pub(crate) env_file: Option<PathBuf>,
    /// The file it was read from.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    /// Accept unknown parameters with a warning. For development.
    #[serde(default)]
    pub(crate) lenient: bool,
    /// Put `_meta` (request id, duration) into answers.
    #[serde(default)]
    pub(crate) meta: bool,
}

/// Keys that had other names in earlier versions.
const RENAMED_KEYS: &[(&str, &str)] = &[
    ("most_sessions", "max_sessions"),
    ("longest", "max_operations"),
    ("largest_answer", "max_answer_bytes"),
    ("largest_page", "max_page_size"),
    ("concurrency", "max_concurrent_calls"),
    ("connections", "max_connections"),
    ("page_bytes", "max_page_bytes"),
    ("text_bytes", "max_text_bytes"),
    ("largest_held", "max_result_bytes"),
    ("held_bytes", "max_held_bytes"),
    ("held_seconds", "held_ttl_seconds"),
    ("lifetime_seconds", "ttl_seconds"),
    ("forbidden_lifetime_seconds", "forbidden_ttl_seconds"),
    ("quota_lifetime_seconds", "quota_ttl_seconds"),
    ("issued_per_minute", "max_issued_per_minute"),
    ("wrong_per_minute", "max_wrong_per_minute"),
    ("file_bytes", "max_file_bytes"),
    ("files", "max_files"),
    ("store_days", "store_ttl_days"),
];

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SurfaceConfig {
    pub(crate) mode: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) prefix: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsConfig {
    max_request_size: Option<usize>,
    max_response_size: Option<usize>,
    max_string_length: Option<usize>,
    max_array_elements: Option<usize>,
    max_nesting_depth: Option<usize>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HttpConfig {
    pub(crate) address: Option<SocketAddr>,
    #[serde(default)]
    pub(crate) allowed_hosts: Vec<String>,
    #[serde(default)]
    pub(crate) allowed_origins: Vec<String>,
    pub(crate) max_sessions: Option<usize>,
    /// Bytes held for all connections together.
    pub(crate) max_unread_bytes: Option<usize>,
    /// How long a client may take nothing of what waits for it.
    pub(crate) write_timeout_seconds: Option<NonZeroU32>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchConfig {
    pub(crate) max_operations: Option<usize>,
    /// `halt` or `skip`.
    pub(crate) on_confirmation: Option<OnConfirmation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnConfirmation {
    Halt,
    Skip,
}

/// A family for each category, and where wanted one for schema-like discovery and one for permissions.
#[derive(Debug, Clone, PartialEq, Deserialize)]
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

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SourceConfig {
    /// What to serve, as on the command line.
    pub(crate) target: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) prefix: Option<String>,
    /// Left alone.
    #[serde(default)]
    pub(crate) disabled: bool,
    /// How far it is trusted; else what comes with the way it was named.
    pub(crate) trust: Option<TrustSetting>,
    /// For MCP servers: a program to start,
    pub(crate) command: Option<String>,
    #[serde(default)]
    pub(crate) args: Vec<String>,
    #[serde(default)]
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    /// or where one listens.
    pub(crate) url: Option<String>,
    #[serde(default)]
    pub(crate) headers: BTreeMap<String, String>,
    /// The environment variable that holds a token for it.
    pub(crate) bearer_env: Option<String>,
    /// For HTTP APIs: where the OpenAPI description is, a file or a URL,
    pub(crate) openapi: Option<String>,
    /// patches of it, in their order,
    #[serde(default)]
    pub(crate) overlays: Vec<PathBuf>,
    /// the base URL, if not that of the description,
    pub(crate) base_url: Option<String>,
    /// where client credentials get their tokens, if not where the description says,
    pub(crate) token_url: Option<String>,
    /// values of the variables in the description's server URLs,
    #[serde(default)]
    pub(crate) server_variables: BTreeMap<String, String>,
    /// whether its host may have a private address,
    #[serde(default)]
    pub(crate) allow_private_addresses: bool,
    /// headers that callers may fill,
    #[serde(default)]
    pub(crate) call_headers: Vec<String>,
    /// the header for a key by which it recognizes copies of a request,
    pub(crate) idempotency_header: Option<String>,
    /// and the folders whose files callers may send to it.
    #[serde(default)]
    pub(crate) file_roots: Vec<PathBuf>,
    /// How one logs in to it, if it wants that and does not say enough itself.
    pub(crate) login: Option<LoginConfig>,
    /// Of a file that names several servers: only these.
    #[serde(default)]
    pub(crate) servers: Vec<String>,
    /// A reviewed adapter to be served instead of what the server says.
    pub(crate) adapter: Option<PathBuf>,
    /// A reviewer's decisions.
    pub(crate) overrides: Option<PathBuf>,
    pub(crate) start_timeout_seconds: Option<u64>,
    /// Calls under way at once.
    pub(crate) max_concurrent_calls: Option<usize>,
    /// The most bytes of one answer.
    pub(crate) max_answer_bytes: Option<usize>,
    /// Which definitions wait until somebody accepts them; else what `[gate]` says.
    pub(crate) quarantine: Option<QuarantineConfig>,
    /// How many tools are taken of it.
    pub(crate) max_tools: Option<usize>,
    /// The most bytes of one tool's definition.
    pub(crate) max_tool_bytes: Option<usize>,
    /// The most objects and arrays in one tool's definition.
    pub(crate) max_schema_nodes: Option<usize>,
    /// How many parameters READ operations get for shaping their results.
    pub(crate) controls: Option<ControlsConfig>,
    /// What the server may ask of the clients behind its calls. Nothing, unless it is named here.
    #[serde(default)]
    pub(crate) allow: Vec<AllowedRequest>,
    /// What is said of single operations, by their names without prefix.
    #[serde(default)]
    pub(crate) operations: BTreeMap<String, OperationConfig>,
    /// PostgreSQL schemas, the first without a prefix.
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
    /// What its `${NAME}` stand for.
    #[serde(skip)]
    pub(crate) variables: Variables,
}

/// Something an MCP server may ask of a client.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllowedRequest {
    /// Have the person fill in a form.
    Elicitation,
    /// Have the client's model complete a conversation.
    Sampling,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LoginConfig {
    /// A client that was registered with the authorization server.
    pub(crate) client_id: Option<String>,
    /// The environment variable that holds its secret.
    pub(crate) client_secret_env: Option<String>,
    /// The authorization server it was registered with.
    pub(crate) issuer: Option<String>,
    /// The URL of a document that describes a client.
    pub(crate) client_document: Option<String>,
    /// What to ask for.
    #[serde(default)]
    pub(crate) scopes: Vec<String>,
    /// Where the browser comes back to, if the client was registered with a port.
    pub(crate) port: Option<u16>,
}

impl SourceConfig {
    /// A target from the command line, about which nothing else is said.
    pub(crate) fn from_target(target: &str) -> Self {
        Self { target: Some(target.to_owned()), ..Self::default() }
    }

    /// Every text of an MCP server that can hold or be the name of a variable.
    fn references(&self) -> impl Iterator<Item = &str> {
        let login = self.login.as_ref().and_then(|login| login.client_secret_env.as_ref());
        let single = [self.command.as_ref(), self.url.as_ref(), self.bearer_env.as_ref(), login];
        let pairs = self.env.values().chain(self.headers.values());
        single.into_iter().flatten().chain(&self.args).chain(pairs).map(String::as_str)
    }

    /// Whether it may be an MCP server, or several: what a variable holds is not known.
    pub(crate) fn may_be_mcp(&self) -> bool {
        let is_mcp =
            |target: &str| is_http_url(target) || is_client_file(target) || is_adapter(target) || target.contains("${");
        self.target.as_deref().is_none_or(is_mcp)
    }
}

/// Which definitions of an MCP server that was served before wait until somebody accepts them.
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
    /// Columns to be served although their names look like secrets.
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
    pub(crate) of: String,
    pub(crate) description: Option<String>,
    pub(crate) filterable: Option<bool>,
    pub(crate) sortable: Option<bool>,
}

/// Where things are kept that outlive the process.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateConfig {
    pub(crate) dir: Option<PathBuf>,
    /// Where confirmations, approvals, quotas and the heads of the audit are: `memory`, `sqlite` or the URL of a Redis.
    pub(crate) store: Option<String>,
    /// What keys in Redis begin with.
    pub(crate) redis_prefix: Option<String>,
    /// A file of certificates to trust instead of those the system trusts.
    pub(crate) redis_authorities: Option<PathBuf>,
    /// What cursors are sealed with. The same in several processes, cursors of one work in the other.
    pub(crate) cursor_secret: Option<String>,
    /// What its `${NAME}` stand for.
    #[serde(skip)]
    pub(crate) variables: Variables,
}

impl Config {
    /// Reads a file; without one, everything is at its default.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        Self::read_with_text(path).map(|(config, _)| config)
    }

    /// The same, with what stands in the file.
    pub(crate) fn read_with_text(path: Option<&Path>) -> anyhow::Result<(Self, String)> {
        let Some(path) = path else { return Ok(Default::default()) };
        let text = crate::files::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((Self::of_file(path, &text)?, text))
    }

    /// The configuration in a file with this text.
    pub(crate) fn of_file(path: &Path, text: &str) -> anyhow::Result<Self> {
        let shown = path.display();
        match Self::parse(text) {
            Ok(config) => {
                let config = Self { path: Some(path.to_owned()), ..config };
                Ok(config.with_variables()?.beside(path))
            }
            Err(FileProblem { line, column, message, suggestion, .. }) => {
                let suggestion = suggestion.map(|words| format!(". {words}")).unwrap_or_default();
                bail!("{shown} is not a valid configuration: line {line}, column {column}: {message}{suggestion}")
            }
        }
    }

    /// Reads the text of a file. What is wrong is told without the line it stands on: there may be secrets in it.
    pub(crate) fn parse(text: &str) -> Result<Self, FileProblem> {
        toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() as u64 + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
            let message = without_values(error.message());
            let code = match message.split(' ').next() {
                Some("unknown") => Code::SchemaInvalidName,
                Some("missing") => Code::SchemaMissingField,
                Some("duplicate") => Code::SchemaDuplicateName,
                _ => Code::SchemaInvalidType,
            };
            let mut words = message.split('`').skip(1).step_by(2);
            let wrong = words.next().unwrap_or_default();
            let known: Vec<&str> = words.collect();
            let renamed = RENAMED_KEYS.iter().find(|(old, new)| *old == wrong && known.contains(new));
            let suggestion = match renamed {
                Some((_, new)) => Some(format!("It is called '{new}' now.")),
                None => suggest::nearest(wrong, known)
                    .filter(|_| message.starts_with("unknown"))
                    .map(|word| format!("Did you mean '{word}'?")),
            };
            FileProblem { code, path: String::new(), line, column, message, suggestion }
        })
    }

    /// Files that a configuration names by a relative path stand beside it.
    fn beside(mut self, path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = [&mut self.audit.dir, &mut self.state.dir, &mut self.state.redis_authorities];
        for file in files.into_iter().flatten() {
            *file = folder.join(&*file);
        }
        if let Some(found) =
            self.state.store.as_deref().and_then(|store| target_beside(store, &self.state.variables, folder))
        {
            self.state.store = Some(found);
        }
        for source in &mut self.source {
            let files = [&mut source.adapter, &mut source.overrides, &mut source.cwd].into_iter().flatten();
            for file in files.chain(&mut source.overlays).chain(&mut source.file_roots) {
                *file = folder.join(&*file);
            }
            let written = source.openapi.as_deref().and_then(|written| source.variables.expand(written).ok());
            if let Some(found) = written.and_then(|path| file_beside(&path, folder)) {
                source.openapi = Some(found);
            }
            if let Some(found) =
                source.target.as_deref().and_then(|target| target_beside(target, &source.variables, folder))
            {
                source.target = Some(found);
            }
            // What a server is started with names files, too.
            if source.command.is_some() && source.cwd.is_none() {
                source.cwd = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
            }
        }
        self
    }

    /// Reads the `env_file` and gives everybody the variables that they name.
    fn with_variables(mut self) -> anyhow::Result<Self> {
        let Some(path) = &mut self.env_file else { return Ok(self) };
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        *path = folder.join(&*path);
        let variables = Variables::read(path)?;
        let state = [&self.state.store, &self.state.cursor_secret].into_iter().flatten();
        self.state.variables = variables.referenced_by(state.map(String::as_str));
        for source in &mut self.source {
            // A file that it names has references of its own.
            source.variables = match source.target.is_some() || source.adapter.is_some() || source.openapi.is_some() {
                true => variables.clone(),
                false => variables.referenced_by(source.references()),
            };
        }
        Ok(self)
    }
}

/// A target that names a file by a relative path, as the file beside the configuration. Nothing for every other target.
fn target_beside(target: &str, variables: &Variables, folder: &Path) -> Option<String> {
    const FILES: [&str; 7] = [".json", ".jsonc", ".json5", ".md", ".db", ".sqlite", ".sqlite3"];
    // What cannot be expanded is told when it is planned.
    let expanded = variables.expand(target).ok()?;
    if let Some(path) = expanded.strip_prefix(target::OPENAPI) {
        return file_beside(path, folder).map(|found| format!("{}{found}", target::OPENAPI));
    }
    let (scheme, path) = match expanded.strip_prefix("sqlite:") {
        Some(path) => ("sqlite:", path.strip_prefix("//").unwrap_or(path)),
        None if expanded.contains("://") || !FILES.iter().any(|end| expanded.ends_with(end)) => return None,
        None => ("", expanded.as_str()),
    };
    let is_relative = !path.is_empty() && !path.starts_with(':') && Path::new(path).is_relative();
    is_relative.then(|| format!("{scheme}{}", folder.join(path).display().to_string().replace("${", "$${")))
}

/// A relative path, as that of the file beside the configuration. Nothing for URLs and absolute paths.
fn file_beside(path: &str, folder: &Path) -> Option<String> {
    let is_relative = !path.is_empty() && !is_http_url(path) && Path::new(path).is_relative();
    is_relative.then(|| folder.join(path).display().to_string().replace("${", "$${"))
}

/// A parser's message without what stood in the file: `invalid type: string "…"` becomes `invalid type: string`.
fn without_values(message: &str) -> String {
    let message = message.trim().replace('\n', ", ");
    match (message.find('"'), message.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            let (before, after) = (message.get(..first), message.get(last + 1..));
            format!("{}{}", before.unwrap_or_default().trim_end(), after.unwrap_or_default())
        }
        _ => message,
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn renamed_keys_are_reported_with_their_new_names() {
        const TABLES: [&str; 6] = ["[http]", "[batch]", "[[source]]", "[results]", "[gate.confirmation]", "[audit]"];
        for (old, new) in RENAMED_KEYS {
            let suggestions: Vec<String> = TABLES
                .iter()
                .filter_map(|table| Config::parse(&format!("{table}\n{old} = 1\n")).err()?.suggestion)
                .filter(|suggestion| suggestion == &format!("It is called '{new}' now."))
                .collect();
            assert!(!suggestions.is_empty(), "{old}");
        }
        // Where nothing was renamed, the key is merely unknown.
        let problem = Config::parse("[surface]\nlongest = 1\n").unwrap_err();
        assert!(problem.message.starts_with("unknown field `longest`"), "{}", problem.message);
        assert!(problem.suggestion.is_none_or(|words| !words.contains("now")));
    }
}
