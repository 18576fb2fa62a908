//! MCP-AQL itself: requests, operations, validation, introspection and responses.
//!
//! Everything here is pure: no runtime, no clock, no files, no MCP and no SQL. A request passes through the modules in
//! this order: [`scan`] checks its bytes, [`request`] parses it, [`validate`] finds its operation in a [`catalog`] and
//! checks its parameters, and [`response`] wraps the result. [`introspect`] and [`surface`] describe the catalog;
//! `assembly`, above all of them, builds it. A module uses only modules below it.

mod assembly;
pub mod catalog;
pub mod error;
pub mod introspect;
pub mod limits;
mod message;
pub mod scan;
pub mod schema;
pub mod surface;
pub mod text;
pub mod validate;

pub use catalog::{category, danger, effect, operation, protocol_types, published, requirement, trust};
pub use message::{batch, reference, request, response, warning};
pub use text::{canonical_json, case, exact_number, glob, hex, inflect, percent, secrets, spelling, suggest};
