//! SQLite: cheap reads run inline, everything else on blocking threads.

mod backend;
mod collation;
mod column_kind;
mod error;
mod full_text;
mod functions;
mod pool;
mod query_sql;
mod reflect;
mod rows;
mod session;
mod slow_reads;
mod time_formats;
mod views;
mod writability;

pub(crate) use backend::Sqlite;
pub(crate) use pool::Location;
