//! The index: how it is built from documents, and what it holds.

mod build;
mod compounds;
pub(crate) mod lexicon;
pub(crate) mod names;
pub(crate) mod search_index;
pub(crate) mod services;
