//! SQLite and PostgreSQL as sources.
//!
//! [`Database::reflect`] reads the schema of a database into a model of its tables, from which operations are derived.
//! A call becomes a plan of the query language, the plan becomes SQL, and the rows become JSON text that is not parsed
//! again. This crate does not depend on MCP or on the caller.
//!
//! Without the feature `postgres`, PostgreSQL targets are refused; the code that generates and parses its SQL is still
//! included.
#![cfg_attr(not(feature = "postgres"), allow(dead_code, unused_imports, reason = "only PostgreSQL uses it"))]

mod database;
mod error;
mod offer;
#[cfg_attr(not(feature = "postgres"), path = "postgres/unavailable.rs")]
mod postgres;
mod query_sql;
mod rows;
mod schema;
mod settings;
mod sql;
mod sqlite;
mod statement;
mod work;

pub use database::Database;
pub use settings::AUTO_STYLE_MAX_TABLES;
pub use settings::ComputedSettings;
pub use settings::Settings;
pub use settings::Style;
pub use settings::TableSettings;
pub use settings::Target;
pub use settings::TargetError;
pub use settings::memory_name;
