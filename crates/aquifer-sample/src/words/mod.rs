//! The words that the rows are made of.

pub(crate) mod kinds;
pub(crate) mod letters;
pub(crate) mod places;
pub(crate) mod topics;
