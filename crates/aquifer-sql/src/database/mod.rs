//! A database as a source: it is reflected, offers what was found, and answers calls.

mod backend;
mod reflection;
mod source;

pub use source::Database;
