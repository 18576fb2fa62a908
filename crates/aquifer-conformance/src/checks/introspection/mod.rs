//! Checks of what the server says of itself.

pub(super) mod details;
pub(super) mod lists;
pub(super) mod members;
