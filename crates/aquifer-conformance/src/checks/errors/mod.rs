//! Checks of failures, and of what must hold for all answers.

pub(super) mod invariants;
pub(super) mod malformed;
pub(super) mod refusals;
