//! A sample of a table's rows, for its overview.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

#[derive(Debug, Clone, Default)]
pub(crate) struct TableSample {
    pub(crate) rows: Option<RowCount>,
    /// The statement of a view.
    pub(crate) definition: Option<String>,
    /// The keys of the objects in a JSON column, by its field name, the most frequent first.
    pub(crate) keys: Vec<(Arc<str>, Vec<String>)>,
}

/// An exact or approximate number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowCount {
    About(u64),
    MoreThan(u64),
}

impl RowCount {
    /// Whether there are more rows than this.
    pub(crate) fn exceeds(self, rows: u64) -> bool {
        match self {
            RowCount::About(count) => count > rows,
            RowCount::MoreThan(count) => count >= rows,
        }
    }
}

/// The last sample of a table, so that overviews need not sample every table each time.
#[derive(Debug, Default)]
pub(crate) struct SampleCache(Mutex<Option<(Instant, Arc<TableSample>)>>);

impl SampleCache {
    /// The sample, unless it is too old.
    pub(crate) fn get(&self) -> Option<Arc<TableSample>> {
        const TTL: Duration = Duration::from_secs(10 * 60);
        let cached = self.0.lock();
        cached.as_ref().filter(|(taken_at, _)| taken_at.elapsed() < TTL).map(|(_, sample)| sample.clone())
    }

    pub(crate) fn set(&self, sample: Arc<TableSample>) {
        *self.0.lock() = Some((Instant::now(), sample));
    }
}
