//! Removes the credentials of a target from every text about it.

use std::sync::Arc;

use aquifer_protocol::secrets::{REDACTED, redact, spellings};
use aquifer_protocol::text;
use bytes::Bytes;
use memchr::memmem;
use parking_lot::RwLock;
use serde_json::Value;

/// Shorter values are too common to be removed.
const MIN_SECRET_CHARS: usize = 4;

/// Values of this length are not ordinary words, so they are removed everywhere, unless they consist of digits.
const MIN_LONG_BYTES: usize = 8;

/// Numbers with fewer digits are too common in responses.
const MIN_DIGITS: usize = 6;

/// The maximum number of spellings that are remembered. Tokens are renewed, so the oldest spellings are dropped.
const MAX_SPELLINGS: usize = 256;

/// The maximum length of a target's text that a caller sees, in characters.
pub(super) const MAX_TEXT_CHARS: usize = 2_000;

/// The known credentials of a target. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Secrets(Arc<RwLock<Vec<Spelling>>>);

/// A spelling of a credential, and where it is removed.
#[derive(Clone, PartialEq, Eq)]
struct Spelling {
    text: String,
    extent: Extent,
    /// A sequence number in the order of insertion.
    number: u64,
}

/// Where a credential is removed from responses. Error texts lose every credential: long ones anywhere, others as
/// tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// Wherever it occurs.
    Anywhere,
    /// Where it is not adjacent to a letter or digit.
    Token,
    /// Where an entire value equals it, because it could be an ordinary word or number.
    Value,
    /// Nowhere, because it is probably not a credential.
    Nowhere,
}

