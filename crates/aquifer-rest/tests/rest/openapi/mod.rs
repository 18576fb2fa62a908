//! Descriptions become operations and routes.

mod bodies;
#[cfg(feature = "test-descriptions")]
mod installed;
mod reading;
mod swagger;
