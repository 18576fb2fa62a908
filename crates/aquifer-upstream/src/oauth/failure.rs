//! Why a login did not come about, in words for the person who tries.

use std::fmt;

use aquifer_discovery::text;
use aquifer_protocol::secrets::{self, REDACTED};

/// The most characters of what a server says that are repeated.
const MAX_COUNT: usize = 300;

/// Why a login did not come about. Holds nothing secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginFailure(String);

impl LoginFailure {
    pub(crate) fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }

    /// A failure in a server's own words, without what must not be repeated.
    pub(crate) fn said(what: &str, words: &str, secrets: &[&str]) -> Self {
        Self(format!("{what}: {}", harmless(words, secrets)))
    }
}

/// A server's words, short and clean, without what must not be repeated.
pub(crate) fn harmless(words: &str, secrets: &[&str]) -> String {
    // Cleaned first: a hidden character inside a secret must not hide it from the search.
    let mut words = text::clean(words);
    for secret in secrets.iter().filter(|secret| secret.len() >= 6) {
        words = words.replace(secret, REDACTED);
    }
    let words = secrets::redact(&words).replace(['\n', '\r'], " ");
    words.trim().chars().take(MAX_COUNT).collect()
}

impl fmt::Display for LoginFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for LoginFailure {}
