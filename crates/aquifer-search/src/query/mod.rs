//! Queries: from the text of a task to ranked operations.

mod expand;
mod intent;
pub(crate) mod parse;
mod rank;
