//! `query` as free text: words mean OR, a quoted phrase is exact, and nothing is a syntax error (R-COL-2).

use serde_json::{Map, Value};

use crate::plan::{Term, TextQuery};

const MAX_COUNT: usize = 32;

pub(super) fn read(params: &Map<String, Value>) -> Option<TextQuery> {
    params.get("query").and_then(Value::as_str).map(|text| TextQuery { terms: terms(text) })
}

/// Text between quotes is a phrase; an unclosed quote is none.
pub(crate) fn terms(text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let parts: Vec<&str> = text.split('"').collect();
    let closed = parts.len() % 2 == 1;
    for (index, part) in parts.iter().enumerate() {
        let is_phrase = index % 2 == 1 && (closed || index + 1 < parts.len());
        let words = words(part);
        if is_phrase {
            terms.push(Term { words });
        } else {
            terms.extend(words.into_iter().map(|word| Term { words: vec![word] }));
        }
    }
    let mut seen: Vec<Term> = Vec::new();
    for term in terms.into_iter().filter(|term| !term.words.is_empty()) {
        if !seen.contains(&term) && seen.len() < MAX_COUNT {
            seen.push(term);
        }
    }
    seen
}

/// The words of a text, in lower case.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(fold).collect()
}

/// The text in lower case, letter by letter: neither its neighbours nor its place decide what becomes of a letter, or a
/// part of a text could be unlike the same part by itself. Databases do it like this, too.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(|letter| letter.to_lowercase().next().unwrap_or(letter)).collect()
}
