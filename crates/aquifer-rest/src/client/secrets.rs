//! The credentials of a target, which are removed from every text about it.

use std::sync::{Arc, PoisonError, RwLock};

use aquifer_protocol::secrets::{REDACTED, redact};
use aquifer_protocol::text;
use base64::Engine as _;
use bytes::Bytes;
use memchr::memmem;
use serde_json::Value;

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

    /// An answer without the credentials, which some targets repeat. An answer without any is returned as it is.
    pub(super) fn remove_from_answer(&self, body: Bytes) -> Bytes {
        let mut secrets: Vec<String> = {
            let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
            known.iter().filter(|secret| is_removed_from_answers(secret)).cloned().collect()
        };
        if secrets.is_empty() {
            return body;
        }
        // Longest first, because one may contain another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        if let Some(mut value) = repeated_with_escapes(&body, &secrets) {
            remove_long(&mut value, &secrets);
            return value.to_string().into();
        }
        let mut found = body;
        for secret in &secrets {
            if memmem::find(&found, secret.as_bytes()).is_some() {
                found = replaced(&found, secret.as_bytes()).into();
            }
        }
        found
    }

    /// Removes the credentials from all strings of a value.
    pub(super) fn remove_from_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.remove(std::mem::take(text)),
            Value::Array(items) => items.iter_mut().for_each(|item| self.remove_from_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.remove_from_value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
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

/// Whether a credential is removed from answers, whose content matters more than that of errors. Numbers are not: they may
/// be outside of the strings of JSON.
fn is_removed_from_answers(secret: &str) -> bool {
    secret.len() >= MIN_SECRET_BYTES_IN_ANSWERS && !secret.bytes().all(|byte| byte.is_ascii_digit())
}

/// The value of a JSON text that holds a secret with escapes, such as `\/` for `/`, so that its bytes differ.
fn repeated_with_escapes(body: &[u8], secrets: &[String]) -> Option<Value> {
    memmem::find(body, b"\\")?;
    let value: Value = serde_json::from_slice(body).ok()?;
    holds(&value, secrets).then_some(value)
}

fn holds(value: &Value, secrets: &[String]) -> bool {
    match value {
        Value::String(text) => secrets.iter().any(|secret| text.contains(secret.as_str())),
        Value::Array(items) => items.iter().any(|item| holds(item, secrets)),
        Value::Object(fields) => fields
            .iter()
            .any(|(name, field)| secrets.iter().any(|secret| name.contains(secret.as_str())) || holds(field, secrets)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Removes secrets from the strings of a value and from the names of its fields.
fn remove_long(value: &mut Value, secrets: &[String]) {
    let clean = |text: &str| secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED));
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(items) => items.iter_mut().for_each(|item| remove_long(item, secrets)),
        Value::Object(fields) => {
            for (name, mut field) in std::mem::take(fields) {
                remove_long(&mut field, secrets);
                fields.insert(clean(&name), field);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// The bytes with something else in the place of a secret.
fn replaced(bytes: &[u8], secret: &[u8]) -> Vec<u8> {
    let mut clean = Vec::with_capacity(bytes.len());
    let mut start = 0;
    for found in memmem::find_iter(bytes, secret) {
        clean.extend_from_slice(bytes.get(start..found).unwrap_or_default());
        clean.extend_from_slice(REDACTED.as_bytes());
        start = found + secret.len();
    }
    clean.extend_from_slice(bytes.get(start..).unwrap_or_default());
    clean
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
        let binary = Bytes::from_static(b"\xffa-long-secret\xff");
        assert_eq!(secrets.remove_from_answer(binary), b"\xff[redacted]\xff".as_slice());
        secrets.add("with/a/slash");
        for escaped in [r#"{"key":"with\/a\/slash"}"#, r#"{"key":"with\u002fa/slash"}"#] {
            assert_eq!(secrets.remove_from_answer(escaped.into()), r#"{"key":"[redacted]"}"#, "{escaped}");
        }
        let harmless = r#"{"path": "a\/b", "n": 1e400}"#;
        assert_eq!(removed(harmless), harmless, "also the way it is written");
    }
}
