//! A table as it is offered.

use std::sync::{Arc, OnceLock};

use aquifer_protocol::schema::Parameter;
use aquifer_query::plan::Path;
use aquifer_query::{Collection, FieldType};

use crate::rows::SelectionCache;
use crate::schema::model::Table;
use crate::schema::names::Words;
use crate::statement::{Fragment, Name};

/// A table as it is offered.
#[derive(Debug)]
pub(crate) struct ExposedTable {
    pub(crate) table: Table,
    pub(crate) words: Words,
    /// What the database calls the table, with its schema where that is not the first one.
    pub(crate) label: Arc<str>,
    pub(crate) collection: Collection,
    pub(crate) computed: Vec<ComputedSource>,
    /// What has been asked for before.
    pub(crate) selections: SelectionCache,
    /// The parts of a row that is asked for without saying which.
    pub(crate) whole: OnceLock<Arc<[Path]>>,
    /// What the objects in generic requests hold, once there was one.
    pub(crate) generic_shapes: OnceLock<GenericShapes>,
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
    ChildCount(ChildCount),
}

#[derive(Debug)]
pub(crate) struct ChildCount {
    pub(crate) table: Name,
    /// Where that table stands among all.
    pub(crate) index: usize,
    /// Their column and ours.
    pub(crate) on: Vec<(Name, Name)>,
}

impl ExposedTable {
    /// Everything a caller may call the table: its rows' names first, then its own.
    pub(crate) fn names(&self) -> Vec<String> {
        let (words, table) = (&self.words, &self.table);
        vec![words.plural.clone(), words.singular.clone(), table.name.to_string(), table.full_name()]
    }

    /// What callers call a column that the database names.
    pub(crate) fn field_name(&self, column: &str) -> Option<&str> {
        if self.table.is_withheld(column) {
            return None;
        }
        self.table.column(column).map(|column| &*column.name)
    }
}

/// What the objects in generic requests hold for one table.
#[derive(Debug)]
pub(crate) struct GenericShapes {
    pub(crate) key: Parameter,
    pub(crate) values: Parameter,
    pub(crate) input: Parameter,
}

impl GenericShapes {
    pub(crate) fn get(&self, place: &str) -> &Parameter {
        match place {
            "key" => &self.key,
            "values" => &self.values,
            _ => &self.input,
        }
    }
}
