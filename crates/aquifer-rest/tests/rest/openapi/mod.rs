//! Descriptions become operations and routes.

mod bodies;
mod hostile;
#[cfg(feature = "test-descriptions")]
pub(crate) mod installed;
mod reading;
mod swagger;
