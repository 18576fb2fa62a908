//! From what a person writes to the source it means.

use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::Source;

use crate::task_board::Board;

/// Opens a source.
pub(crate) fn open(target: &str) -> anyhow::Result<Arc<dyn Source>> {
    match target {
        "demo:" | "demo" => demo(),
        other => bail!(
            "unknown source '{other}'. This version serves: demo: (the task board). \
             Adapters written in Rust are served with the aquifer-server crate: see docs/adapters.md"
        ),
    }
}

/// The task board of the examples.
pub(crate) fn demo() -> anyhow::Result<Arc<dyn Source>> {
    Board::default().into_adapter("tasks").build().context("the demo cannot be built")
}
