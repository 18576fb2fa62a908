//! Knowledge of English and of technical terms.

pub(crate) mod idiom;
pub(crate) mod phrase;
mod stem;
pub(crate) mod text;
pub(crate) mod thesaurus;
mod words;
