//! The state store as a sink: one record per line.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};

/// Maximum number of lines that wait for an unavailable store. Beyond that, entries are refused.
const MAX_BACKLOG: usize = 4096;

/// The key of a line.
pub(super) fn key(chain: &str, sequence: u64) -> String {
    format!("audit/line/{chain}/{sequence:012}")
}

/// Writes lines to the store in order. Lines queue up while the store is unavailable.
#[derive(Debug)]
pub(super) struct StoreSink {
    pub(super) keep: Duration,
    waiting: VecDeque<(String, Arc<[u8]>)>,
}

impl StoreSink {
    pub(super) fn new(keep: Duration) -> Self {
        Self { keep, waiting: VecDeque::new() }
    }

    /// Whether there is room for `more` lines.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.waiting.len().saturating_add(more) <= MAX_BACKLOG
    }

    /// Adds a line, given without its newline.
    pub(super) fn add(&mut self, chain: &str, sequence: u64, line: &[u8]) {
        self.waiting.push_back((key(chain, sequence), line.into()));
    }

    /// The waiting lines.
    pub(super) fn waiting(&self) -> Vec<(String, Arc<[u8]>)> {
        self.waiting.iter().cloned().collect()
    }

    /// Removes all waiting lines after they were written.
    pub(super) fn done(&mut self) {
        self.waiting.clear();
    }
}

/// Writes the lines. A line that already exists was written by an earlier attempt whose response was lost.
pub(super) async fn write(
    store: &dyn StateStore,
    lines: Vec<(String, Arc<[u8]>)>,
    keep: Duration,
) -> Result<(), StoreError> {
    for (key, line) in lines {
        if store.compare_and_set(&key, None, line.to_vec(), keep).await? {
            continue;
        }
        if store.get(&key).await?.is_none_or(|record| record.value != *line) {
            return Err(StoreError(format!("{key} already holds a different line")));
        }
    }
    Ok(())
}
