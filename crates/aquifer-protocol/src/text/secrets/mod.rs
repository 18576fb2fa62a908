//! Credentials: the only list of their formats and names in the project.
//!
//! A credential is recognised by its format (`ghp_…`, a private key, the password in a URL) or by the name beside it
//! (`password=…`, `"apiKey": "…"`). Formats are a table (`formats.rs`). Minimum lengths and character classes exclude
//! ordinary words such as `sk-learn`. The search takes time linear in the length of any text, because every lookahead
//! is bounded.
//!
//! Only unencoded credentials are recognised. A server that wants to leak a credential can encode it, which no search
//! can prevent.

mod assigned;
mod formats;
mod name_words;
mod names;
mod shapes;
mod spellings;

use std::borrow::Cow;
use std::ops::Range;

pub use assigned::is_auth_scheme;
pub use names::SecretKind;
pub use names::is_secret_form;
pub use names::may_name_secret;
pub use names::names_secret;
pub use names::secret_kind;
pub use spellings::spellings;

/// The text that replaces a credential.
pub const REDACTED: &str = "[redacted]";

/// The [`FoundSecret::kind`] of the gate's own tokens.
const OWN_TOKEN: &str = "confirmation or quota token";

/// A credential inside a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundSecret {
    /// Its byte range.
    pub range: Range<usize>,
    /// The kind of credential, such as "GitHub token".
    pub kind: &'static str,
    /// Whether it was recognised only by the name beside it, not by its own format.
    pub is_by_name: bool,
}

/// Every credential in the text, from left to right. They do not overlap.
pub fn find_secrets(text: &str) -> impl Iterator<Item = FoundSecret> + '_ {
    Search::new(text)
}

/// Whether the text contains a credential.
pub fn looks_like_secret(text: &str) -> bool {
    find_secrets(text).next().is_some()
}

/// Whether the text contains a complete token of the gate.
pub fn holds_own_token(text: &str) -> bool {
    let bytes = text.as_bytes();
    let own = |byte: u8| formats::beginning_with(byte).iter().filter(|(format, _)| format.kind == OWN_TOKEN);
    bytes.iter().enumerate().any(|(position, byte)| {
        own(*byte).any(|(format, prefix)| format.end_of_match(bytes, position, prefix).is_some())
    })
}

/// Whether the text starts with the prefix of a credential, however short it is. Broader than [`looks_like_secret`],
/// for configurations, where hiding too much does no harm.
pub fn begins_like_secret(text: &str) -> bool {
    const MIN_TOKEN_BYTES: usize = 4;
    let first = text.bytes().next().unwrap_or_default();
    let prefixes =
        formats::beginning_with(first).iter().filter(|(format, _)| !format.is_common).map(|(_, prefix)| *prefix);
    prefixes
        .chain(shapes::PREFIXES.iter().copied())
        .any(|prefix| text.len() >= prefix.len() + MIN_TOKEN_BYTES && text.starts_with(prefix))
}

/// The text with every credential replaced by [`REDACTED`].
pub fn redact(text: &str) -> Cow<'_, str> {
    let mut found = find_secrets(text).peekable();
    if found.peek().is_none() {
        return Cow::Borrowed(text);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut copied_to = 0;
    for secret in found {
        redacted.push_str(text.get(copied_to..secret.range.start).unwrap_or_default());
        redacted.push_str(REDACTED);
        copied_to = secret.range.end;
    }
    redacted.push_str(text.get(copied_to..).unwrap_or_default());
    Cow::Owned(redacted)
}

/// The first `max_chars` characters of the redacted text, and whether there are more. Takes time linear in `max_chars`,
/// not in the length of the text.
pub fn redact_beginning(text: &str, max_chars: usize) -> (Cow<'_, str>, bool) {
    let mut search = Search::new(text);
    let mut redacted = String::new();
    let (mut copied_to, mut chars_left) = (0, max_chars);
    loop {
        let rest = text.get(copied_to..).unwrap_or_default();
        let end = rest.char_indices().nth(chars_left).map_or(text.len(), |(length, _)| copied_to + length);
        search.limit = end.saturating_add(MAX_BEFORE_MARK);
        let found = search.next().filter(|secret| secret.range.start < end);
        let Some(secret) = found else {
            let rest = text.get(copied_to..end).unwrap_or_default();
            let is_cut = end < text.len();
            if copied_to == 0 {
                return (Cow::Borrowed(rest), is_cut);
            }
            redacted.push_str(rest);
            return (Cow::Owned(redacted), is_cut);
        };
        let before = text.get(copied_to..secret.range.start).unwrap_or_default();
        redacted.push_str(before);
        redacted.push_str(REDACTED);
        chars_left = chars_left.saturating_sub(before.chars().count() + REDACTED.len());
        copied_to = secret.range.end;
    }
}

