//! Quotes words for a shell.

use std::path::Path;

use aquifer_protocol::error::wording::looks_like_a_leak;

/// Quotes a word for a shell. Also quotes words that would make the message look like a stack trace (R-RES-4).
pub(crate) fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "_.:/@+,=-%".contains(char);
    let harmless = !word.is_empty() && !word.starts_with('~') && !looks_like_a_leak(&format!("{word} x"));
    if harmless && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// Quotes a path for a shell. A file whose name begins with a dash is not an option.
pub(crate) fn quoted_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    if path.starts_with('-') { quoted(&format!("./{path}")) } else { quoted(&path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_a_shell() {
        for (path, expected) in
            [("/srv/shop.db", "/srv/shop.db"), ("my shop.db", "'my shop.db'"), ("-R", "./-R"), ("~/shop", "'~/shop'")]
        {
            assert_eq!(quoted_path(Path::new(path)), expected);
        }
    }

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
