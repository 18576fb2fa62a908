//! Makes text from files, servers and callers safe to show in a terminal.

use std::borrow::Cow;

use aquifer_protocol::text::{is_clean, is_hidden};

/// Escapes control characters and invisible characters as in JSON, so that they are safe in a terminal. JSON stays
/// equivalent JSON.
pub(super) fn escape_hidden(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => escaped.push(character),
            character if character.is_control() || is_hidden(character) => {
                character.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped.push_str(&format!("\\u{unit:04x}")));
            }
            character => escaped.push(character),
        }
    }
    Cow::Owned(escaped)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_7a_a_terminal_gets_no_hidden_characters_and_the_same_json() {
        let value = serde_json::json!({ "a": "x\u{9b}2J\u{202e}\u{e0041}\u{7}ä\n" });
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = escape_hidden(&text);
        assert!(is_clean(&shown) && shown.contains("\\u202e") && shown.contains('ä'), "{shown}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }
}
