//! Makes untrusted text safe to show.
//!
//! Terminal escapes can change what a person sees, and invisible characters can carry instructions that only a
//! model reads. Both are removed before text is shown. Where the exact bytes are needed, they are stored separately.

pub mod canonical_json;
pub mod case;
pub mod exact_number;
pub mod glob;
pub mod hex;
pub mod inflect;
pub mod percent;
pub mod secrets;
pub mod shortened;
pub mod spelling;
pub mod suggest;
pub mod template;

use std::borrow::Cow;

use serde_json::{Map, Value};

/// The text without terminal escapes, control characters and invisible characters.
pub fn clean(text: &str) -> Cow<'_, str> {
    if is_clean(text) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        match character {
            '\u{1b}' => skip_escape(&mut rest),
            '\u{9b}' => skip_control_sequence(&mut rest),
            '\r' => {
                // "\r\n" is one line end. A lone "\r" must not overwrite the line before it.
                if !rest.as_str().starts_with('\n') {
                    cleaned.push('\n');
                }
            }
            '\u{2028}' | '\u{2029}' => cleaned.push('\n'),
            character if is_removed(character) => {}
            character => cleaned.push(character),
        }
    }
    Cow::Owned(cleaned)
}

/// Whether [`clean`] would leave the text unchanged.
pub fn is_clean(text: &str) -> bool {
    !text.chars().any(is_removed)
}

/// The text in a form that may be shown: clean, and without credentials of known formats. The text is cleaned before it
/// is searched, so that an invisible character inside a credential does not hide it.
pub fn presentable(text: &str) -> Cow<'_, str> {
    match clean(text) {
        Cow::Borrowed(text) => secrets::redact(text),
        Cow::Owned(cleaned) => Cow::Owned(secrets::redact(&cleaned).into_owned()),
    }
}

/// Applies `clean` to every string in a JSON value, including member names. If two names become equal, the first member
/// is kept.
pub fn clean_json(value: Value, clean: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(clean(&text)),
        Value::Array(items) => items.into_iter().map(|item| clean_json(item, clean)).collect(),
        Value::Object(members) => {
            let mut cleaned = Map::with_capacity(members.len());
            for (name, member) in members {
                cleaned.entry(clean(&name)).or_insert_with(|| clean_json(member, clean));
            }
            Value::Object(cleaned)
        }
        other => other,
    }
}

/// Whether a character is invisible: joiners, direction marks, variation selectors, tags, fillers.
pub fn is_hidden(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn is_removed(character: char) -> bool {
    if character.is_ascii() {
        return character.is_ascii_control() && !matches!(character, '\n' | '\t');
    }
    character.is_control() || is_hidden(character)
}

/// Skips an escape sequence after its ESC. A string sequence (a title, a hyperlink) is removed with its content. If it
/// is unterminated, only its start is removed, so that it cannot hide the rest of the text.
fn skip_escape(rest: &mut std::str::Chars<'_>) {
    let mut ahead = rest.clone();
    match ahead.next() {
        Some('[') => {
            skip_control_sequence(&mut ahead);
            *rest = ahead;
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let content = ahead.as_str();
            // A string ends at another escape or at the end of the text. The search stops at both, so that a text full
            // of unterminated sequences is still read in one pass.
            let end = content.find(['\u{7}', '\u{1b}']);
            let tail = end.and_then(|index| content.get(index..)).unwrap_or_default();
            let after = tail.strip_prefix('\u{7}').or_else(|| tail.strip_prefix("\u{1b}\\"));
            *rest = after.unwrap_or(content).chars();
        }
        Some(' '..='/') => {
            // Intermediate bytes, then the final byte of the sequence.
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

/// Skips the parameters and the final byte of a control sequence.
fn skip_control_sequence(rest: &mut std::str::Chars<'_>) {
    while rest.as_str().starts_with(|c| matches!(c, ' '..='?')) {
        rest.next();
    }
    if rest.as_str().starts_with(|c| matches!(c, '@'..='~')) {
        rest.next();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn r_dis_7a_escapes_and_hidden_characters_are_removed() {
        for (dirty, expected) in [
            ("plain", "plain"),
            ("\u{1b}[31mred\u{1b}[0m", "red"),
            ("\u{9b}2Jgone", "gone"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]8;;https://evil\u{1b}\\link\u{1b}]8;;\u{1b}\\", "link"),
            ("\u{1b}]0;never ends", "0;never ends"),
            ("\u{1b}]0;aborted\u{1b}[1m bold\u{7}", "0;aborted bold"),
            ("\u{1b}(Bcharset", "charset"),
            ("\u{1b}", ""),
            ("safe\roverwritten", "safe\noverwritten"),
            ("one\r\ntwo", "one\ntwo"),
            ("a\u{200b}b\u{202e}c\u{e0041}d\u{feff}", "abcd"),
            ("a\u{2028}b\u{2029}c", "a\nb\nc"),
            ("fonts\u{fe0f} glyphs\u{13430} notes\u{1d159}", "fonts glyphs notes"),
            ("bell\u{7} nul\0 delete\u{7f} c1\u{85}", "bell nul delete c1"),
            ("tab\tand\nline", "tab\tand\nline"),
            ("größe 日本 😀", "größe 日本 😀"),
        ] {
            assert_eq!(clean(dirty), expected, "{dirty:?}");
            assert!(is_clean(&clean(dirty)), "{dirty:?}");
        }
    }

    #[test]
    fn r_dis_7a_a_credential_is_found_although_hidden_characters_stand_in_it() {
        let token = ["gh", "p_16C7e42F292c6912E7710c838347Ae178B4a"].concat();
        let split = token.replace("42F", "42\u{200b}F").replace("838", "8\u{1b}[0m38");
        assert_eq!(presentable(&format!("bad {split}!")), "bad [redacted]!");
    }

    #[test]
    fn every_string_of_a_json_value_is_cleaned_and_the_first_of_equal_names_stays() {
        let dirty = json!({ "a\u{200b}": ["x\u{202e}", 1, null, { "b": "\u{1b}[1mbold" }], "a": 2 });
        let cleaned = clean_json(dirty, &|text| presentable(text).into_owned());
        assert_eq!(cleaned, json!({ "a": ["x", 1, null, { "b": "bold" }] }));
    }
}
