//! Finds values that only their name marks as secret: `password=…`, `"api_key": "…"`, `Authorization: …`, `--token …`,
//! `<password>…</password>`.

use std::ops::Range;

use super::begins_word;
use super::names::names_secret;

/// The maximum length of a name.
const MAX_NAME: usize = 64;
/// Maximum number of blanks between a name, its separator and its value.
const MAX_BLANKS: usize = 3;
/// Maximum number of bytes of a value that are examined, so that the search stays linear.
const MAX_EXAMINED_BYTES: usize = 128;

/// The kind of the secrets found here.
const KIND: &str = "value named as a secret";

/// Whether a separator may begin with these two bytes.
pub(super) fn may_begin(byte: u8, next: u8) -> bool {
    matches!((byte, next), (b'=' | b':' | b'>', _) | (b'%', b'3') | (b'-', b'-'))
}

/// The value after the separator at this byte, if the name before it denotes a secret.
pub(super) fn value_at(text: &str, position: usize, byte: u8) -> Option<(Range<usize>, &'static str)> {
    let rest = text.as_bytes().get(position + 1..).unwrap_or_default();
    match (byte, rest) {
        (b'=', [b'=', ..]) => None,
        (b'=', [b'>', ..]) => assigned(text, position, Separator::Arrow),
        (b'=', _) => assigned(text, position, Separator::Equals),
        // The same, inside a URL-encoded URL.
        (b'%', [b'3', b'D' | b'd', ..]) => assigned(text, position, Separator::EncodedEquals),
        (b':', [b':' | b'=' | b'/', ..]) => None,
        (b':', _) => assigned(text, position, Separator::Colon),
        (b'>', _) => element(text, position),
        (b'-', [b'-', ..]) => option(text, position),
        _ => None,
    }
}

/// The separator between a name and its value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Separator {
    Equals,
    EncodedEquals,
    Colon,
    Arrow,
}

impl Separator {
    fn length(self) -> usize {
        match self {
            Separator::Equals | Separator::Colon => 1,
            Separator::Arrow => 2,
            Separator::EncodedEquals => 3,
        }
    }
}

fn assigned(text: &str, position: usize, separator: Separator) -> Option<(Range<usize>, &'static str)> {
    let name = Name::before(text, position)?;
    let value = Value::after(text, position + separator.length())?;
    if is_placeholder(value.sample) {
        return None;
    }
    if is_signature(name.text, text, position) {
        return (separator == Separator::Equals && value.sample.len() >= 16)
            .then(|| (value.range(), "signature of a URL"));
    }
    let is_prose = separator == Separator::Colon && !name.is_quoted;
    if !names_secret(if is_prose { name.with_word_before } else { name.text }) {
        return None;
    }
    let is_whole_line = separator == Separator::Colon && value.quote.is_none() && is_header(name.text);
    let is_given = match separator {
        Separator::Equals | Separator::EncodedEquals => true,
        _ if value.quote.is_some() => true,
        // In many languages, an arrow after a name starts a function.
        Separator::Arrow => false,
        Separator::Colon if is_whole_line => {
            value.line.split_whitespace().any(|word| word.len() >= 16 || is_unlike_a_word(word))
        }
        Separator::Colon => is_unlike_a_word(value.sample) || value.is_alone_on_its_line(),
    };
    let range = match separator {
        _ if is_whole_line => value.line_range(),
        Separator::EncodedEquals => value.encoded_range(),
        _ => value.range(),
    };
    is_given.then_some((range, KIND))
}

/// The text of `<password>…</password>`.
fn element(text: &str, position: usize) -> Option<(Range<usize>, &'static str)> {
    const MAX_TEXT: usize = 512;
    let name = Name::before(text, position)?;
    let opens = position.checked_sub(name.text.len() + 1).and_then(|index| text.as_bytes().get(index)) == Some(&b'<');
    if !opens || !names_secret(name.text) {
        return None;
    }
    let rest = text.get(position + 1..)?;
    let length = rest.bytes().take(MAX_TEXT).take_while(|byte| *byte != b'<').count();
    let closes = rest.get(length..)?.strip_prefix("</")?.starts_with(name.text);
    let is_given = closes && !is_placeholder(rest.get(..length)?);
    is_given.then(|| (position + 1..position + 1 + length, KIND))
}

