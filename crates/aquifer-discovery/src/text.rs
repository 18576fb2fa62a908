//! Text from upstreams, made safe to show (R-DIS-7a).
//!
//! A description is read by people in terminals and by models. Terminal escapes can repaint what a reviewer sees, and
//! characters without a shape can carry instructions that only the model reads. Both are taken out before anything is
//! shown; the exact bytes stay in `raw_capture`.

/// The text without terminal escapes, control characters and characters that cannot be seen.
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(letter) = rest.next() {
        match letter {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\r' => {
                // "\r\n" is one line end, and a lone "\r" must not overwrite the line before it.
                if !rest.as_str().starts_with('\n') {
                    cleaned.push('\n');
                }
            }
            '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            '\n' | '\t' => cleaned.push(letter),
            letter if letter.is_control() || is_hidden(letter) => {}
            letter => cleaned.push(letter),
        }
    }
    cleaned
}

/// Whether the text holds something that [`clean`] takes out.
pub fn is_clean(text: &str) -> bool {
    clean(text) == text
}

/// Characters without a shape of their own: joiners, direction marks, variation selectors, tags, fillers.
pub(crate) fn is_hidden(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// What follows an ESC. A string sequence (a title, a hyperlink) goes with its content; one that never ends loses only
/// its beginning, so that nobody can make the rest of a text disappear.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            skip_control_sequence(&mut ahead);
            *rest = ahead;
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let content = ahead.as_str();
            let bell = content.find('\u{7}').map(|index| (index, 1));
            let terminator = content.find("\u{1b}\\").map(|index| (index, 2));
            let end = [bell, terminator].into_iter().flatten().min();
            let after = end.and_then(|(index, length)| content.get(index + length..));
            *rest = after.unwrap_or(content).chars();
        }
        Some(' '..='/') => {
            // Intermediate bytes, then one that ends the sequence.
            while ahead.as_str().starts_with(|c| matches!(c, ' '..='/')) {
                ahead.next();
            }
            if ahead.as_str().starts_with(|c| matches!(c, '0'..='~')) {
                ahead.next();
            }
            *rest = ahead;
        }
        Some('0'..='~') => *rest = ahead,
        _ => {}
    }
}

/// Parameters, then the byte that ends the sequence.
fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    while rest.as_str().starts_with(|c| matches!(c, ' '..='?')) {
        rest.next();
    }
    if rest.as_str().starts_with(|c| matches!(c, '@'..='~')) {
        rest.next();
    }
}

/// The first sentence, for a line that has no room for more.
pub(crate) fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.find(". ") {
        Some(index) => line.get(..=index).unwrap_or(line),
        None => line,
    }
}

/// The beginning of a text, no more than `most` characters.
pub(crate) fn shorten(text: &str, most: usize) -> String {
    let mut short: String = text.chars().take(most).collect();
    if text.chars().nth(most).is_some() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_dis_7a_escapes_and_hidden_characters_are_taken_out() {
        for (dirty, expected) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;https://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends", "0;never ends"),
            ("\u{1b}(Bcharset", "charset"),
            ("\u{1b}", ""),
            ("safe\roverwritten", "safe\noverwritten"),
            ("one\r\ntwo", "one\ntwo"),
            ("a\u{200b}b\u{202e}c\u{e0041}d\u{feff}", "abcd"),
            ("bell\u{7} nul\0 delete\u{7f}", "bell nul delete"),
            ("tab\tand\nline", "tab\tand\nline"),
            ("größe 日本 😀", "größe 日本 😀"),
        ] {
            assert_eq!(clean(dirty), expected, "{dirty:?}");
            assert!(is_clean(&clean(dirty)), "{dirty:?}");
        }
    }
}
