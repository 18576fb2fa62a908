//! Rules for the wording of messages.
//!
//! The specification's conformance runner mistakes certain texts for leaked stack traces, among them any word that ends
//! in "at" before a space. Messages therefore never repeat a caller's value unchecked, and contain text from elsewhere,
//! such as a parameter's description, only if it is harmless.

/// Whether the runner would mistake the text for a leaked stack trace or path.
///
/// Eight patterns: three language error names, "at" before a word, two path parts, two source positions.
pub fn looks_like_a_leak(text: &str) -> bool {
    let lower = text.to_lowercase();
    ["typeerror", "referenceerror", "syntaxerror", "/src/", "/node_modules/"]
        .iter()
        .any(|needle| lower.contains(needle))
        || has_at_before_word(&lower)
        || has_source_position(&lower, ".ts:")
        || has_source_position(&lower, ".js:")
}

fn has_at_before_word(lower: &str) -> bool {
    lower.match_indices("at").any(|(index, _)| {
        let rest = lower.get(index + 2..).unwrap_or_default();
        let trimmed = rest.trim_start();
        trimmed.len() < rest.len() && !trimmed.is_empty()
    })
}

fn has_source_position(lower: &str, marker: &str) -> bool {
    lower.match_indices(marker).any(|(index, _)| {
        lower.get(index + marker.len()..).and_then(|rest| rest.chars().next()).is_some_and(|c| c.is_ascii_digit())
    })
}

/// A caller's name or identifier in a form that is safe to quote in a message: short, printable, harmless.
pub(crate) fn quotable(text: &str) -> String {
    const MAX_QUOTED_CHARS: usize = 64;
    let harmless = !text.is_empty()
        && text.chars().count() <= MAX_QUOTED_CHARS
        && text.chars().all(|c| c.is_alphanumeric() || (c.is_ascii_punctuation() && !"'\"`<>".contains(c)))
        && !looks_like_a_leak(text);
    if harmless { text.to_owned() } else { "…".to_owned() }
}
