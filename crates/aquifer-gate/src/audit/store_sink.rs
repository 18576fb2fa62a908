//! Lines in the state store, one record each.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};

/// Lines that wait for a store that is away. When there are more, nothing is taken any more.
const MAX_BACKLOG: usize = 4096;

/// The key of a line.
pub(super) fn key(chain: &str, sequence: u64) -> String {
    format!("audit/line/{chain}/{sequence:012}")
}

/// Writes lines into the store, in their order, each of them sooner or later.
#[derive(Debug)]
pub(super) struct StoreSink {
    pub(super) keep: Duration,
    waiting: VecDeque<(String, Arc<[u8]>)>,
}

impl StoreSink {
    pub(super) fn new(keep: Duration) -> Self {
        Self { keep, waiting: VecDeque::new() }
    }

    /// Whether so many more can wait.
    pub(super) fn has_room(&self, more: usize) -> bool {
        self.waiting.len().saturating_add(more) <= MAX_BACKLOG
    }

    /// Adds a line, given without its newline.
    pub(super) fn add(&mut self, chain: &str, sequence: u64, line: &[u8]) {
        self.waiting.push_back((key(chain, sequence), line.into()));
    }

    /// What is to be written now.
    pub(super) fn waiting(&self) -> Vec<(String, Arc<[u8]>)> {
        self.waiting.iter().cloned().collect()
    }

    /// All of it is written.
    pub(super) fn done(&mut self) {
        self.waiting.clear();
    }
}

/// Writes the lines. One that is there already was written by an attempt whose answer did not arrive.
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
            return Err(StoreError(format!("{key} is another line already")));
        }
    }
    Ok(())
}
