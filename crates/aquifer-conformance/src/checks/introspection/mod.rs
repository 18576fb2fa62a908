//! Checks of the description of the server.

pub(super) mod details;
pub(super) mod lists;
