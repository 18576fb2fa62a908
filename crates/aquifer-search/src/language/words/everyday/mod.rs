//! What people say who do not know the words of the trade.
//!
//! An entry reads `(categories, "saying, saying", "likely | possible")`: the kind of action that the sayings ask for (none
//! for a word that asks for nothing, and [`HINT`] for one that is a mere hint), the sayings, and the words that operations use for them. Unlike the groups of
//! synonyms, an entry leads from what people say to the words of operations and never back, and only the text of tasks is
//! matched. `_` in a saying stands for up to four other words; a word marked with `+` has to be there and counts by
//! itself as well.

mod questions;
mod requests;
mod runs;
mod things;

/// Categories, sayings and meanings.
pub(crate) type Entry = (&'static str, &'static str, &'static str);

/// Marks sayings that do not find an operation alone.
pub(crate) const HINT: &str = "?";

/// All entries.
pub(crate) fn everyday() -> impl Iterator<Item = &'static Entry> {
    requests::REQUESTS.iter().chain(runs::RUNS).chain(questions::QUESTIONS).chain(things::THINGS)
}
