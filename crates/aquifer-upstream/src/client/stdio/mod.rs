//! A connection over the pipes of a child process.

pub(crate) mod ancestry;
pub(crate) mod child;
pub(super) mod pipe;
pub(super) mod serve;
