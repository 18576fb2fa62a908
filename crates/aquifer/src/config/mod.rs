//! Reads `aquifer.toml`. Errors name the line, the column and what was expected there.

mod approvals;
mod audit;
pub(crate) mod feature;
mod gate;
mod results;
mod source;
pub(crate) mod target;
mod trust;
mod variables;
mod version;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use aquifer_discovery::FileProblem;
use aquifer_protocol::error::Code;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::suggest;
use serde::Deserialize;

use results::ResultsConfig;
#[cfg(feature = "rest")]
pub(crate) use results::{PaginationConfig, PaginationStyle};
use target::is_http_url;

pub(crate) use approvals::ApprovalsConfig;
pub(crate) use approvals::ApprovalsProblem;
#[cfg(feature = "webhook")]
pub(crate) use approvals::{check_webhook_secret, check_webhook_url};
pub(crate) use audit::{AuditConfig, AuditSink};
pub(crate) use gate::GateConfig;
pub(crate) use source::{AllowedRequest, LoginConfig, QuarantineConfig, SourceConfig, TableConfig, TableStyle};
pub(crate) use trust::TrustSetting;
pub(crate) use variables::{Variables, describe_invalid_lines};
pub(crate) use version::CONFIG_VERSION;

/// The whole file.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// The version of the keys that the file was written for. Default: the oldest one.
    pub(crate) version: Option<u32>,
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
    /// Profiles defined by the operator.
    #[serde(default)]
    pub(crate) profile: BTreeMap<String, ProfileConfig>,
    #[serde(default)]
    pub(crate) state: StateConfig,
    #[serde(default)]
    pub(crate) gate: GateConfig,
    #[serde(default)]
    pub(crate) audit: AuditConfig,
    #[serde(default)]
    pub(crate) approvals: ApprovalsConfig,
    #[serde(default)]
    pub(crate) source: Vec<SourceConfig>,
    /// A file with `NAME=value` lines. `${NAME}` is looked up there before the environment.
    pub(crate) env_file: Option<PathBuf>,
    /// The file it was read from.
    #[serde(skip)]
    pub(crate) path: Option<PathBuf>,
    /// Accept unknown parameters with a warning, for development.
    #[serde(default)]
    pub(crate) lenient: bool,
    /// Add `_meta` (request id, duration) to answers.
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
    /// Maximum bytes held for all connections together.
    pub(crate) max_unread_bytes: Option<usize>,
    /// How long a client may leave a waiting response unread.
    pub(crate) write_timeout_seconds: Option<NonZeroU32>,
    /// Whether to serve the explorer. By default only on loopback addresses.
    pub(crate) explorer: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct BatchConfig {
    pub(crate) max_operations: Option<usize>,
    /// How long a batch may take.
    pub(crate) timeout_seconds: Option<NonZeroU32>,
    /// What to do if an operation of a batch needs confirmation.
    pub(crate) on_confirmation: Option<OnConfirmation>,
}

impl BatchConfig {
    /// How long a batch may take, if it is configured.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds.map(|seconds| Duration::from_secs(seconds.get().into()))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OnConfirmation {
    Halt,
    Skip,
}

/// A family for each category, and optionally one for discovery and one for authorization.
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

/// `[state]`: where state that outlives the process is kept.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StateConfig {
    pub(crate) dir: Option<PathBuf>,
    /// The store for confirmations, approvals, quotas and audit heads: `memory`, `sqlite` or the URL of a Redis.
    pub(crate) store: Option<String>,
    /// The prefix of keys in Redis.
    pub(crate) redis_prefix: Option<String>,
    /// A file of certificates to trust instead of the system's.
    pub(crate) redis_authorities: Option<PathBuf>,
    /// The secret that encrypts cursors. Processes with the same secret accept each other's cursors.
    pub(crate) cursor_secret: Option<String>,
    /// The values of its `${NAME}` references.
    #[serde(skip)]
    pub(crate) variables: Variables,
    /// What the command may do with it.
    #[serde(skip)]
    pub(crate) access: StateAccess,
}

/// What a command may do with the state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum StateAccess {
    /// It is created, made private, brought up to date and changed.
    #[default]
    Use,
    /// It is only read, and stays as it is.
    Inspect,
}

impl Config {
    /// Reads a file. Without one, everything has its default.
    pub(crate) fn read(path: Option<&Path>) -> anyhow::Result<Self> {
        Self::read_with_text(path).map(|(config, _)| config)
    }

    /// Like `read`, and also returns the text of the file.
    pub(crate) fn read_with_text(path: Option<&Path>) -> anyhow::Result<(Self, String)> {
        let Some(path) = path else { return Ok(Default::default()) };
        let text = crate::files::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok((Self::from_file_text(path, &text)?, text))
    }

    /// Parses the text of this file.
    pub(crate) fn from_file_text(path: &Path, text: &str) -> anyhow::Result<Self> {
        let shown = path.display();
        match Self::parse(text) {
            Ok(config) => {
                let config = Self { path: Some(path.to_owned()), ..config };
                Ok(config.with_variables()?.resolve_paths(path))
            }
            Err(FileProblem { line, column, message, suggestion, .. }) => {
                let suggestion = suggestion.map(|words| format!(". {words}")).unwrap_or_default();
                bail!("{shown} is not a valid configuration: line {line}, column {column}: {message}{suggestion}")
            }
        }
    }

