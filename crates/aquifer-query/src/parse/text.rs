//! Parses `query` as free text: words are combined with OR, a quoted phrase is exact, and nothing is a syntax error
//! (R-COL-2).

use serde_json::{Map, Value};

use super::problems::Problems;
use crate::plan::{Term, TextQuery};

const MAX_TERMS: usize = 32;
/// The longest phrase and text. A database looks for a phrase in one step, which cannot be interrupted and takes the
/// longer the more words there are.
const MAX_PHRASE_WORDS: usize = 64;
const MAX_TEXT_BYTES: usize = 10_000;

pub(super) fn parse(params: &Map<String, Value>, problems: &mut Problems) -> Option<TextQuery> {
    let text = params.get("query").and_then(Value::as_str)?;
    let terms = if text.len() > MAX_TEXT_BYTES { Vec::new() } else { terms(text) };
    if text.len() > MAX_TEXT_BYTES {
        problems.invalid("query", format!("is longer than {MAX_TEXT_BYTES} bytes. Search for fewer words"));
    } else if terms.iter().any(|term| term.words.len() > MAX_PHRASE_WORDS) {
        problems
            .invalid("query", format!("has a phrase of more than {MAX_PHRASE_WORDS} words. Search for fewer words"));
    }
    Some(TextQuery { terms })
}

/// Text between quotes is a phrase; an unclosed quote is ignored.
pub(crate) fn terms(text: &str) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    let parts: Vec<&str> = text.split('"').collect();
    let closed = parts.len() % 2 == 1;
    for (index, part) in parts.iter().enumerate() {
        let is_phrase = index % 2 == 1 && (closed || index + 1 < parts.len());
        let words = split_words(part);
        if is_phrase {
            terms.push(Term { words });
        } else {
            terms.extend(words.into_iter().map(|word| Term { words: vec![word] }));
        }
    }
    let mut seen: Vec<Term> = Vec::new();
    for term in terms.into_iter().filter(|term| !term.words.is_empty()) {
        if !seen.contains(&term) && seen.len() < MAX_TERMS {
            seen.push(term);
        }
    }
    seen
}

/// The words of a text, in lower case.
pub fn split_words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(fold_case).collect()
}

/// The text in lower case, character by character and without regard to context. Otherwise a part of a text could differ
/// from the same part on its own. Databases fold case in the same way.
pub fn fold_case(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(|c| c.to_lowercase().next().unwrap_or(c)).collect()
}
