//! Sanitizes text from an upstream: removes secrets, stack traces and escapes, and limits its length.
//!
//! Each upstream has one [`Sanitizer`], shared by its connections. Text is cleaned before it is searched for secrets,
//! so that an invisible character inside a secret does not hide it from the search.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use aquifer_protocol::secrets::{self, REDACTED};
use aquifer_protocol::text;
use parking_lot::RwLock;
use serde_json::Value;

use crate::configured_secrets::{self, ConfiguredSecrets, MIN_SECRET_CHARS};
use crate::settings::{AllowedRequests, Settings};

/// Maximum number of characters of an upstream's text that a caller sees.
const MAX_CALLER_CHARS: usize = 2_000;

/// Maximum number of spellings of secrets stored in addition to the configured ones.
const MAX_ADDED: usize = 128;

/// Stores the secrets of an upstream, and how its names are shown.
#[derive(Clone)]
pub(crate) struct Sanitizer(Arc<Inner>);

struct Inner {
    source: Arc<str>,
    allowed: AllowedRequests,
    configured: ConfiguredSecrets,
    /// Secrets that were added later, such as renewed tokens.
    added: RwLock<Vec<String>>,
    /// Names and addresses that are shown differently from the upstream's spelling, by list.
    exact_names: RwLock<HashMap<&'static str, HashMap<String, String>>>,
    warned: OneTimeWarnings,
}

/// Warnings that are logged once for each upstream.
#[derive(Default)]
pub(crate) struct OneTimeWarnings {
    pub(crate) elicitation: AtomicBool,
    pub(crate) sampling: AtomicBool,
    pub(crate) url: AtomicBool,
    pub(crate) form: AtomicBool,
}

impl Sanitizer {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self(Arc::new(Inner {
            source: settings.name.as_str().into(),
            allowed: settings.allow,
            configured: ConfiguredSecrets::from_settings(settings),
            added: RwLock::default(),
            exact_names: RwLock::default(),
            warned: OneTimeWarnings::default(),
        }))
    }

    /// The name of the upstream.
    pub(crate) fn source(&self) -> &str {
        &self.0.source
    }

    /// The requests to clients that the operator allows.
    pub(crate) fn allowed(&self) -> AllowedRequests {
        self.0.allowed
    }

    pub(crate) fn warned(&self) -> &OneTimeWarnings {
        &self.0.warned
    }

    /// Adds a secret. If there are too many, the oldest one is dropped.
    pub(crate) fn add_secret(&self, secret: &str) {
        let mut added = self.0.added.write();
        for secret in configured_secrets::spellings(secret) {
            if secret.chars().count() >= MIN_SECRET_CHARS && !added.contains(&secret) {
                if added.len() == MAX_ADDED {
                    added.remove(0);
                }
                added.push(secret);
            }
        }
    }

    /// Text for a log: a single line.
    pub(crate) fn for_log(&self, text: &str) -> String {
        const MAX_LOG_CHARS: usize = 1_000;
        self.for_report(text).trim_end().replace('\n', " ").chars().take(MAX_LOG_CHARS).collect()
    }

    /// Text of a failure or of progress, for a caller.
    pub(crate) fn for_caller(&self, text: &str) -> String {
        truncated(without_stack_trace(&self.for_report(text)).trim(), MAX_CALLER_CHARS)
    }

    /// Descriptive text: clean and without secrets.
    pub(crate) fn presentable(&self, text: &str) -> String {
        secrets::redact(&self.without_secrets(text::clean(text).into_owned())).into_owned()
    }

    /// A name or address that callers send back: clean and without our own secrets. Parts that look like a secret stay,
    /// such as the signature in a URL.
    pub(crate) fn clean_address(&self, text: &str) -> String {
        self.without_secrets(text::clean(text).into_owned())
    }

    /// A JSON value with all strings sanitized.
    pub(crate) fn clean_json(&self, value: Value) -> Value {
        text::clean_json(value, &|text| self.presentable(text))
    }

    /// The text without configured and added secrets.
    pub(crate) fn without_secrets(&self, text: String) -> String {
        let added = self.0.added.read();
        redact_all(text, self.0.configured.secrets.iter().chain(&*added))
    }

    /// Text for an error or a log: without any configured value.
    fn for_report(&self, text: &str) -> String {
        let clean = self.without_secrets(text::clean(text).into_owned());
        secrets::redact(&redact_all(clean, &self.0.configured.values)).into_owned()
    }

    /// Remembers which names of a list are shown differently.
    pub(crate) fn remember_names(&self, list: &'static str, exact_by_shown: HashMap<String, String>) {
        self.0.exact_names.write().insert(list, exact_by_shown);
    }

    /// The upstream's spelling of a shown name.
    pub(crate) fn exact_name(&self, list: &'static str, shown: &str) -> String {
        let names = self.0.exact_names.read();
        names.get(list).and_then(|names| names.get(shown)).cloned().unwrap_or_else(|| shown.to_owned())
    }
}

