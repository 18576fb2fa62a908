//! Descriptions become operations and routes.

mod bodies;
mod hostile;
#[cfg(feature = "test-descriptions")]
mod installed;
#[cfg(feature = "test-descriptions")]
mod invalid;
mod reading;
mod security;
#[cfg(feature = "test-descriptions")]
pub(crate) mod survey;
mod swagger;
