//! Credentials that are not a prefix followed by a run of characters: several parts, a key block, a part of a URL.

use std::ops::Range;

use super::begins_word;

/// The range of a credential, and its kind.
type Shape = (Range<usize>, &'static str);

/// Prefixes of some of them, for [`super::begins_like_secret`].
pub(super) const PREFIXES: &[&str] = &["eyJ", BEGIN_BLOCK, "Bearer ", "Basic ", "Token "];

const BEGIN_BLOCK: &str = "-----BEGIN ";
const DASHES: &str = "-----";

type Finder = fn(&str, usize) -> Option<Shape>;

/// The function that examines text starting with these two bytes.
fn finder(byte: u8, next: u8) -> Option<Finder> {
    match byte {
        b'e' if next == b'y' => Some(web_token),
        b'-' if next == b'-' => Some(private_key),
        b':' if next == b'/' => Some(url_password),
        b'0'..=b'9' if next.is_ascii_digit() => Some(telegram_token),
        b'p' if next == b'a' => Some(airtable_token),
        b'.' if next == b'a' => Some(terraform_token),
        b'M' | b'N' | b'O' if is_url_byte(next) => Some(discord_token),
        b'A' | b'a' | b'B' | b'b' | b'F' | b'T' | b't' if b"aAeElLoOpP".contains(&next) => Some(authorization),
        _ => None,
    }
}

/// Whether a credential may be recognised at these two bytes.
pub(super) fn may_begin(byte: u8, next: u8) -> bool {
    finder(byte, next).is_some()
}

/// The credential that is recognised at this byte.
pub(super) fn shape_at(text: &str, position: usize, byte: u8, next: u8) -> Option<Shape> {
    finder(byte, next)?(text, position)
}

fn is_url_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The number of consecutive bytes that satisfy `holds`, at most `max`.
fn run(bytes: &[u8], from: usize, max: usize, holds: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).unwrap_or_default().iter().take(max).take_while(|byte| holds(**byte)).count()
}

/// A JSON Web Token, signed, unsigned or encrypted: two to five base64 parts, the first of which starts an object.
fn web_token(text: &str, start: usize) -> Option<Shape> {
    let bytes = text.as_bytes();
    // The preceding byte must not belong to the same run, otherwise a long run would be scanned repeatedly.
    let before = start.checked_sub(1).and_then(|index| bytes.get(index)).copied();
    let begins = before.is_none_or(|byte| !is_url_byte(byte))
        || (begins_word(bytes, start) && before != Some(b'-') && before != Some(b'_'));
    if !begins || !bytes.get(start..)?.starts_with(b"eyJ") {
        return None;
    }
    let header = run(bytes, start, usize::MAX, is_url_byte);
    if header < 12 {
        return None;
    }
    let mut end = start + header;
    let mut parts = 0;
    while parts < 4 && bytes.get(end) == Some(&b'.') {
        let part = run(bytes, end + 1, usize::MAX, is_url_byte);
        if part == 0 && parts == 0 {
            break;
        }
        end += 1 + part;
        parts += 1;
    }
    let payload = bytes.get(start + header + 1..end).unwrap_or_default();
    (parts > 0 && payload.len() >= 8).then(|| (start..trim_dots(bytes, start, end), "JSON Web Token"))
}

/// Removes trailing dots, which end a sentence.
fn trim_dots(bytes: &[u8], start: usize, end: usize) -> usize {
    let dots = bytes.get(start..end).unwrap_or_default().iter().rev().take_while(|byte| **byte == b'.').count();
    end - dots
}

