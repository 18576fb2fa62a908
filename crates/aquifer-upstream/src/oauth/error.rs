//! Why a login failed, for the person who tries to log in.

use std::fmt;

use aquifer_discovery::text;
use aquifer_protocol::secrets::{self, REDACTED};

/// Maximum number of characters shown of a server's text.
const MAX_SERVER_TEXT_CHARS: usize = 300;

/// Why a login failed. Contains no secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginError(String);

impl LoginError {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// An error with the server's own text, sanitized.
    pub(crate) fn from_server(what: &str, text: &str, secrets: &[&str]) -> Self {
        Self(format!("{what}: {}", sanitized(text, secrets)))
    }
}

/// A server's text, shortened and without secrets.
pub(crate) fn sanitized(text: &str, secrets: &[&str]) -> String {
    // Cleaned first, so that an invisible character inside a secret does not hide it from the search.
    let mut text = text::clean(text);
    for secret in secrets.iter().filter(|secret| secret.len() >= 6) {
        text = text.replace(secret, REDACTED);
    }
    let text = secrets::redact(&text).replace(['\n', '\r'], " ");
    text.trim().chars().take(MAX_SERVER_TEXT_CHARS).collect()
}

impl fmt::Display for LoginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoginError {}
