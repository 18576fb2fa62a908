//! Makes invisible characters visible, without removing anything and without affecting the terminal.

use crate::text::is_hidden;

/// Writes every control character and every invisible character as an escape such as `\u{202e}`. Line ends and tabs are
/// kept.
pub fn escape_invisible(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => escaped.push(character),
            character if character.is_control() || is_hidden(character) => escaped.extend(character.escape_unicode()),
            character => escaped.push(character),
        }
    }
    escaped
}

/// A server's name on one line. A line break in it must not start a line that imitates our output.
pub fn escape_name(name: &str) -> String {
    escape_invisible(name).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_7a_hidden_characters_are_escaped() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b\u{e0041}", "a\\u{202e}b\\u{e0041}"),
            ("\r\u{7}", "\\u{d}\\u{7}"),
            ("größe 日本 😀", "größe 日本 😀"),
        ] {
            assert_eq!(escape_invisible(text), expected);
            assert_eq!(escape_name(text), expected.replace('\n', "\\u{a}").replace('\t', "\\u{9}"));
        }
    }
}
