//! What an upstream says, made fit to be shown: no secrets, no traces, no escapes, not too long.
//!
//! One [`Sanitizer`] belongs to each upstream and is shared by its connections. Text is cleaned first and searched for secrets
//! afterwards, so that a hidden character inside a secret does not hide it from the search.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, PoisonError, RwLock};

use aquifer_protocol::secrets::{self, REDACTED};
use aquifer_protocol::text;
use serde_json::Value;

use crate::configured::{self, Configured, MIN_SECRET};
use crate::settings::{Allowed, Settings};

/// The most characters of an upstream's words that a caller sees.
const MAX_COUNT: usize = 2_000;

/// Spellings of secrets that are remembered beside the configured ones.
const MAX_LEARNED: usize = 128;

/// Knows what must not be repeated, and how names are shown.
#[derive(Clone)]
pub(crate) struct Sanitizer(Arc<Inner>);

struct Inner {
    source: Arc<str>,
    allowed: Allowed,
    configured: Configured,
    /// Secrets that came later: tokens are given and renewed.
    learned: RwLock<Vec<String>>,
    /// Names and addresses that are shown otherwise than the upstream writes them, by list.
    exact_names: RwLock<HashMap<&'static str, HashMap<String, String>>>,
    explained: Explained,
}

/// What was said once in the log, for as long as the upstream is served.
#[derive(Default)]
pub(crate) struct Explained {
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
            configured: Configured::read(settings),
            learned: RwLock::default(),
            exact_names: RwLock::default(),
            explained: Explained::default(),
        }))
    }

    /// The upstream they belong to.
    pub(crate) fn source(&self) -> &str {
        &self.0.source
    }

    /// What the operator lets it ask of clients.
    pub(crate) fn allowed(&self) -> Allowed {
        self.0.allowed
    }

    pub(crate) fn explained(&self) -> &Explained {
        &self.0.explained
    }

    /// From now on this is not to be repeated either. The oldest of many are forgotten: they hold no longer.
    pub(crate) fn learn(&self, secret: &str) {
        let mut learned = self.0.learned.write().unwrap_or_else(PoisonError::into_inner);
        for secret in configured::spellings(secret) {
            if secret.chars().count() >= MIN_SECRET && !learned.contains(&secret) {
                if learned.len() == MAX_LEARNED {
                    learned.remove(0);
                }
                learned.push(secret);
            }
        }
    }

    /// The text for a log: one line.
    pub(crate) fn for_log(&self, said: &str) -> String {
        const MAX_LEN: usize = 1_000;
        self.reported(said).trim_end().replace('\n', " ").chars().take(MAX_LEN).collect()
    }

    /// The text of a failure or of progress, for a caller.
    pub(crate) fn for_caller(&self, said: &str) -> String {
        shortened(without_trace(&self.reported(said)).trim(), MAX_COUNT)
    }

    /// Text that describes something: clean and without secrets.
    pub(crate) fn presentable(&self, said: &str) -> String {
        secrets::redact(&self.without_secrets(text::clean(said).into_owned())).into_owned()
    }

    /// A name or address that leads back to something: clean and without our own secrets. What looks like a secret is
    /// part of it, as the signature of a URL is.
    pub(crate) fn address(&self, said: &str) -> String {
        self.without_secrets(text::clean(said).into_owned())
    }

    /// A JSON value with every string of it presentable.
    pub(crate) fn clean_json(&self, said: Value) -> Value {
        text::clean_json(said, &|text| self.presentable(text))
    }

    /// The text without our own secrets.
    pub(crate) fn without_secrets(&self, said: String) -> String {
        let learned = self.0.learned.read().unwrap_or_else(PoisonError::into_inner);
        without(said, self.0.configured.secrets.iter().chain(&*learned))
    }

    /// What went wrong, or is logged: without any value of the configuration.
    fn reported(&self, said: &str) -> String {
        let clean = self.without_secrets(text::clean(said).into_owned());
        secrets::redact(&without(clean, &self.0.configured.values)).into_owned()
    }

    /// Remembers which names of a list are shown otherwise than the upstream writes them.
    pub(crate) fn remember_names(&self, list: &'static str, exact_by_shown: HashMap<String, String>) {
        self.0.exact_names.write().unwrap_or_else(PoisonError::into_inner).insert(list, exact_by_shown);
    }

    /// The upstream's own name for one that was shown.
    pub(crate) fn exact_name(&self, list: &'static str, shown: &str) -> String {
        let names = self.0.exact_names.read().unwrap_or_else(PoisonError::into_inner);
        names.get(list).and_then(|names| names.get(shown)).cloned().unwrap_or_else(|| shown.to_owned())
    }
}

