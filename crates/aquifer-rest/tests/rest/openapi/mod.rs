//! Descriptions become operations and routes.

#[cfg(feature = "test-descriptions")]
mod installed;
mod reading;
mod swagger;
