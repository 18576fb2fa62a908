//! A database as a source: reflects the schema, offers operations, and answers calls.

mod backend;
mod examples;
mod freshness;
mod overview;
mod query_sql;
mod reading;
mod reflection;
mod rehearsal;
mod source;
mod whole_rows;

pub use source::Database;
