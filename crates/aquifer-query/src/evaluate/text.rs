//! Words in texts, without an index.

pub use crate::read::text::{fold, words};

/// How many of the terms stand in the texts: a word, or several in a row.
pub fn rank(terms: &[Vec<String>], texts: &[Vec<String>]) -> i64 {
    let found = terms
        .iter()
        .filter(|term| texts.iter().any(|words| words.windows(term.len().max(1)).any(|window| window == **term)))
        .count();
    i64::try_from(found).unwrap_or(i64::MAX)
}
