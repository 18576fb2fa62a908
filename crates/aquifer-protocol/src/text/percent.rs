//! Percent-encoding (RFC 3986). `+` is a plus sign.

/// Encodes everything except unreserved characters.
pub fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if is_unreserved(byte) { encoded.push(char::from(byte)) } else { push_encoded(&mut encoded, byte) }
    }
    encoded
}

/// Decodes every `%XX`. `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub fn decode(text: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(if byte == b'%' { escaped(&mut rest)? } else { byte });
    }
    String::from_utf8(decoded).ok()
}

/// Decodes what can be decoded, and keeps the rest.
pub fn decode_lossy(text: &str) -> String {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        decoded.push(if byte == b'%' { escaped(&mut rest).unwrap_or(byte) } else { byte });
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

/// Appends a byte as `%XX`.
pub fn push_encoded(out: &mut String, byte: u8) {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0').to_ascii_uppercase();
    out.extend(['%', digit(byte >> 4), digit(byte & 15)]);
}

/// Whether a character means the same encoded and unencoded.
pub fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// The byte that two hexadecimal digits stand for. They are removed from the text.
fn escaped(rest: &mut &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let [high, low, after @ ..] = *rest else { return None };
    let byte = (digit(*high)? << 4) | digit(*low)?;
    *rest = after;
    Some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_everything_or_nothing() {
        for (text, decoded) in [
            ("", Some("")),
            ("plain", Some("plain")),
            ("%2Fa%2fb", Some("/a/b")),
            ("a%20b%2B+%25", Some("a b++%")),
            ("%252F", Some("%2F")),
            ("%C3%A4", Some("ä")),
            ("ä%E2%82%AC", Some("ä€")),
            ("%", None),
            ("%2", None),
            ("%2G", None),
            ("%+1", None),
            ("%ä", None),
            ("%FF", None),
            ("%C3", None),
        ] {
            assert_eq!(decode(text).as_deref(), decoded, "{text}");
            assert!(decoded.is_none_or(|decoded| decode_lossy(text) == decoded), "{text}");
        }
    }

    #[test]
    fn keeps_what_cannot_be_decoded() {
        for (text, decoded) in
            [("%", "%"), ("%2", "%2"), ("%2G%41", "%2GA"), ("%%41", "%A"), ("%ä", "%ä"), ("%FF", "\u{fffd}")]
        {
            assert_eq!(decode_lossy(text), decoded, "{text}");
        }
    }

    #[test]
    fn encodes_what_is_reserved() {
        let text = "aZ0-._~ /+%ä";
        assert_eq!(encode(text), "aZ0-._~%20%2F%2B%25%C3%A4");
        assert_eq!(decode(&encode(text)).as_deref(), Some(text));
    }
}
