//! A database as a source: it is reflected, offers what was found, and answers calls.

mod backend;
mod overview;
mod query_sql;
mod reflection;
mod rehearsal;
mod source;

pub use source::Database;
