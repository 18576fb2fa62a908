//! The tables of a source, as an overview of its schema needs them.

use std::sync::Arc;

/// A table of a source, as needed for an overview. Tables that policy conceals are left out, as in
/// [`TableSource::conceal`](super::TableSource::conceal).
#[derive(Debug, Clone, Default)]
pub struct TableSummary {
    /// Its name for callers.
    pub name: Arc<str>,
    /// Its operations, by their own names. The first one reads its rows.
    pub operations: Vec<Arc<str>>,
    /// How many references lead to it and from it.
    pub reference_count: usize,
    /// Text that a search for the table matches.
    pub description: String,
}

/// The description of tables.
#[derive(Debug, Clone, Default)]
pub struct TableLines {
    /// One line for each table that still exists.
    pub lines: Vec<String>,
    /// Notes that apply to several lines.
    pub notes: Vec<String>,
    /// Operations on all tables, by their own names, each with a short description.
    pub operations: Vec<(Arc<str>, String)>,
}
