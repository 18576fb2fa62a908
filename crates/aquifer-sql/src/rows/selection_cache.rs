//! Caches the columns and output fields of field selections, for each table.

use std::sync::Arc;

use aquifer_query::plan::Path;
use parking_lot::RwLock;

use super::{CellType, OutputField};
use crate::statement::Fragment;

/// The SQL and the fields of a selection.
#[derive(Debug)]
pub(crate) struct CachedSelection {
    pub(crate) select: Arc<[Path]>,
    pub(crate) text: Fragment,
    pub(crate) known: Vec<(Path, usize, CellType)>,
    pub(crate) fields: Arc<[OutputField]>,
}

/// Recent selections. Most calls select the same few fields.
#[derive(Debug, Default)]
pub(crate) struct SelectionCache(RwLock<Vec<Arc<CachedSelection>>>);

impl SelectionCache {
    /// Maximum number of cached selections. Later ones are not cached.
    const MAX_SELECTIONS: usize = 8;

    pub(crate) fn get(&self, select: &[Path]) -> Option<Arc<CachedSelection>> {
        let selections = self.0.read();
        // Comparing the pointer first is cheap and usually succeeds.
        selections.iter().find(|cached| std::ptr::eq(&*cached.select, select) || *cached.select == *select).cloned()
    }

    pub(crate) fn insert(&self, selection: CachedSelection) {
        let mut selections = self.0.write();
        if selections.len() < Self::MAX_SELECTIONS {
            selections.push(Arc::new(selection));
        }
    }
}
