//! Queries: from the text of a task to ranked operations.

mod expand;
mod intent;
mod parse;
mod rank;
pub(crate) mod search;
