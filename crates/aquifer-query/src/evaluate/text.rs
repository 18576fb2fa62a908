//! Text search without an index.

pub use crate::parse::text::{fold_case, split_words};

/// How many of the terms occur in the texts: single words, or phrases.
pub fn rank(terms: &[Vec<String>], texts: &[Vec<String>]) -> i64 {
    let matching = terms
        .iter()
        .filter(|term| texts.iter().any(|words| words.windows(term.len().max(1)).any(|window| window == **term)))
        .count();
    i64::try_from(matching).unwrap_or(i64::MAX)
}
