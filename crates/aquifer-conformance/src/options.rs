//! The options of a run.

use std::time::Duration;

/// What a run may do, and how far it goes.
#[derive(Clone, Debug)]
pub struct Options {
    /// The level that is asked for: 1 leaves out the checks of level 2.
    pub level: u8,
    /// Whether the run may create, change and delete.
    pub allow_writes: bool,
    /// How long one answer may take.
    pub deadline: Duration,
    /// How many operations are asked for their details and probed; a larger catalogue is sampled.
    pub max_operations: usize,
    /// How many rows of one collection are walked.
    pub max_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 2, allow_writes: false, deadline: Duration::from_secs(10), max_operations: 200, max_rows: 2_000 }
    }
}
