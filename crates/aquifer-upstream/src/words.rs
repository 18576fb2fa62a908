//! What an upstream says, made fit to be shown: no secrets of ours, no traces, no escapes, not too long.

use std::sync::{Arc, PoisonError, RwLock};

use aquifer_discovery::redact::REDACTED;
use aquifer_discovery::text;

use crate::settings::Settings;

/// The most characters of an upstream's words that a caller sees.
const MOST: usize = 2_000;

/// Shorter values are too common to be taken out wherever they stand.
const SHORTEST_SECRET: usize = 6;

/// Knows the secrets that must not be repeated.
#[derive(Clone)]
pub(crate) struct Words {
    secrets: Vec<String>,
    /// Those that came later: tokens are given and renewed.
    learned: Arc<RwLock<Vec<String>>>,
}

impl Words {
    pub(crate) fn new(settings: &Settings) -> Self {
        let mut secrets: Vec<String> = settings
            .secrets()
            .into_iter()
            .filter(|secret| secret.chars().count() >= SHORTEST_SECRET)
            .map(str::to_owned)
            .collect();
        // One may be part of another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Self { secrets, learned: Arc::default() }
    }

    /// From now on this is not to be repeated either. The oldest of many are forgotten: they hold no longer.
    pub(crate) fn learn(&self, secret: &str) {
        const MOST: usize = 32;
        let mut learned = self.learned.write().unwrap_or_else(PoisonError::into_inner);
        if secret.chars().count() >= SHORTEST_SECRET && !learned.iter().any(|known| known == secret) {
            if learned.len() == MOST {
                learned.remove(0);
            }
            learned.push(secret.to_owned());
        }
    }

    /// The text for a log: one line's worth, clean.
    pub(crate) fn for_log(&self, said: &str) -> String {
        const LONGEST: usize = 1_000;
        text::clean(&self.without_secrets(said)).trim_end().chars().take(LONGEST).collect()
    }

    /// The text for a caller.
    pub(crate) fn for_caller(&self, said: &str) -> String {
        let clean = text::clean(&self.without_secrets(said));
        let kept = without_trace(&clean);
        let mut short: String = kept.trim().chars().take(MOST).collect();
        if kept.trim().chars().nth(MOST).is_some() {
            short.push('…');
        }
        short
    }

    fn without_secrets(&self, said: &str) -> String {
        let mut said = said.to_owned();
        let learned = self.learned.read().unwrap_or_else(PoisonError::into_inner);
        for secret in self.secrets.iter().chain(&*learned) {
            if said.contains(secret.as_str()) {
                said = said.replace(secret.as_str(), REDACTED);
            }
        }
        said
    }
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
mod tests {
    use super::*;

    #[test]
    fn traces_secrets_and_escapes_are_left_out() {
        let mut settings = Settings::stdio("x", "server", ["--token", "s3cret-value-of-args"]);
        if let crate::Transport::Stdio { env, .. } = &mut settings.transport {
            env.push(("KEY".to_owned(), "s3cret-value".to_owned()));
        }
        let words = Words::new(&settings);
        for (said, expected) in [
            ("plain", "plain"),
            ("bad s3cret-value-of-args and s3cret-value", "bad [redacted] and [redacted]"),
            ("Error: no\n    at run (/srv/a.js:1:2)\n    at main", "Error: no"),
            ("Traceback (most recent call last):\n  File \"a.py\", line 1\n    x()\nValueError: no", "ValueError: no"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
        ] {
            assert_eq!(words.for_caller(said), expected, "{said}");
        }
        assert_eq!(words.for_caller(&"x".repeat(5_000)).chars().count(), MOST + 1);
    }
}
