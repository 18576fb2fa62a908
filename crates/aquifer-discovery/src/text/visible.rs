//! Makes hidden characters visible: nothing is removed, and nothing affects the terminal.

use crate::text::is_hidden;

/// The text with every control character and every character that cannot be seen written as `\u{202e}`. Line ends and tabs
/// stay.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\n' | '\t' => shown.push(letter),
            letter if letter.is_control() || is_hidden(letter) => shown.extend(letter.escape_unicode()),
            letter => shown.push(letter),
        }
    }
    shown
}

/// A name that a server chose, on one line: a line break in it must not begin a line that looks like ours.
pub fn visible_name(name: &str) -> String {
    visible(name).replace('\n', "\\u{a}").replace('\t', "\\u{9}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_7a_hidden_characters_are_shown() {
        for (text, expected) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[31mred", "\\u{1b}[31mred"),
            ("a\u{202e}b\u{e0041}", "a\\u{202e}b\\u{e0041}"),
            ("\r\u{7}", "\\u{d}\\u{7}"),
            ("größe 日本 😀", "größe 日本 😀"),
        ] {
            assert_eq!(visible(text), expected);
            assert_eq!(visible_name(text), expected.replace('\n', "\\u{a}").replace('\t', "\\u{9}"));
        }
    }
}
