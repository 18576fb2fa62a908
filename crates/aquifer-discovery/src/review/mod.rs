//! What people decide about tools, and what they have accepted.

pub mod overrides;
pub mod pins;
