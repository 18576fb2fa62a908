//! Checks of failures, and of invariants of all answers.

pub(super) mod invariants;
pub(super) mod malformed;
pub(super) mod refusals;
