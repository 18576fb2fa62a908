//! Pages of a list of operations. A cursor is valid only for the list and the catalog that it was issued for.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;

use super::Narrowing;

/// The position of a page.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// Whether there are more operations.
    pub has_next_page: bool,
    /// The cursor of the next page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_cursor: Option<String>,
    /// The number of operations in the whole list.
    pub total_count: usize,
}

/// A position in a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    offset: usize,
    list: u64,
}

impl Cursor {
    /// The position after `offset` operations of the list that `narrowing` selects from the catalog with this digest.
    pub fn new(offset: usize, narrowing: &Narrowing, catalog: u64) -> Self {
        Self { offset, list: fingerprint(narrowing, catalog) }
    }

    /// The offset of a cursor, if the cursor belongs to this list.
    pub fn read(text: &str, narrowing: &Narrowing, catalog: u64) -> Option<usize> {
        let (offset, list) = text.split_once('.')?;
        let list = u64::from_str_radix(list, 16).ok()?;
        let offset = usize::from_str_radix(offset, 16).ok()?;
        (list == fingerprint(narrowing, catalog)).then_some(offset)
    }
}

impl std::fmt::Display for Cursor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:x}.{:x}", self.offset, self.list)
    }
}

/// Identifies a list. Page size and position may differ from page to page.
fn fingerprint(narrowing: &Narrowing, catalog: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    let list = Narrowing { first: None, after: None, ..narrowing.clone() };
    (list, catalog).hash(&mut hasher);
    // A short fingerprint is enough to distinguish lists, and costs fewer tokens.
    hasher.finish() >> 24
}