/// The beginning of a text, with an ellipsis if it was cut.
pub(crate) fn truncated(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn redact_all<'a>(mut text: String, secrets: impl IntoIterator<Item = &'a String>) -> String {
    for secret in secrets {
        if text.contains(secret.as_str()) {
            text = text.replace(secret.as_str(), REDACTED);
        }
    }
    text
}

/// The text without stack traces. A Python trace ends with the one relevant line.
fn without_stack_trace(text: &str) -> String {
    let mut remaining: Vec<&str> = Vec::new();
    let mut in_python = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("Traceback (most recent call last)") {
            in_python = true;
            continue;
        }
        let indented = trimmed.len() < line.len();
        if in_python && (indented || trimmed.is_empty()) {
            continue;
        }
        in_python = false;
        let frame = indented && (trimmed.starts_with("at ") || trimmed.starts_with("File \""));
        if !frame {
            remaining.push(line);
        }
    }
    remaining.join("\n")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sanitizer() -> Sanitizer {
        let mut settings = Settings::stdio("x", "server", ["--token", "s3cret-value-of-args"]);
        if let crate::Transport::Stdio { env, .. } = &mut settings.transport {
            env.push(("KEY".to_owned(), "s3cret-value".to_owned()));
            env.push(("REGION".to_owned(), "eu-west-1".to_owned()));
        }
        Sanitizer::new(&settings)
    }

    #[test]
    fn stack_traces_secrets_and_escapes_are_removed() {
        let sanitizer = sanitizer();
        for (text, expected) in [
            ("plain", "plain"),
            ("bad s3cret-value-of-args and s3cret-value", "bad [redacted] and [redacted]"),
            ("bad s3cret\u{200b}-value, s3c\u{1b}[0mret-value", "bad [redacted], [redacted]"),
            ("Error: no\n    at run (/srv/a.js:1:2)\n    at main", "Error: no"),
            ("Traceback (most recent call last):\n  File \"a.py\", line 1\n    x()\nValueError: no", "ValueError: no"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("region eu-west-1", "region [redacted]"),
        ] {
            assert_eq!(sanitizer.for_caller(text), expected, "{text}");
        }
        assert_eq!(sanitizer.for_caller(&"x".repeat(5_000)).chars().count(), MAX_CALLER_CHARS + 1);
        assert_eq!(sanitizer.for_log("one\nforged line\r\u{1b}[2Jtwo"), "one forged line two");
        sanitizer.add_secret("renewed-token");
        assert_eq!(sanitizer.for_log("it was renewed-token"), "it was [redacted]");
        assert_eq!(sanitizer.presentable("Regions: eu-west-1, not s3cret-value"), "Regions: eu-west-1, not [redacted]");
    }

    /// Uses the same table as the audit.
    #[test]
    fn r_dis_7a_every_credential_format_is_removed_from_errors_and_logs() {
        let sanitizer = sanitizer();
        let lines = include_str!("../../aquifer-protocol/tests/data/credentials.txt").lines();
        let mut count = 0;
        for line in lines.filter(|line| !line.starts_with('#')) {
            let marked = line.split_once('\t').unwrap().1.replacen('~', "", 1).replace("\\n", "\n");
            let secret = marked.split_once('«').unwrap().1.split_once('»').unwrap().0.to_owned();
            let text = format!("it failed: {}", marked.replace(['«', '»'], ""));
            for shown in [sanitizer.for_caller(&text), sanitizer.for_log(&text), sanitizer.presentable(&text)] {
                assert!(!shown.contains(&secret) && shown.contains(REDACTED), "{line}: {shown}");
            }
            count += 1;
        }
        assert!(count >= 60, "{count}");
    }

    #[test]
    fn harmless_text_stays_in_errors_and_logs() {
        let sanitizer = sanitizer();
        for text in include_str!("../../aquifer-protocol/tests/data/innocent.txt").lines() {
            assert_eq!((sanitizer.for_caller(text).as_str(), sanitizer.for_log(text).as_str()), (text, text));
        }
    }
}
