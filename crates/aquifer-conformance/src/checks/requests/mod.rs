//! Checks of requests that follow or violate the description.

pub(super) mod fidelity;
pub(super) mod parameters;
pub(super) mod routing;
