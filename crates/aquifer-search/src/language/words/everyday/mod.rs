//! Everyday expressions of people who do not know the technical terms.
//!
//! An entry reads `(categories, "expression, expression", "likely | possible")`: the kind of action that the
//! expressions ask for (empty for a word that asks for nothing, and [`HINT`] for a mere hint), the expressions, and the
//! words that operations use for them. Unlike the groups of synonyms, an entry leads from an expression to the words of
//! operations and never back, and is matched only in the text of tasks. `_` in an expression stands for up to four
//! other words. A word marked with `+` has to be present and also counts by itself.

mod questions;
mod requests;
mod runs;
mod things;

/// Categories, expressions and meanings.
pub(crate) type Entry = (&'static str, &'static str, &'static str);

/// Marks expressions that do not find an operation on their own.
pub(crate) const HINT: &str = "?";

/// All entries.
pub(crate) fn everyday() -> impl Iterator<Item = &'static Entry> {
    requests::REQUESTS.iter().chain(runs::RUNS).chain(questions::QUESTIONS).chain(things::THINGS)
}
