//! MCP-AQL itself: requests, operations, validation, introspection and responses.
//!
//! Everything here is pure: no runtime, no clock, no file, no MCP and no SQL. A request walks forward through the
//! modules: [`scan`] looks at its bytes, [`request`] reads it, [`validate`] finds and checks its operation in a
//! [`catalog`], and [`response`] wraps the result. [`introspect`] and [`surface`] describe the catalog.

pub mod batch;
pub mod canonical_json;
pub mod case;
pub mod catalog;
pub mod category;
mod claims;
pub mod danger;
pub mod error;
pub mod glob;
pub mod hex;
pub mod introspect;
pub mod limits;
pub mod operation;
pub mod protocol_types;
pub mod request;
pub mod response;
pub mod scan;
pub mod schema;
pub mod secrets;
pub mod spelling;
pub mod suggest;
pub mod surface;
pub mod text;
pub mod trust;
pub mod validate;
pub mod warning;