/// The value of `--password …` on a command line.
fn option(text: &str, position: usize) -> Option<(Range<usize>, &'static str)> {
    let bytes = text.as_bytes();
    let is_name = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let length = bytes.get(position + 2..)?.iter().take(MAX_NAME).take_while(is_name).count();
    let end = position + 2 + length;
    if bytes.get(end) != Some(&b' ') || !begins_word(bytes, position) || !names_secret(text.get(position + 2..end)?) {
        return None;
    }
    let value = Value::after(text, end)?;
    let is_given = value.quote.is_some() || is_unlike_a_word(value.sample);
    (is_given && !is_placeholder(value.sample)).then(|| (value.range(), KIND))
}

/// Whether a value is a placeholder or states that there is none.
pub(super) fn is_placeholder(value: &str) -> bool {
    const WORDS: &[&str] =
        &["null", "none", "nil", "true", "false", "undefined", "string", "required", "optional", "redacted", "hidden"];
    let value = value.trim();
    let body = value.trim_end_matches(['.', ',', ')', '}', ']', '>']);
    let is_variable = |name: &str| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let is_word = |name: &str| name.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | ' '));
    value.is_empty()
        || value.starts_with(['<', '[', '…'])
        || ["${", "$(", "{{", "%(", "%{", "...", "your-", "your_"].iter().any(|begin| value.starts_with(begin))
        || value.strip_prefix('{').and_then(|rest| rest.split_once('}')).is_some_and(|(name, _)| is_word(name))
        || matches!(value, "%s" | "%v" | "?")
        || body.strip_prefix('$').is_some_and(is_variable)
        || body.is_empty()
        || body.chars().all(|c| matches!(c, '*' | '•' | 'x' | 'X' | '.'))
        || WORDS.iter().any(|word| body.eq_ignore_ascii_case(word))
}

/// Whether a value looks like a password rather than a word.
fn is_unlike_a_word(value: &str) -> bool {
    const WORDS: &[&str] =
        &["base64", "sha256", "sha512", "oauth2", "utf-8", "http/1.1", "ed25519", "rsa2048", "bcrypt12"];
    let value = value.trim_end_matches(['.', ',', ')']);
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    value.len() >= 6
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && !WORDS.iter().any(|word| value.eq_ignore_ascii_case(word))
}

/// Whether the value of a header extends to the end of the line.
fn is_header(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie", "set-cookie"]
        .iter()
        .any(|header| name.eq_ignore_ascii_case(header))
}

/// Whether it is a signature in the query of a URL, which authorizes anyone who has the URL.
fn is_signature(name: &str, text: &str, separator: usize) -> bool {
    let before = separator.checked_sub(name.len() + 1).and_then(|index| text.as_bytes().get(index));
    let names = ["sig", "signature", "x-amz-signature", "x-goog-signature", "hmac"];
    matches!(before, Some(b'?' | b'&')) && names.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// The name before a separator.
struct Name<'t> {
    text: &'t str,
    /// The name together with the word before it: `API key`.
    with_word_before: &'t str,
    is_quoted: bool,
}

impl<'t> Name<'t> {
    fn before(text: &'t str, separator: usize) -> Option<Self> {
        let bytes = text.get(..separator)?.as_bytes();
        let back = |end: usize, max: usize, holds: fn(u8) -> bool| {
            let head = bytes.get(..end).unwrap_or_default();
            end - head.iter().rev().take(max).take_while(|byte| holds(**byte)).count()
        };
        let is_blank = |byte: u8| byte == b' ' || byte == b':';
        let mut end = back(separator, MAX_BLANKS, is_blank);
        let unquoted = back(end, 1, |byte| matches!(byte, b'"' | b'\'' | b'`'));
        let is_quoted = unquoted < end;
        end = unquoted;
        if is_quoted {
            // An escaped quote.
            end = back(end, MAX_BLANKS, |byte| byte == b'\\');
        }
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
        let start = back(end, MAX_NAME, is_name);
        let blank = back(start, 1, |byte| byte == b' ');
        let word = if blank < start { back(blank, MAX_NAME, is_name) } else { start };
        let name = text.get(start..end).filter(|name| !name.is_empty())?;
        Some(Self { text: name, with_word_before: text.get(word..end)?, is_quoted })
    }
}

