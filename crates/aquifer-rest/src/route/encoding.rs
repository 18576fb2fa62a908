//! Percent-encoding (RFC 3986) and the base64 of parameters.

use aquifer_protocol::percent::{is_unreserved, push_encoded};
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

const LENIENT: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// Which characters are not percent-encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Escape {
    /// Unreserved characters.
    Unreserved,
    /// Unreserved and reserved characters, and triplets such as `%2F`. Characters that would end the value or the
    /// query, or that mean something else there, are still encoded: `#`, `&`, `+`, `'`, `[` and `]`.
    Reserved,
    /// Everything that a cookie may contain, except `%`.
    Cookie,
    /// Every character.
    Nothing,
}

impl Escape {
    /// Appends a text, encoded.
    pub(super) fn push(self, out: &mut String, text: &str) {
        if self == Escape::Nothing {
            out.push_str(text);
            return;
        }
        let mut rest = text.as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if self == Escape::Reserved && byte == b'%' && begins_with_two_hex_digits(after) {
                out.push('%');
            } else if self.keeps(byte) {
                out.push(char::from(byte));
            } else {
                push_encoded(out, byte);
            }
            rest = after;
        }
    }

    /// The encoded text.
    pub(super) fn encode(self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        self.push(&mut out, text);
        out
    }

    fn keeps(self, byte: u8) -> bool {
        match self {
            Escape::Unreserved => is_unreserved(byte),
            Escape::Reserved => is_unreserved(byte) || b":/?@!$()*,;=".contains(&byte),
            Escape::Cookie => {
                matches!(byte, 0x21 | 0x23..=0x24 | 0x26..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e)
            }
            Escape::Nothing => true,
        }
    }
}

/// Appends the literal part of a path. Characters that cannot be part of a path are encoded.
pub(super) fn push_path_literal(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if is_unreserved(byte) || b"/%:@!$&'()*+,;=".contains(&byte) {
            out.push(char::from(byte));
        } else {
            push_encoded(out, byte);
        }
    }
}

/// Decodes base64 in the standard or the URL-safe alphabet, with or without padding and line breaks.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let compact: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let is_url_safe = compact.iter().any(|byte| matches!(byte, b'-' | b'_'));
    let engine = if is_url_safe { &URL_SAFE } else { &STANDARD };
    engine.decode(compact).ok()
}

fn begins_with_two_hex_digits(bytes: &[u8]) -> bool {
    matches!(bytes, [first, second, ..] if first.is_ascii_hexdigit() && second.is_ascii_hexdigit())
}
