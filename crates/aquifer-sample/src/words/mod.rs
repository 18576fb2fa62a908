//! The word lists that the rows are generated from.

pub(crate) mod kinds;
pub(crate) mod letters;
pub(crate) mod places;
pub(crate) mod topics;
