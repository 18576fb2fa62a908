//! State in memory, in SQLite and in a real Redis behaves the same, and recovers from faults.
#![allow(clippy::print_stdout, reason = "one process of a test tells another, and a failure, how far it came")]

mod agreement;
mod behaviours;
mod destinations;
mod processes;
mod redis_faults;
pub(crate) mod redis_server;
pub(crate) mod setup;
mod sqlite_faults;
mod sqlite_file;
