//! Quotes words for a shell.

use aquifer_protocol::error::wording::looks_like_a_leak;

/// Quotes a word for a shell. Also quotes words that would make the message look like a stack trace (R-RES-4).
pub(crate) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_.:/@+,=-%".contains(char);
    let harmless = !word.is_empty() && !word.starts_with('~') && !looks_like_a_leak(&format!("{word} x"));
    if harmless && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("notes", "notes"),
            ("https://a.example/mcp", "https://a.example/mcp"),
            ("my notes", "'my notes'"),
            ("it's", "'it'\\''s'"),
            ("$(reboot)", "'$(reboot)'"),
            ("chat", "'chat'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
        assert!(!looks_like_a_leak(&format!("run {} --config x", quoted("chat"))));
    }
}
