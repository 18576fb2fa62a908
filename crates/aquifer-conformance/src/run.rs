//! A whole run: connect, read what the server says of itself, check it, put everything back.

use std::time::Duration;

use crate::record::Record;
use crate::report::{Report, Verdict};

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

/// How far a run has come.
#[derive(Clone, Debug)]
pub enum Progress {
    /// A surface was opened: `semantic over stdio`.
    Connected(String),
    /// So many operations and types are known.
    Described {
        /// Operations in the list.
        operations: usize,
        /// Types in the list.
        types: usize,
    },
    /// A check begins.
    Checking {
        /// Its place, from 1.
        number: usize,
        /// Of how many.
        of: usize,
        /// The check's stable name.
        id: &'static str,
    },
    /// A check came out.
    Checked {
        /// The check's stable name.
        id: &'static str,
        /// How.
        result: Verdict,
    },
}

/// What a run brings home.
#[derive(Clone, Debug)]
pub struct Run {
    /// The verdicts.
    pub report: Report,
    /// What they rest on.
    pub record: Record,
}