impl Extent {
    fn new(text: &str) -> Self {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        let is_word = text.chars().all(char::is_alphabetic);
        match text.len() {
            MIN_DIGITS.. if is_number => Self::Token,
            _ if is_number => Self::Value,
            MIN_LONG_BYTES.. => Self::Anywhere,
            _ if is_word => Self::Value,
            _ => Self::Token,
        }
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    /// Adds a credential in the spellings in which a server may repeat it: plain, in JSON, in a URL, in base64.
    pub(super) fn add(&self, secret: &str) {
        spellings(secret).into_iter().for_each(|text| self.insert(Extent::new(&text), text));
    }

    /// Adds a value that is probably not secret, such as a version or an account. It is removed only from errors.
    pub(super) fn add_doubtful(&self, secret: &str) {
        spellings(secret).into_iter().for_each(|text| self.insert(Extent::Nowhere, text));
    }

    fn insert(&self, extent: Extent, text: String) {
        let mut known = self.0.write();
        if text.chars().count() < MIN_SECRET_CHARS {
            return;
        }
        if let Some(existing) = known.iter_mut().find(|spelling| spelling.text == text) {
            if existing.extent == Extent::Nowhere {
                existing.extent = extent;
            }
            return;
        }
        let number = known.iter().map(|spelling| spelling.number + 1).max().unwrap_or_default();
        if known.len() == MAX_SPELLINGS
            && let Some(oldest) = known.iter().enumerate().min_by_key(|(_, spelling)| spelling.number)
        {
            let index = oldest.0;
            known.remove(index);
        }
        // The longest come first, because a spelling may contain another one.
        let index = known.partition_point(|spelling| spelling.text.len() >= text.len());
        known.insert(index, Spelling { text, extent, number });
    }

    /// Prepares a text of the target for display: cleans it, removes credentials and truncates it.
    pub(super) fn presentable(&self, text: &str) -> String {
        // The cleaned part is bounded. It is longer than what is shown, because cleaning removes characters.
        let beginning: String = text.chars().take(4 * MAX_TEXT_CHARS).collect();
        let cleaned = self.remove(text::clean(&beginning).into_owned());
        truncated(redact(&cleaned).trim(), MAX_TEXT_CHARS)
    }

    /// Removes the credentials from a response body, because some targets repeat them. JSON stays valid: a number is
    /// replaced by a string. A body without credentials is returned unchanged.
    pub(super) fn remove_from_body(&self, body: Bytes) -> Bytes {
        let known = self.0.read();
        let known: Vec<&Spelling> = known.iter().filter(|spelling| spelling.extent != Extent::Nowhere).collect();
        if known.is_empty() {
            return body;
        }
        let Ok(text) = std::str::from_utf8(&body) else { return remove_from_bytes(body, &known) };
        let unescaped = with_plain_strings(text);
        let text = unescaped.as_deref().unwrap_or(text);
        let present: Vec<&Spelling> = known.into_iter().filter(|spelling| text.contains(&*spelling.text)).collect();
        if present.is_empty() {
            return body;
        }
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        let mut text = text.to_owned();
        for Spelling { text: secret, extent, .. } in present {
            text = match extent {
                Extent::Anywhere => text.replace(secret.as_str(), REDACTED),
                Extent::Token => replace_where(&text, secret, is_json, is_token),
                Extent::Value if is_json => replace_where(&text, secret, is_json, is_json_value),
                Extent::Value if text.trim() == secret => REDACTED.to_owned(),
                Extent::Value | Extent::Nowhere => text,
            };
        }
        text.into()
    }

    /// Removes the known credentials from a text.
    pub(super) fn remove(&self, mut text: String) -> String {
        let known = self.0.read();
        for Spelling { text: secret, extent, .. } in known.iter() {
            if text.contains(secret) {
                text = match extent {
                    Extent::Anywhere => text.replace(secret, REDACTED),
                    _ => replace_where(&text, secret, false, is_token),
                };
            }
        }
        text
    }
}

/// Rewrites JSON without unnecessary escapes: `\/` and `\u002f` would hide a credential that contains a slash. `None`
/// if the text has no such escapes or is not JSON.
fn with_plain_strings(text: &str) -> Option<String> {
    let may_hide = ["\\/", "\\u"].iter().any(|escape| text.contains(escape));
    let value: Value = may_hide.then(|| serde_json::from_str(text).ok()).flatten()?;
    Some(value.to_string())
}

/// Removes long credentials from bytes that are not text.
fn remove_from_bytes(mut body: Bytes, known: &[&Spelling]) -> Bytes {
    for secret in known.iter().filter(|spelling| spelling.extent == Extent::Anywhere) {
        let secret = secret.text.as_bytes();
        if memmem::find(&body, secret).is_none() {
            continue;
        }
        let mut clean = Vec::with_capacity(body.len());
        let mut start = 0;
        for position in memmem::find_iter(&body, secret) {
            clean.extend_from_slice(body.get(start..position).unwrap_or_default());
            clean.extend_from_slice(REDACTED.as_bytes());
            start = position + secret.len();
        }
        clean.extend_from_slice(body.get(start..).unwrap_or_default());
        body = clean.into();
    }
    body
}

/// Replaces a secret wherever `is_removed` accepts the text before and after it. JSON numbers become strings.
fn replace_where(text: &str, secret: &str, is_json: bool, is_removed: fn(&str, &str) -> bool) -> String {
    let mut replaced = String::with_capacity(text.len());
    let (mut rest, mut position, mut quotes) = (text, 0, Quotes::default());
    while let Some((before, after)) = rest.split_once(secret) {
        replaced.push_str(before);
        if is_json {
            quotes.read(before);
        }
        position += before.len();
        let text_before = text.get(..position).unwrap_or_default();
        match is_removed(text_before, after) {
            true if is_json && !quotes.are_open => replaced.extend(["\"", REDACTED, "\""]),
            true => replaced.push_str(REDACTED),
            false => replaced.push_str(secret),
        }
        if is_json {
            quotes.read(secret);
        }
        position += secret.len();
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

/// Tracks whether a position in JSON is inside a string.
#[derive(Default)]
struct Quotes {
    are_open: bool,
    is_escaped: bool,
}

impl Quotes {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' if self.are_open => self.is_escaped = true,
                b'"' => self.are_open = !self.are_open,
                _ => {}
            }
        }
    }
}

/// Whether no letter, digit or underscore is adjacent, so that the text is not part of something longer.
fn is_token(before: &str, after: &str) -> bool {
    let is_word_character = |c: char| c.is_alphanumeric() || c == '_';
    // 123456.7 and -123456 are different numbers.
    let is_joined_after = |text: &str| {
        let mut characters = text.chars();
        characters.next() == Some('.') && characters.next().is_some_and(|c| c.is_ascii_digit())
    };
    let is_joined_before = |text: &str| {
        let mut characters = text.chars().rev();
        match characters.next() {
            Some('.') => characters.next().is_some_and(|c| c.is_ascii_digit()),
            Some('-') => characters.next().is_none_or(|c| !c.is_alphanumeric() && c != '"'),
            Some(c) => is_word_character(c),
            None => false,
        }
    };
    !is_joined_before(before) && !after.starts_with(is_word_character) && !is_joined_after(after)
}

