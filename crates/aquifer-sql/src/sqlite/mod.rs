//! SQLite: reads in passing where they are soon done, everything else on threads that may block.

mod backend;
mod collation;
mod column_kind;
mod error;
mod full_text;
mod functions;
mod pool;
mod reflect;
mod rows;
mod session;
mod time_formats;
mod views;

pub(crate) use backend::Sqlite;
pub(crate) use pool::Location;
