//! Checks that write.

pub(super) mod confirm;
pub(super) mod constraints;
pub(super) mod roundtrip;