/// Maximum distance between the first byte of a credential and the byte at which it is recognised.
const MAX_BEFORE_MARK: usize = 64;

struct Search<'t> {
    text: &'t str,
    position: usize,
    end_of_last: usize,
    /// The position at which the search stops. A credential found before it may extend beyond it.
    limit: usize,
}

impl<'t> Search<'t> {
    fn new(text: &'t str) -> Self {
        Search { text, position: 0, end_of_last: 0, limit: usize::MAX }
    }
}

impl Iterator for Search<'_> {
    type Item = FoundSecret;

    fn next(&mut self) -> Option<FoundSecret> {
        let bytes = self.text.as_bytes();
        let marks = formats::marks();
        while self.position < self.limit
            && let Some(&byte) = bytes.get(self.position)
        {
            let next = bytes.get(self.position + 1).copied().unwrap_or_default();
            if marks.contains(byte, next)
                && let Some(found) = secret_at(self.text, self.position, byte, next)
                && found.range.start >= self.end_of_last
            {
                self.end_of_last = found.range.end;
                self.position = found.range.end.max(self.position + 1);
                return Some(found);
            }
            self.position += 1;
        }
        None
    }
}

/// The credential that is recognised at this byte. That may not be its first byte: a value after a name is recognised
/// at the separator before it.
fn secret_at(text: &str, position: usize, byte: u8, next: u8) -> Option<FoundSecret> {
    let bytes = text.as_bytes();
    let by_format = |(range, kind)| FoundSecret { range, kind, is_by_name: false };
    for (format, prefix) in formats::beginning_with_pair(byte, next) {
        if let Some(end) = format.end_of_match(bytes, position, prefix) {
            return Some(by_format((position..end, format.kind)));
        }
    }
    if let Some(found) = shapes::shape_at(text, position, byte, next) {
        return Some(by_format(found));
    }
    assigned::value_at(text, position, byte).map(|(range, kind)| FoundSecret { range, kind, is_by_name: true })
}

/// Whether a word starts here: the preceding byte is not a letter or digit, or ends an escape such as `\n` or `%20`.
fn begins_word(bytes: &[u8], position: usize) -> bool {
    let before = |back: usize| position.checked_sub(back).and_then(|index| bytes.get(index)).copied();
    let Some(last) = before(1) else { return true };
    if !last.is_ascii_alphanumeric() {
        return true;
    }
    let is_hex = |back: usize| before(back).is_some_and(|byte| byte.is_ascii_hexdigit());
    (before(2) == Some(b'\\') && matches!(last, b'n' | b'r' | b't' | b'b' | b'f'))
        || (before(3) == Some(b'%') && is_hex(2) && is_hex(1))
        || (before(6) == Some(b'\\') && before(5) == Some(b'u') && (1..=4).all(is_hex))
}

/// Whether bytes look random: they mix letters with digits, or lower case with upper case.
fn looks_random(bytes: &[u8]) -> bool {
    let count = |is: fn(&u8) -> bool| bytes.iter().filter(|byte| is(byte)).count();
    let (lower, upper) = (count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase));
    (count(u8::is_ascii_digit) > 0 && lower + upper > 0) || (lower > 1 && upper > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_a_truncated_text_is_redacted_like_the_whole() {
        let jwt = format!("eyJhbGciOiJIUzI1NiJ9.{}.c2lnbmF0dXJl", "YWJjZGVmZ2hpamts".repeat(20));
        let texts = [
            "nothing to hide, and ünicode".to_owned(),
            format!("key {jwt} and ghp_0123456789abcdefABCDEF0123456789abcd, that is all"),
            "url postgres://user:pa55word@host/db and password=swordfish12 x".to_owned(),
            "a1b2c3d4e5f6g7.atlasv1.0123456789012345678901234567890123456789abcdefABCDEF tail".to_owned(),
            "-----BEGIN PRIVATE KEY-----\nMIIE".to_owned(),
            "ü".repeat(40) + " Bearer 0123456789abcdefABCDEF",
        ];
        for text in &texts {
            let whole = redact(text);
            for max_chars in 0..120 {
                let (shown, is_cut) = redact_beginning(text, max_chars);
                assert!(whole.starts_with(&*shown), "{max_chars}: {shown} of {whole}");
                assert!(shown.chars().count() >= max_chars.min(whole.chars().count()), "{max_chars}: {shown}");
                assert!(is_cut || shown == whole, "{max_chars}: {shown} of {whole}");
            }
        }
    }
}
