//! What the protocol promises, as tables of requests and answers. Test names cite the requirement they hold.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod batch;
mod check;
mod errors;
mod fixture;
mod introspect;
mod marks;
mod properties;
mod request;
mod response;
mod schema;
mod schema_definitions;
mod secrets;
mod signatures;
mod suggestions;
mod surface;
