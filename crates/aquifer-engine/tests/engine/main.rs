//! The engine with real adapters: pipeline, batches, introspection, executions. Test names cite requirements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod adapter;
mod batch;
mod batch_flow;
mod batch_time;
mod execution;
mod fixture;
mod gate;
#[cfg(target_os = "linux")]
mod growth;
mod introspection;
mod lists;
mod mounts;
mod outdated;
mod pipeline;
mod protection;
mod removed;
mod shape;
mod signatures;
mod store;
#[path = "../../../aquifer-adapter/examples/task_board.rs"]
#[allow(dead_code, reason = "the example has a main of its own")]
mod task_board;
mod walk;
mod wire_log;
