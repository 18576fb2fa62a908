//! PostgreSQL: pools with read-only and writing sessions, prepared statements, and cancellation of abandoned queries.

mod backend;
mod catalog;
mod code_catalog;
mod connection;
mod effects;
mod error;
mod explain;
mod expression;
mod fingerprint;
mod lineage;
mod pool;
mod query_sql;
mod reflect;
mod rows;
mod safe_code;
mod session;
mod tls;
mod tls_stream;
mod trigger_body;
mod url;

pub(crate) use backend::Postgres;
