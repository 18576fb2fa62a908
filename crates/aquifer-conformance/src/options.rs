//! The options of a run.

use std::time::Duration;

/// The permissions and limits of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The requested level. Level 1 omits the checks of level 2.
    pub level: u8,
    /// Whether the run may create, change and delete.
    pub allow_writes: bool,
    /// The time limit for one answer.
    pub deadline: Duration,
    /// Maximum number of operations that are described and checked. A larger catalog is sampled.
    pub max_operations: usize,
    /// Maximum number of rows read from a collection.
    pub max_rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { level: 2, allow_writes: false, deadline: Duration::from_secs(10), max_operations: 200, max_rows: 2_000 }
    }
}
