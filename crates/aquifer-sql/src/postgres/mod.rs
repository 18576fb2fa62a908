//! PostgreSQL: a pool whose sessions for reading cannot write, prepared statements, and queries that end when nobody
//! waits for them.

mod backend;
mod code;
mod connection;
mod effects;
mod error;
mod explain;
mod expression;
mod fingerprint;
mod lineage;
mod pool;
mod reflect;
mod rows;
mod safe_code;
mod session;
mod tls;
mod url;

pub(crate) use backend::Postgres;