/// A private key block. If it has no end marker, it was truncated, and everything after its start belongs to the key.
fn private_key(text: &str, start: usize) -> Option<Shape> {
    /// `-----BEGIN ENCRYPTED PRIVATE KEY-----` and the like.
    const MAX_LABEL_LEN: usize = 48;
    let label_from = start + BEGIN_BLOCK.len();
    let after = text.get(start..)?.strip_prefix(BEGIN_BLOCK)?;
    let head = after.as_bytes().get(..MAX_LABEL_LEN.min(after.len())).unwrap_or_default();
    let label_length = head.windows(DASHES.len()).position(|window| window == DASHES.as_bytes())?;
    if !after.get(..label_length)?.contains("PRIVATE KEY") {
        return None;
    }
    let body_from = label_from + label_length + DASHES.len();
    let rest = text.get(body_from..)?;
    let end = match rest.find("-----END ") {
        Some(index) => {
            let closing = index + "-----END ".len();
            let label = rest.get(closing..)?;
            let dashes = label.as_bytes().iter().take(MAX_LABEL_LEN).take_while(|byte| **byte != b'-').count();
            let tail = label
                .get(dashes..)
                .map_or(0, |tail| tail.bytes().take_while(|byte| *byte == b'-').count().min(DASHES.len()));
            body_from + closing + dashes + tail
        }
        None => text.len(),
    };
    Some((start..end, "private key"))
}

/// The password in `scheme://user:password@host`.
fn url_password(text: &str, colon: usize) -> Option<Shape> {
    const MAX_AUTHORITY: usize = 512;
    let rest = text.get(colon..)?.strip_prefix("://")?;
    let from = colon + 3;
    let goes_on = |byte: u8| !byte.is_ascii_whitespace() && !b"\"'<>\\`".contains(&byte);
    let is_authority = |byte: u8| goes_on(byte) && !b"/?#".contains(&byte);
    let authority = rest.get(..run(rest.as_bytes(), 0, MAX_AUTHORITY, is_authority))?;
    let user_info = match authority.rsplit_once('@') {
        Some((user_info, _)) => user_info,
        // Passwords often contain an unescaped slash, although that is invalid. A port is numeric.
        None => {
            let (_, tail) = authority.split_once(':')?;
            if tail.is_empty() || tail.starts_with(|c: char| c.is_ascii_digit()) || authority.starts_with('[') {
                return None;
            }
            let whole = rest.get(..run(rest.as_bytes(), 0, MAX_AUTHORITY, goes_on))?;
            whole.rsplit_once('@')?.0
        }
    };
    let (user, password) = user_info.split_once(':')?;
    let start = from + user.len() + 1;
    let is_shown = password.is_empty() || super::assigned::is_placeholder(password);
    (!is_shown).then(|| (start..start + password.len(), "password in a URL"))
}

/// `123456789:AA…`, the token of a Telegram bot.
fn telegram_token(text: &str, start: usize) -> Option<Shape> {
    const BODY: usize = 35;
    let bytes = text.as_bytes();
    let digits = run(bytes, start, 12, |byte| byte.is_ascii_digit());
    let colon = start + digits;
    if !(8..=10).contains(&digits) || bytes.get(colon) != Some(&b':') || !begins_word(bytes, start) {
        return None;
    }
    let body = bytes.get(colon + 1..colon + 1 + BODY)?;
    let ends = run(bytes, colon + 1, BODY + 1, is_url_byte) == BODY;
    (ends && super::looks_random(body)).then(|| (start..colon + 1 + BODY, "Telegram token"))
}

/// `pat….…`, a personal access token of Airtable.
fn airtable_token(text: &str, start: usize) -> Option<Shape> {
    const ID: usize = 14;
    let bytes = text.as_bytes();
    let dot = start + 3 + ID;
    let begins = bytes.get(start..)?.starts_with(b"pat") && begins_word(bytes, start);
    if !begins || bytes.get(dot) != Some(&b'.') || run(bytes, start + 3, ID, |byte| byte.is_ascii_alphanumeric()) < ID {
        return None;
    }
    let secret = run(bytes, dot + 1, usize::MAX, |byte| byte.is_ascii_hexdigit());
    (secret >= 40).then(|| (start..dot + 1 + secret, "Airtable token"))
}

