//! Checks of requests that follow or break the description.

pub(super) mod fidelity;
pub(super) mod parameters;
pub(super) mod routing;
