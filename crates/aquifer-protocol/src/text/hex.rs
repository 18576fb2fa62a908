//! Bytes as hexadecimal text.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Lower-case hexadecimal digits, two for each byte.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() * 2);
    push_hex(&mut text, bytes);
    text
}

/// The same for the first `count` bytes, or for all if there are fewer.
pub fn hex_prefix(bytes: &[u8], count: usize) -> String {
    hex(bytes.get(..count).unwrap_or(bytes))
}

/// Appends what [`hex`] returns.
pub fn push_hex(text: &mut String, bytes: &[u8]) {
    text.reserve(bytes.len() * 2);
    for byte in bytes {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(DIGITS.get(usize::from(digit)).copied().unwrap_or_default()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        let all: Vec<u8> = (0..=255).collect();
        let expected: String = all.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex(&all), expected);
        assert_eq!(hex_prefix(&all, 3), "000102");
        assert_eq!(hex_prefix(&all, 300), expected);
        let mut text = "sha256:".to_owned();
        push_hex(&mut text, &[0, 0xff]);
        assert_eq!(text, "sha256:00ff");
    }
}