/// `….atlasv1.…`, a token of Terraform Cloud.
fn terraform_token(text: &str, dot: usize) -> Option<Shape> {
    const MARK: &str = ".atlasv1.";
    let bytes = text.as_bytes();
    let after = text.get(dot..)?.strip_prefix(MARK).map(|_| dot + MARK.len())?;
    let before = bytes.get(..dot)?.iter().rev().take(14).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let secret = run(bytes, after, usize::MAX, is_url_byte);
    (before == 14 && secret >= 30).then(|| (dot - before..after + secret, "Terraform token"))
}

/// The token of a Discord bot: its id in base64, a timestamp and a signature.
fn discord_token(text: &str, start: usize) -> Option<Shape> {
    let bytes = text.as_bytes();
    if !begins_word(bytes, start) {
        return None;
    }
    let id = run(bytes, start, 29, is_url_byte);
    let time_from = start + id + 1;
    let time = run(bytes, time_from, 7, is_url_byte);
    let signature_from = time_from + time + 1;
    let dots = bytes.get(start + id) == Some(&b'.') && bytes.get(signature_from - 1) == Some(&b'.');
    if !dots || !(23..=28).contains(&id) || time != 6 || !super::looks_random(bytes.get(start..start + id)?) {
        return None;
    }
    let signature = run(bytes, signature_from, usize::MAX, is_url_byte);
    (signature >= 27).then(|| (start..signature_from + signature, "Discord token"))
}

/// The credential after `Bearer`, `Basic`, `Token` and the like.
fn authorization(text: &str, start: usize) -> Option<Shape> {
    /// The scheme and the minimum length of its credential.
    const SCHEMES: &[(&str, usize)] = &[("bearer", 8), ("basic", 8), ("token", 16), ("apikey", 16), ("flyv1", 16)];
    const MAX_EXAMINED_BYTES: usize = 64;
    let bytes = text.as_bytes();
    let (scheme, min) = SCHEMES.iter().find(|(scheme, _)| {
        bytes.get(start..start + scheme.len()).is_some_and(|word| word.eq_ignore_ascii_case(scheme.as_bytes()))
    })?;
    let blanks_from = start + scheme.len();
    let blanks = run(bytes, blanks_from, 4, |byte| byte == b' ' || byte == b'\t');
    if blanks == 0 || !begins_word(bytes, start) {
        return None;
    }
    let from = blanks_from + blanks;
    let holds = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
    let examined = run(bytes, from, MAX_EXAMINED_BYTES, holds);
    let sample = bytes.get(from..from + examined)?;
    let has_digit = sample.iter().any(u8::is_ascii_digit) && sample.iter().any(u8::is_ascii_alphabetic);
    let length = || run(bytes, from, usize::MAX, holds);
    let is_credential = match *scheme {
        "basic" => examined >= *min && is_user_and_password(bytes.get(from..from + run(bytes, from, 1024, holds))?),
        _ => examined >= *min && (has_digit || examined >= 32) && !is_one_word(sample),
    };
    is_credential.then(|| (from..trim_dots(bytes, from, from + length()), "authorization"))
}

/// Whether it is a word with a digit, as in prose after `Bearer` or `token`.
fn is_one_word(sample: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["oauth2.0", "rfc6750", "rfc-6750", "base64url", "sha-256", "http/1.1", "oauth-2.0", "oauth2-token"];
    WORDS.iter().any(|word| sample.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether base64 encodes text with a colon, as in basic authentication.
fn is_user_and_password(encoded: &[u8]) -> bool {
    let mut bits: u32 = 0;
    let mut count = 0;
    let mut has_colon = false;
    for byte in encoded.iter().filter(|byte| **byte != b'=') {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            let decoded = (bits >> count) & 0xff;
            if decoded < 0x20 {
                return false;
            }
            has_colon |= decoded == u32::from(b':');
        }
        bits &= 0xffff;
    }
    has_colon
}