/// The value after a separator.
struct Value<'t> {
    text: &'t str,
    start: usize,
    quote: Option<&'static str>,
    /// The beginning of the value.
    sample: &'t str,
    /// The beginning of the value's line.
    line: &'t str,
}

impl<'t> Value<'t> {
    fn after(text: &'t str, from: usize) -> Option<Self> {
        let rest = text.get(from..)?;
        let blanks = rest.bytes().take(MAX_BLANKS).take_while(|byte| *byte == b' ').count();
        let rest = rest.get(blanks..)?;
        let quote = ["\\\"", "\"", "'", "`"].into_iter().find(|quote| rest.starts_with(quote));
        let start = from + blanks + quote.map_or(0, str::len);
        let mut value = Self { text, start, quote, sample: "", line: "" };
        value.sample = text.get(start..value.end_within(MAX_EXAMINED_BYTES))?;
        value.line = text.get(start..value.line_end_within(MAX_EXAMINED_BYTES))?;
        (!value.sample.is_empty()).then_some(value)
    }

    /// Whether it is a single word at the end of a line: `password: swordfish`, but not `password: the new one`.
    fn is_alone_on_its_line(&self) -> bool {
        const WORDS: &[&str] = &[
            "text",
            "str",
            "yes",
            "no",
            "any",
            "bearer",
            "basic",
            "oauth",
            "oauth2",
            "jwt",
            "apikey",
            "api-key",
            "api_key",
            "token",
            "password",
            "key",
            "session",
            "missing",
            "invalid",
            "expired",
            "unknown",
            "wrong",
            "incorrect",
            "rejected",
            "denied",
        ];
        let word = self.sample.trim_end_matches(['.', ',', ')', '}', ']', '>', '!', '?']);
        let rest = self.line.get(self.sample.len()..).unwrap_or_default();
        let ends =
            rest.trim().is_empty() || self.sample.ends_with([',', ')', '}', ']']) || rest.starts_with([';', '&']);
        word.len() >= 4 && ends && !WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
    }

    fn range(&self) -> Range<usize> {
        let end = self.end_within(usize::MAX);
        if self.quote.is_some() || !self.text.get(self.start..end).is_some_and(is_auth_scheme) {
            return self.start..end;
        }
        // In `authorization=Bearer …`, the credential is the next word.
        let rest = self.text.get(end..).unwrap_or_default();
        let blanks = rest.bytes().take(MAX_BLANKS).take_while(|byte| *byte == b' ').count();
        let next = Self { start: end + blanks, ..*self };
        self.start..next.end_within(usize::MAX)
    }

    /// The range of the value inside a URL-encoded URL, which also ends at an encoded `&`.
    fn encoded_range(&self) -> Range<usize> {
        let Range { start, end } = self.range();
        let value = self.text.get(start..end).unwrap_or_default();
        start..value.find("%26").map_or(end, |length| start + length)
    }

    fn line_range(&self) -> Range<usize> {
        self.start..self.line_end_within(usize::MAX)
    }

    fn end_within(&self, max: usize) -> usize {
        match self.quote {
            Some(quote) => self.find(max, |rest| rest.starts_with(quote.as_bytes()) || rest.starts_with(b"\n")),
            None => self.find(max, |rest| {
                rest.first().is_some_and(|byte| byte.is_ascii_whitespace() || b"&;\"'`\\".contains(byte))
            }),
        }
    }

    fn line_end_within(&self, max: usize) -> usize {
        self.find(max, |rest| rest.first().is_some_and(|byte| b"\n\r\"'`\\".contains(byte)))
    }

    /// The first position at which the value ends, on a character boundary.
    fn find(&self, max: usize, ends: impl Fn(&[u8]) -> bool) -> usize {
        let bytes = self.text.as_bytes();
        let last = self.start.saturating_add(max).min(bytes.len());
        let found = (self.start..last).find(|index| bytes.get(*index..).is_some_and(&ends));
        let mut end = found.unwrap_or(last);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        end
    }
}
/// Whether a word is an authentication scheme before a credential.
pub fn is_auth_scheme(word: &str) -> bool {
    ["bearer", "basic", "token", "apikey", "digest"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}
