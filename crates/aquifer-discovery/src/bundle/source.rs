//! Where a capture was made: the upstream, its transport and its authentication.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::redact;
use crate::text::presentable;

/// Where a capture was made. Contains no secrets: see [`crate::redact`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The name of the upstream.
    pub name: String,
    /// Its URL without secrets; `stdio:NAME` for a child process.
    pub server_url: String,
    /// The transport.
    pub transport: Transport,
    /// The time of the capture, ISO 8601 in UTC.
    pub captured_at: String,
    /// The identity that the upstream reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerIdentity>,
    /// How the connection was authenticated.
    pub auth: Auth,
    /// The configuration, redacted.
    pub capture_config_redacted: Map<String, Value>,
}

impl Source {
    /// The source without values that may be secret.
    pub(crate) fn redacted(mut self) -> Self {
        self.server_url = redact::url(&self.server_url);
        let auth = &mut self.auth;
        auth.token_env =
            auth.token_env.take().filter(|name| redact::is_variable_name(name) && !redact::looks_secret(name));
        auth.prefix = auth.prefix.take().filter(|prefix| !redact::looks_secret(prefix) && prefix.len() <= 16);
        auth.header = auth.header.take().filter(|header| !header.contains(':') && !redact::looks_secret(header));
        auth.token_command = auth.token_command.take().map(|command| {
            let words: Vec<&str> = command.split_whitespace().collect();
            redact::arguments(&words).join(" ")
        });
        self.capture_config_redacted = redact::captured_configuration(self.capture_config_redacted);
        self
    }
}

/// The transport of an upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// Over HTTP, the only transport in the published schema.
    StreamableHttp,
    /// A child process. This is our extension.
    Stdio,
}

/// The identity that an upstream reports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerIdentity {
    /// Its name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub name: Option<String>,
    /// Its version.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub version: Option<String>,
    /// Its display name.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub title: Option<String>,
}

impl ServerIdentity {
    /// Reads the identity from `serverInfo`, cleaned. Fields that bundles do not have are dropped.
    pub fn read(server_info: &Value) -> Self {
        let text = |key: &str| server_info.get(key).and_then(Value::as_str).map(presentable);
        Self { name: text("name"), version: text("version"), title: text("title") }
    }
}

/// How the connection to an upstream was authenticated. Contains names, but no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// The kind of authentication.
    #[serde(rename = "type")]
    pub kind: AuthKind,
    /// The header that carried the credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub header: Option<String>,
    /// The text before the credential.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub prefix: Option<String>,
    /// The environment variable that holds it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token_env: Option<String>,
    /// The program that prints it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub token_command: Option<String>,
}

/// The kind of authentication. A credential in another header is `bearer` with that header and no prefix, because the
/// published schema has no other value for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthKind {
    /// A credential in a header.
    Bearer,
    /// No authentication.
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
