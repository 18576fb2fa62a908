//! Removes whitespace between JSON tokens, because every character costs tokens of the model.

/// The maximum nesting depth. Parsers used later have a limit of 128.
const MAX_DEPTH: usize = 100;

/// The same JSON without whitespace. `None` if it is not valid JSON or nested too deeply.
pub(crate) fn compact(text: &str) -> Option<String> {
    // The JSON parser validates the grammar; the loop below only removes whitespace.
    serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
    let mut compacted = Vec::with_capacity(text.len());
    let (mut in_string, mut escaped, mut depth) = (false, false, 0_usize);
    for byte in text.bytes() {
        if in_string {
            compacted.push(byte);
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => continue,
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return None;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        compacted.push(byte);
    }
    String::from_utf8(compacted).ok()
}

#[cfg(test)]
mod tests {
    use super::compact;

    #[test]
    fn whitespace_between_tokens_is_removed() {
        for (text, expected) in [
            (" { \"a b\" : [ 1 , \"x\\\" y\" ] }\n", Some("{\"a b\":[1,\"x\\\" y\"]}")),
            ("[]", Some("[]")),
            ("\"\\\\\"", Some("\"\\\\\"")),
            ("{", None),
            ("", None),
            ("1 2", None),
        ] {
            assert_eq!(compact(text).as_deref(), expected, "{text}");
        }
        assert!(compact(&("[".repeat(101) + &"]".repeat(101))).is_none());
    }
}
