//! The engine with real adapters: pipeline, batches, introspection, executions. Test names cite requirements.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod adapter;
mod batch;
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
mod store;
#[path = "../../../../examples/task_board.rs"]
mod task_board;
mod walk;
