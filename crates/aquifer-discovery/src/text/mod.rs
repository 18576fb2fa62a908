//! Text from upstreams, made safe to show (R-DIS-7a). The exact bytes stay in `raw_capture`.

pub(crate) mod escape;
pub(crate) mod json;
pub mod redact;
pub(crate) mod yaml;

pub use aquifer_protocol::text::is_clean;
pub(crate) use aquifer_protocol::text::is_hidden;

/// The text without terminal escapes, control characters and invisible characters.
pub fn clean(text: &str) -> String {
    aquifer_protocol::text::clean(text).into_owned()
}

/// The cleaned text, also without credentials of known formats.
pub fn presentable(text: &str) -> String {
    aquifer_protocol::text::presentable(text).into_owned()
}

/// The first sentence, for texts of one line.
pub(crate) fn first_sentence(text: &str) -> &str {
    let line = text.trim_start().lines().next().unwrap_or_default().trim_end();
    match line.find(". ") {
        Some(index) => line.get(..=index).unwrap_or(line),
        None => line,
    }
}

/// The beginning of a text, at most `max_len` characters.
pub(crate) fn shorten(text: &str, max_len: usize) -> String {
    let mut short: String = text.chars().take(max_len).collect();
    if text.chars().nth(max_len).is_some() {
        short.push('…');
    }
    short
}
