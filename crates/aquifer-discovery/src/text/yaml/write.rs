//! Writes JSON values as YAML: few forms, the same bytes for the same value, and no ambiguity for any reader.
//!
//! The text is untrusted, so quoting is not left to heuristics. A string is plain only if it consists of
//! harmless words, a block if it has several harmless lines, and otherwise quoted with every doubtful character
//! escaped.

use serde_json::{Map, Value};

use crate::text::is_hidden;

/// Maximum length of a simple key. YAML requires another form for longer ones.
const MAX_KEY_LEN: usize = 512;

/// The value as a YAML document.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => entries(map, 0, false, &mut text),
        Value::Array(items) if !items.is_empty() => list(items, 0, &mut text),
        plain => {
            text.push_str(&scalar(plain, 0));
            text.push('\n');
        }
    }
    text
}

fn entries(map: &Map<String, Value>, indent: usize, inline_first: bool, text: &mut String) {
    for (index, (key, value)) in map.iter().enumerate() {
        if index > 0 || !inline_first {
            pad(indent, text);
        }
        let key = string(key, None);
        if key.len() > MAX_KEY_LEN {
            text.push_str(&format!("? {key}\n"));
            pad(indent, text);
        } else {
            text.push_str(&key);
        }
        text.push(':');
        nested(value, indent + 2, false, text);
    }
}

fn list(items: &[Value], indent: usize, text: &mut String) {
    for item in items {
        pad(indent, text);
        text.push('-');
        nested(item, indent + 2, true, text);
    }
}

/// Writes a value after its key or dash. `inline_first` puts the first entry of an object on the same line.
fn nested(value: &Value, indent: usize, inline_first: bool, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            text.push(if inline_first { ' ' } else { '\n' });
            entries(map, indent, inline_first, text);
        }
        Value::Array(items) if !items.is_empty() => {
            text.push('\n');
            list(items, indent, text);
        }
        plain => {
            text.push(' ');
            text.push_str(&scalar(plain, indent));
            text.push('\n');
        }
    }
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

fn scalar(value: &Value, indent: usize) -> String {
    match value {
        Value::String(words) => string(words, Some(indent)),
        Value::Array(_) => "[]".to_owned(),
        Value::Object(_) => "{}".to_owned(),
        other => other.to_string(),
    }
}

/// Writes a string, as a block only if its indentation is known.
fn string(words: &str, indent: Option<usize>) -> String {
    if is_plain(words) {
        return words.to_owned();
    }
    match indent.filter(|indent| *indent > 0) {
        Some(indent) if is_block(words) => block(words, indent),
        _ => quoted(words),
    }
}

/// Words that some YAML parsers do not read as strings.
const RESERVED_WORDS: &[&str] =
    &["true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf", "infinity"];

fn is_plain(words: &str) -> bool {
    words.len() <= 80
        && words.starts_with(|c: char| c.is_ascii_alphabetic())
        && !words.ends_with(' ')
        && words.chars().all(|c| c.is_ascii_alphanumeric() || "_-/. ".contains(c))
        && !words.contains("  ")
        && !RESERVED_WORDS.contains(&words.to_ascii_lowercase().as_str())
}

/// Whether a block represents the text exactly: it has several lines, does not start with a space, and ends with at
/// most one line break.
fn is_block(words: &str) -> bool {
    let is_harmless = |c: char| c == '\n' || (!c.is_control() && !is_hidden(c) && !may_be_altered(c));
    let body = words.strip_suffix('\n').unwrap_or(words);
    body.contains('\n')
        && !words.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && words.chars().all(is_harmless)
        // A line of spaces would affect the indentation.
        && body.lines().all(|line| line.is_empty() || !line.trim_matches(' ').is_empty())
}

fn block(words: &str, indent: usize) -> String {
    let (mark, body) = match words.strip_suffix('\n') {
        Some(body) => ("|", body),
        None => ("|-", words),
    };
    let mut text = mark.to_owned();
    for line in body.split('\n') {
        text.push('\n');
        if !line.is_empty() {
            pad(indent, &mut text);
            text.push_str(line);
        }
    }
    text
}

fn quoted(words: &str) -> String {
    let mut text = String::with_capacity(words.len() + 2);
    text.push('"');
    for character in words.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            odd if odd.is_control() || is_hidden(odd) || may_be_altered(odd) => {
                let code = u32::from(odd);
                let escape = if code > 0xffff { format!("\\U{code:08X}") } else { format!("\\u{code:04X}") };
                text.push_str(&escape);
            }
            plain => text.push(plain),
        }
    }
    text.push('"');
    text
}

/// Whether YAML or an editor may not preserve the character. Includes all whitespace other than the ASCII space.
fn may_be_altered(character: char) -> bool {
    (character.is_whitespace() && character != ' ')
        || matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{fffe}' | '\u{ffff}')
        || u32::from(character) & 0xfffe == 0xfffe
        || u32::from(character) >= 0xf_0000
}
