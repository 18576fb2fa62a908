//! Reads the newest entries of the audit, page by page.
//!
//! Files are read backwards and merged by time, so a page costs about as much as its entries, however much was written.
//! A page ends early, with a [`Cursor`] to go on from, when it has examined too much without finding enough. Nothing
//! here proves that the entries are genuine: that is what [`verify`](super::verify()) is for. Lines that are no entries
//! are skipped.

mod backward;
mod cursor;
mod files;
mod filter;
mod page;
mod store;

use jiff::Timestamp;

pub use cursor::Cursor;
pub use cursor::CursorError;
pub use files::read_files;
pub use filter::EntryFilter;
pub use page::EntryPage;
pub use store::read_store;

/// Which entries to read.
#[derive(Debug, Clone)]
pub struct EntryQuery {
    /// The entries that are wanted.
    pub filter: EntryFilter,
    /// Maximum number of entries of a page.
    pub limit: usize,
    /// Go on after this one: only older entries are read.
    pub before: Option<Cursor>,
}

impl EntryQuery {
    /// The newest entries.
    pub fn newest(limit: usize) -> Self {
        Self { filter: EntryFilter::default(), limit, before: None }
    }

    /// Only entries before this position are wanted.
    fn end(&self) -> Cursor {
        let time = self.filter.to.unwrap_or(Timestamp::MAX);
        // After every other position of this time.
        let last = Cursor { time, place: char::MAX.to_string(), index: u64::MAX };
        self.before.clone().map_or(last.clone(), |before| before.min(last))
    }
}
