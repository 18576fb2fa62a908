//! Signatures: one line for each operation, in the notation of a typed function, enough to call it (R-EXT-1).
//!
//! ```text
//! create_issue(owner: string, repo: string, title: string, labels?: string[]) create: Create a new issue
//! ```
//!
//! A line holds text of other people: descriptions, enum values and names inside objects. None of it can end a line or
//! begin another one: whitespace in descriptions is folded, and everything else that is not a plain word is quoted as
//! JSON. Every line is bounded, whatever its schema is.

mod line;
mod notation;
mod related;
mod summary;

pub use line::Mark;
pub use line::SignatureWriter;
pub use notation::plain_or_quoted;
pub use notation::plain_values;
pub use related::related_operations;