/// Whether the text is an entire JSON string, and not a member name.
fn is_json_value(before: &str, after: &str) -> bool {
    let is_string = before.ends_with('"') && !before.ends_with("\\\"");
    let after = if is_string { after.strip_prefix('"') } else { None };
    after.is_some_and(|after| !after.trim_start().starts_with(':'))
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
    fn responses_lose_credentials_and_are_otherwise_unchanged() {
        let secrets = Secrets::default();
        for secret in ["a-long-secret", "a-long-secret-and-more", "short", "1234567890", "4711", "x9-b", "admin"] {
            secrets.add(secret);
        }
        secrets.add_doubtful("2024-01-01-version");
        secrets.add_doubtful("plain");
        secrets.add_doubtful("777888999");
        let removed = |body: &str| secrets.remove_from_body(Bytes::from(body.to_owned()));
        for (body, expected) in [
            (r#"{"you":"a-long-secret-and-more"}"#, r#"{"you":"[redacted]"}"#),
            (r#"{"you":"xa-long-secretx"}"#, r#"{"you":"x[redacted]x"}"#),
            // JSON with numbers stays valid.
            (r#"{"number":1234567890}"#, r#"{"number":"[redacted]"}"#),
            (r#"[1234567890,"no. 1234567890!"]"#, r#"["[redacted]","no. [redacted]!"]"#),
            ("1234567890", "\"[redacted]\""),
            ("pin 1234567890", "pin [redacted]"),
            (r#"{"pin":"4711","count":4711}"#, r#"{"pin":"[redacted]","count":4711}"#),
            (r#"{"a":"short","short":"too short"}"#, r#"{"a":"[redacted]","short":"too short"}"#),
            (r#"{"a":"key x9-b."}"#, r#"{"a":"key [redacted]."}"#),
            (r#"{"quoted":"\"1234567890\\"}"#, r#"{"quoted":"\"[redacted]\\"}"#),
            ("short", "[redacted]"),
        ] {
            assert_eq!(removed(body), expected, "{body}");
            assert_eq!(
                serde_json::from_str::<serde_json::Value>(body).is_ok(),
                serde_json::from_slice::<serde_json::Value>(&removed(body)).is_ok(),
                "{body}"
            );
        }
        for kept in [
            r#"{"a":"b"}"#,
            r#"{"short":1,"a":"shorter","b":"in short"}"#,
            r#"[12345678901,1234567890.5,-1234567890,0.1234567890,"a1234567890","1234567890b","1234567890_1"]"#,
            r#"{"a":"x9-bc","b":"ax9-b"}"#,
            r#"{"role" : "admin1"}"#,
            r#"{"a":"plain","account":777888999,"version":"2024-01-01-version"}"#,
            "the short way to 4711",
        ] {
            assert_eq!(removed(kept), kept);
        }
        let binary = Bytes::from_static(b"\xffa-long-secret\xff");
        assert_eq!(secrets.remove_from_body(binary), b"\xff[redacted]\xff".as_slice());
        secrets.add("with/a/slash");
        for escaped in [r#"{"key":"with\/a\/slash"}"#, r#"{"key":"with\u002fa/slash"}"#] {
            assert_eq!(removed(escaped), r#"{"key":"[redacted]"}"#, "{escaped}");
        }
        let harmless = r#"{"path": "a\/b", "n": 1.0}"#;
        assert_eq!(removed(harmless), harmless, "the spelling stays too");
    }

    #[test]
    fn errors_lose_short_credentials_that_are_separate_tokens() {
        let secrets = Secrets::default();
        ["4711", "short", "abc"].iter().for_each(|secret| secrets.add(secret));
        secrets.add_doubtful("2024");
        assert_eq!(secrets.presentable("pin 4711, not 47110 or 14711"), "pin [redacted], not 47110 or 14711");
        assert_eq!(secrets.presentable("short: too shortened"), "[redacted]: too shortened");
        assert_eq!(secrets.presentable("abc is too short to matter"), "abc is too [redacted] to matter");
        assert_eq!(secrets.presentable("key=2024"), "key=[redacted]");
    }
}
