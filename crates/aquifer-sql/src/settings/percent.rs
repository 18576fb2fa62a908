//! Percent-encoding in database URLs (RFC 3986), as libpq decodes it: `+` is a plus sign.

/// Decodes every `%XX`. `None` if a `%` is not followed by two hexadecimal digits, or the result is not UTF-8.
pub(crate) fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let (high, low) = (hex_digit(rest.next()?)?, hex_digit(rest.next()?)?);
                (high << 4) | low
            }
            plain => plain,
        };
        bytes.push(byte);
    }
    String::from_utf8(bytes).ok()
}

fn hex_digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use super::decode;

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
        }
    }
}
