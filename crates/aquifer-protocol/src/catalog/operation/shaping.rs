//! How results are shaped for sources that have no query language.

use std::sync::Arc;

/// How results are shaped after a source returned them, by parameters that the source never sees.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shaping {
    /// The parameters that shape results. All others belong to the source.
    pub controls: Vec<Arc<str>>,
    /// Where the rows of a result are. Filters, order, aggregates and pages need them (R-DIS-8a).
    pub rows: RowPlace,
    /// Whether the source returns lists page by page, and is asked for the next page when more rows are needed.
    pub is_paged: bool,
    /// The maximum number of pages that one call fetches, if it is not that of all operations.
    pub max_pages: Option<usize>,
    /// The fields of a result that are returned if the caller asks for none.
    pub default_fields: Vec<Arc<str>>,
    /// Whether the source is told which fields are needed, and may leave out the others.
    pub sends_fields: bool,
}

/// Where the rows of an operation's results are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum RowPlace {
    /// Its results are not known to have rows.
    #[default]
    Unknown,
    /// Its results have rows, which are located in each result.
    Detected,
    /// In the list with this path, such as `data.items`, or `$` for the result itself.
    Path {
        /// The path.
        path: Arc<str>,
        /// Whether the operator configured it.
        is_configured: bool,
        /// Whether the list is a part of an object that has more than the list and what describes it. Without controls
        /// for rows, `fields` are those of that object.
        is_part: bool,
    },
}

impl RowPlace {
    /// A path that the operator configured.
    pub fn configured(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: true, is_part: false }
    }

    /// A path that a definition declares or an earlier result had.
    pub fn known(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: false, is_part: false }
    }

    /// A path, declared or seen, to a list that is a part of an object.
    pub fn part(path: &str) -> Self {
        RowPlace::Path { path: path.into(), is_configured: false, is_part: true }
    }

    /// The same place, where the list is all that results consist of.
    #[must_use]
    pub fn as_list(self) -> Self {
        match self {
            RowPlace::Path { path, is_configured, .. } => RowPlace::Path { path, is_configured, is_part: false },
            other => other,
        }
    }

    /// Whether the list is a part of an object.
    pub fn is_part(&self) -> bool {
        matches!(self, RowPlace::Path { is_part: true, .. })
    }

    /// Whether results are known to have rows.
    pub fn is_known(&self) -> bool {
        *self != RowPlace::Unknown
    }
}
