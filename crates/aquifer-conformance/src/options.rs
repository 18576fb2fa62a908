//! The options of a run.

use std::time::Duration;

/// What a run may do, and its limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// The requested level. Level 1 leaves out the checks of level 2.
    pub level: u8,
    /// Whether the run may create, change and delete.
    pub allow_writes: bool,
    /// The time limit for one answer.
    pub deadline: Duration,
    /// How many operations are described and checked. A larger catalog is sampled.
    pub max_operations: usize,
    /// How many rows of a collection are read.
    pub max_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 2, allow_writes: false, deadline: Duration::from_secs(10), max_operations: 200, max_rows: 2_000 }
    }
}
