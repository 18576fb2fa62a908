//! The work of each operation, in one transaction, written once for all databases.

mod cascade;
pub(crate) mod change;
mod dry_run_create;
pub(crate) mod example_rows;
mod explain;
pub(crate) mod fair_permits;
mod labels;
mod merge;
mod output;
pub(crate) mod probe;
pub(crate) mod read;
pub(crate) mod rehearsal;
pub(crate) mod relationships;
pub(crate) mod sample;
pub(crate) mod session;
pub(crate) mod traced;

pub(crate) use output::OperationOutput;
