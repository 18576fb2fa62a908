//! Finds operations by a task in plain words, or by name.
//!
//! An agent that does not know a catalog asks for "open a new MR" or "who last changed each line of this file" and
//! should find `create_merge_request` and `get_file_blame` among the first few hits. Plain BM25 succeeds for three
//! tasks in four. The rest needs knowledge that the catalog's text does not contain, so a field-weighted index is
//! combined with
//!
//! - `language/words`: tables of technical synonyms and phrases, with `language/stem` for inflected forms, and of
//!   everyday expressions, with `language/idiom`;
//! - `query/intent`: distinguishes "delete the branch" from "which branches were deleted";
//! - `index/services`: a task that names a service, such as "a jira ticket", means its operations;
//! - `index/names`: a query that is the name of an operation finds that operation first, even with typos;
//! - `query/expand`: guesses for unknown words: typos, and words joined or split (`keyvault`).
//!
//! The index is immutable and built once per catalog. It holds positions, not operations. A search never fails;
//! meaningless text has no hits. Hits far below the best are dropped, because every line costs the model tokens.
//!
//! There is no embedding model: it would be larger than the rest of the program, slower by orders of magnitude, and
//! could not explain why an operation was not found.

mod index;
mod language;
mod query;
mod tuning;

#[cfg(test)]
mod tests;

pub use index::search_index::Document;
pub use index::search_index::DocumentParameter;
pub use index::search_index::SearchIndex;
pub use query::search::Hit;
