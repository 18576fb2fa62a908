//! Descriptions become operations and routes.

mod bodies;
mod hostile;
mod installed;
mod invalid;
mod reading;
mod security;
pub(crate) mod survey;
mod swagger;
