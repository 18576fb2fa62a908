//! Signatures: one line for each operation, in the notation of a typed function, sufficient to call it (R-EXT-1).
//!
//! ```text
//! create_issue(owner: string, repo: string, title: string, labels?: string[]) create: Create a new issue
//! ```
//!
//! A line contains untrusted text: descriptions, enum values and names inside objects. None of it can start a new line:
//! whitespace in descriptions is collapsed, and everything else that is not a plain word is quoted as JSON. The length
//! of every line is limited, whatever its schema.

mod line;
mod notation;
mod related;
mod requirement;
mod summary;

pub use line::Mark;
pub use line::SignatureWriter;
pub use notation::plain_or_quoted;
pub use notation::plain_values;
pub use related::related_operations;
