//! Running an upstream: processes, restarts, the cached catalog, pinned definitions and their review.

mod accepted_definitions;
mod cache;
mod capabilities;
pub(crate) mod lifecycle;
mod pins;
mod review;
mod snapshot_updates;

pub use pins::DefinitionObserver;
pub use pins::PinStore;
pub use review::Examination;
pub use review::Finding;
pub use review::ReviewError;
pub use review::examine;