    /// Parses the text of a file. Errors do not quote the text, which may contain secrets.
    pub(crate) fn parse(text: &str) -> Result<Self, FileProblem> {
        let parsed = toml::from_str(text).map_err(|error| {
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
            let valid: Vec<&str> = words.collect();
            let renamed = RENAMED_KEYS.iter().find(|(old, new)| *old == wrong && valid.contains(new));
            let suggestion = match renamed {
                Some((_, new)) => Some(format!("It is called '{new}' now.")),
                None => suggest::nearest(wrong, valid)
                    .filter(|_| message.starts_with("unknown"))
                    .map(|word| format!("Did you mean '{word}'?")),
            };
            FileProblem { code, path: String::new(), line, column, message, suggestion }
        });
        // A newer file may have keys that are unknown here, so its version is the better explanation.
        match version::other_version(text) {
            Some(problem) => Err(problem),
            None => parsed,
        }
    }

    /// Resolves relative paths against the directory of the configuration.
    fn resolve_paths(mut self, path: &Path) -> Self {
        let folder = path.parent().unwrap_or(Path::new(""));
        let files = [&mut self.audit.dir, &mut self.state.dir, &mut self.state.redis_authorities];
        for file in files.into_iter().flatten() {
            *file = folder.join(&*file);
        }
        if let Some(resolved) =
            self.state.store.as_deref().and_then(|store| resolve_target(store, &self.state.variables, folder))
        {
            self.state.store = Some(resolved);
        }
        for source in &mut self.source {
            let files = [&mut source.adapter, &mut source.overrides, &mut source.cwd].into_iter().flatten();
            for file in files.chain(&mut source.overlays).chain(&mut source.file_roots) {
                *file = folder.join(&*file);
            }
            let written = source.openapi.as_deref().and_then(|written| source.variables.expand(written).ok());
            if let Some(resolved) = written.and_then(|path| resolve_path(&path, folder)) {
                source.openapi = Some(resolved);
            }
            if let Some(resolved) =
                source.target.as_deref().and_then(|target| resolve_target(target, &source.variables, folder))
            {
                source.target = Some(resolved);
            }
            // A server's arguments may contain relative paths, too.
            if source.command.is_some() && source.cwd.is_none() {
                source.cwd = std::path::absolute(path).ok().and_then(|path| path.parent().map(Path::to_owned));
            }
        }
        self
    }

    /// Reads the `env_file` and gives each section the variables that it refers to.
    fn with_variables(mut self) -> anyhow::Result<Self> {
        let Some(path) = &mut self.env_file else { return Ok(self) };
        let folder = self.path.as_deref().and_then(Path::parent).unwrap_or(Path::new(""));
        *path = folder.join(&*path);
        let variables = Variables::read(path)?;
        let state = [&self.state.store, &self.state.cursor_secret].into_iter().flatten();
        self.state.variables = variables.referenced_by(state.map(String::as_str));
        let approvals = [&self.approvals.webhook, &self.approvals.webhook_secret].into_iter().flatten();
        self.approvals.variables = variables.referenced_by(approvals.map(String::as_str));
        for source in &mut self.source {
            // A file that it names may have references of its own.
            source.variables = match source.target.is_some() || source.adapter.is_some() || source.openapi.is_some() {
                true => variables.clone(),
                false => variables.referenced_by(source.references()),
            };
        }
        Ok(self)
    }
}

/// Resolves a target that is a relative path. `None` for all other targets.
fn resolve_target(target: &str, variables: &Variables, folder: &Path) -> Option<String> {
    const FILES: [&str; 7] = [".json", ".jsonc", ".json5", ".md", ".db", ".sqlite", ".sqlite3"];
    // Targets that cannot be expanded are reported when the source is planned.
    let expanded = variables.expand(target).ok()?;
    if let Some(path) = expanded.strip_prefix(target::OPENAPI) {
        return resolve_path(path, folder).map(|found| format!("{}{found}", target::OPENAPI));
    }
    let (scheme, path) = match expanded.strip_prefix("sqlite:") {
        Some(path) => ("sqlite:", path.strip_prefix("//").unwrap_or(path)),
        None if expanded.contains("://") || !FILES.iter().any(|end| expanded.ends_with(end)) => return None,
        None => ("", expanded.as_str()),
    };
    let is_relative = !path.is_empty() && !path.starts_with(':') && Path::new(path).is_relative();
    is_relative.then(|| format!("{scheme}{}", folder.join(path).display().to_string().replace("${", "$${")))
}

/// Resolves a relative path. `None` for URLs and absolute paths.
fn resolve_path(path: &str, folder: &Path) -> Option<String> {
    let is_relative = !path.is_empty() && !is_http_url(path) && Path::new(path).is_relative();
    is_relative.then(|| folder.join(path).display().to_string().replace("${", "$${"))
}

/// Removes quoted file contents from a parser's message: `invalid type: string "…"` becomes `invalid type: string`.
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
        // A key that was never renamed is merely unknown.
        let problem = Config::parse("[surface]\nlongest = 1\n").unwrap_err();
        assert!(problem.message.starts_with("unknown field `longest`"), "{}", problem.message);
        assert!(problem.suggestion.is_none_or(|words| !words.contains("now")));
    }
}
