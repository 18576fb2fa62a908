//! The credentials of a target, which are removed from every text about it.

use std::sync::{Arc, PoisonError, RwLock};

use aquifer_protocol::secrets::{REDACTED, redact};
use aquifer_protocol::text;
use base64::Engine as _;
use bytes::Bytes;

/// Shorter values are too common to be removed everywhere.
const MIN_SECRET_CHARS: usize = 4;

/// The same for answers, whose content matters more.
const MIN_SECRET_BYTES_IN_ANSWERS: usize = 8;

/// Spellings of secrets that are remembered. Tokens are renewed, and the oldest ones are dropped.
const MAX_SPELLINGS: usize = 256;

/// Characters of a target's text that a caller sees.
pub(super) const MAX_TEXT_CHARS: usize = 2_000;

/// Knows the credentials of a target. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Secrets(Arc<RwLock<Vec<String>>>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Adds a credential in the spellings in which a server may repeat it: plain, in JSON, in a URL, in base64.
    pub(super) fn add(&self, secret: &str) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for spelling in spellings(secret) {
            if spelling.chars().count() < MIN_SECRET_CHARS || known.contains(&spelling) {
                continue;
            }
            if known.len() == MAX_SPELLINGS {
                known.remove(0);
            }
            known.push(spelling);
        }
    }

    /// A text of the target: clean, without credentials, and bounded.
    pub(super) fn presentable(&self, text: &str) -> String {
        // A bounded part is cleaned. It is longer than what is shown, because cleaning removes characters.
        let beginning: String = text.chars().take(4 * MAX_TEXT_CHARS).collect();
        let cleaned = self.remove(text::clean(&beginning).into_owned());
        truncated(redact(&cleaned).trim(), MAX_TEXT_CHARS)
    }

    /// An answer without the credentials, which some targets repeat. Only text is searched, and no numbers: they may be
    /// outside of the strings of JSON.
    pub(super) fn remove_from_answer(&self, body: Bytes) -> Bytes {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let is_removed = |secret: &&String| {
            secret.len() >= MIN_SECRET_BYTES_IN_ANSWERS && !secret.bytes().all(|byte| byte.is_ascii_digit())
        };
        let Ok(text) = std::str::from_utf8(&body) else { return body };
        if !known.iter().filter(is_removed).any(|secret| text.contains(secret.as_str())) {
            return body;
        }
        let mut removed: Vec<&String> = known.iter().filter(is_removed).collect();
        removed.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let text = removed.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), REDACTED));
        text.into()
    }

    /// The text without the known credentials.
    pub(super) fn remove(&self, mut text: String) -> String {
        let mut known = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        // Longest first, because one may contain another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        for secret in known.iter().filter(|secret| !secret.is_empty()) {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), REDACTED);
            }
        }
        text
    }
}

fn spellings(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let in_url: String = secret
        .bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let base64 = base64::engine::general_purpose::STANDARD_NO_PAD.encode(secret);
    vec![secret.to_owned(), json.trim_matches('"').to_owned(), in_url, base64]
}

fn truncated(text: &str, max: usize) -> String {
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_removed_in_every_spelling() {
        let secrets = Secrets::default();
        secrets.add("s3cret/+\"value");
        secrets.add("s3cret");
        for text in [
            "key s3cret/+\"value!",
            "key s3cret/+\\\"value!",
            "key s3cret%2F%2B%22value!",
            "key czNjcmV0LysidmFsdWU!",
            "key s3c\u{200b}ret/+\"val\u{1b}[0mue!",
        ] {
            assert_eq!(secrets.presentable(text), "key [redacted]!", "{text}");
        }
        assert_eq!(secrets.presentable(&"x".repeat(5_000)).chars().count(), MAX_TEXT_CHARS + 1);
        assert_eq!(format!("{secrets:?}"), "Secrets");
    }

    #[test]
    fn answers_lose_credentials_and_stay_as_they_are_otherwise() {
        let secrets = Secrets::default();
        secrets.add("a-long-secret");
        secrets.add("a-long-secret-and-more");
        secrets.add("short");
        secrets.add("1234567890");
        let removed = |body: &'static str| secrets.remove_from_answer(Bytes::from_static(body.as_bytes()));
        assert_eq!(removed("{\"you\":\"a-long-secret-and-more\"}"), "{\"you\":\"[redacted]\"}");
        for kept in ["{\"a\":\"short\"}", "{\"number\":1234567890}", "{\"a\":\"b\"}"] {
            assert_eq!(removed(kept), kept);
        }
        let binary = Bytes::from_static(b"\xffa-long-secret");
        assert_eq!(secrets.remove_from_answer(binary.clone()), binary);
    }
}
