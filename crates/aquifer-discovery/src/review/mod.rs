//! Decisions of reviewers, and pinned definitions.

pub mod overrides;
pub mod pins;
