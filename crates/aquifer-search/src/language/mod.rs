//! Knowledge of English and of the words people in this trade use.

pub(crate) mod idiom;
pub(crate) mod phrase;
mod stem;
pub(crate) mod text;
pub(crate) mod thesaurus;
mod words;
