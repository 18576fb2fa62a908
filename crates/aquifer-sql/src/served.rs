//! A table as it is offered.

use std::sync::{Arc, OnceLock};

use aquifer_query::plan::Path;
use aquifer_query::{Collection, FieldType};

use crate::model::Table;
use crate::names::Words;
use crate::sql::selection::Selections;
use crate::statement::{Fragment, Name};

/// A table as it is offered.
#[derive(Debug)]
pub(crate) struct Served {
    pub(crate) table: Table,
    pub(crate) words: Words,
    pub(crate) collection: Collection,
    pub(crate) computed: Vec<ComputedSource>,
    /// The parameter for each column, in the columns' order.
    pub(crate) parameters: Vec<Arc<str>>,
    /// What has been asked for before.
    pub(crate) selections: Selections,
    /// The parts of a row that is asked for without saying which.
    pub(crate) whole: OnceLock<Arc<[Path]>>,
}

/// Where a computed value comes from.
#[derive(Debug)]
pub(crate) struct ComputedSource {
    pub(crate) name: Arc<str>,
    pub(crate) of: FieldType,
    pub(crate) nullable: bool,
    pub(crate) formula: Formula,
}

#[derive(Debug)]
pub(crate) enum Formula {
    /// What the operator wrote.
    Operator(Fragment),
    /// Whole days since the moment in this column.
    AgeDays(usize),
    /// How many rows elsewhere refer to this one.
    Children(Children),
}

#[derive(Debug)]
pub(crate) struct Children {
    pub(crate) table: Name,
    /// Where that table stands among all.
    pub(crate) index: usize,
    /// Their column and ours.
    pub(crate) on: Vec<(Name, Name)>,
}

impl Served {
    /// Everything a caller may call the table: its rows' names first, then its own.
    pub(crate) fn names(&self) -> Vec<String> {
        let (words, table) = (&self.words, &self.table);
        vec![words.plural.clone(), words.singular.clone(), table.name.to_string(), table.full_name()]
    }

    /// The parameter that stands for a column.
    pub(crate) fn parameter(&self, column: &str) -> Option<&str> {
        let position = self.table.columns.iter().position(|known| &*known.name == column)?;
        self.parameters.get(position).map(|name| &**name)
    }
}