/// The beginning of a text, and a mark where there is more.
pub(crate) fn shortened(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

fn without<'a>(mut said: String, secrets: impl IntoIterator<Item = &'a String>) -> String {
    for secret in secrets {
        if said.contains(secret.as_str()) {
            said = said.replace(secret.as_str(), REDACTED);
        }
    }
    said
}

/// The lines that are no part of a stack trace. A Python trace ends with the one line worth reading.
fn without_trace(said: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut in_python = false;
    for line in said.lines() {
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
            kept.push(line);
        }
    }
    kept.join("\n")
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
    fn traces_secrets_and_escapes_are_left_out() {
        let sanitizer = sanitizer();
        for (said, expected) in [
            ("plain", "plain"),
            ("bad s3cret-value-of-args and s3cret-value", "bad [redacted] and [redacted]"),
            ("bad s3cret\u{200b}-value, s3c\u{1b}[0mret-value", "bad [redacted], [redacted]"),
            ("Error: no\n    at run (/srv/a.js:1:2)\n    at main", "Error: no"),
            ("Traceback (most recent call last):\n  File \"a.py\", line 1\n    x()\nValueError: no", "ValueError: no"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("region eu-west-1", "region [redacted]"),
        ] {
            assert_eq!(sanitizer.for_caller(said), expected, "{said}");
        }
        assert_eq!(sanitizer.for_caller(&"x".repeat(5_000)).chars().count(), MAX_COUNT + 1);
        assert_eq!(sanitizer.for_log("one\nforged line\r\u{1b}[2Jtwo"), "one forged line two");
        sanitizer.learn("renewed-token");
        assert_eq!(sanitizer.for_log("it was renewed-token"), "it was [redacted]");
        assert_eq!(sanitizer.presentable("Regions: eu-west-1, not s3cret-value"), "Regions: eu-west-1, not [redacted]");
    }

    /// The same table as the audit's.
    #[test]
    fn r_dis_7a_every_format_of_credentials_is_left_out_of_errors_and_logs() {
        let sanitizer = sanitizer();
        let lines = include_str!("../../aquifer-protocol/tests/data/credentials.txt").lines();
        let mut count = 0;
        for line in lines.filter(|line| !line.starts_with('#')) {
            let marked = line.split_once('\t').unwrap().1.replacen('~', "", 1).replace("\\n", "\n");
            let secret = marked.split_once('«').unwrap().1.split_once('»').unwrap().0.to_owned();
            let said = format!("it failed: {}", marked.replace(['«', '»'], ""));
            for shown in [sanitizer.for_caller(&said), sanitizer.for_log(&said), sanitizer.presentable(&said)] {
                assert!(!shown.contains(&secret) && shown.contains(REDACTED), "{line}: {shown}");
            }
            count += 1;
        }
        assert!(count >= 60, "{count}");
    }

    #[test]
    fn innocent_words_stay_in_errors_and_logs() {
        let sanitizer = sanitizer();
        for text in include_str!("../../aquifer-protocol/tests/data/innocent.txt").lines() {
            assert_eq!((sanitizer.for_caller(text).as_str(), sanitizer.for_log(text).as_str()), (text, text));
        }
    }
}
