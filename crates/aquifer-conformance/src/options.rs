//! The options of a run.

use std::sync::Arc;
use std::time::Duration;

use crate::published::SpecSchemas;

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
    /// The published schemas, if a checkout of the specification is at hand. Without them, answers are compared with the
    /// restated shapes only.
    pub spec: Option<Arc<SpecSchemas>>,
    /// Only checks whose names begin with one of these run; all if empty. What a level needs is then missing.
    pub only: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            level: 2,
            allow_writes: false,
            deadline: Duration::from_secs(10),
            max_operations: 200,
            max_rows: 2_000,
            spec: None,
            only: Vec::new(),
        }
    }
}
