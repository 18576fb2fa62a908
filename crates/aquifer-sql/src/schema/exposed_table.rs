//! A table as callers see it.

use std::sync::{Arc, OnceLock};

use aquifer_protocol::schema::Parameter;
use aquifer_query::collection::Cardinality;
use aquifer_query::plan::Path;
use aquifer_query::{Collection, FieldType};

use crate::rows::SelectionCache;
use crate::rows::time_digits::TimeDigits;
use crate::schema::model::Table;
use crate::schema::names::Words;
use crate::schema::table_sample::SampleCache;
use crate::statement::{Fragment, Name};

/// A table as callers see it.
#[derive(Debug)]
pub(crate) struct ExposedTable {
    pub(crate) table: Table,
    pub(crate) words: Words,
    /// The name of the table in the database, qualified if it is not in the first schema.
    pub(crate) label: Arc<str>,
    pub(crate) collection: Collection,
    pub(crate) computed: Vec<ComputedSource>,
    /// The references that paths can follow, in the order of the collection's references.
    pub(crate) references: Vec<TableReference>,
    /// Recently used selections.
    pub(crate) selections: SelectionCache,
    /// The default selection of a single row.
    pub(crate) whole: OnceLock<Arc<[Path]>>,
    /// The objects of generic requests, created on first use.
    pub(crate) generic_shapes: OnceLock<GenericShapes>,
    /// The last sample of its rows.
    pub(crate) sample: SampleCache,
}

/// All tables that callers see. References name them by index.
pub(crate) type ExposedTables = Arc<[Arc<ExposedTable>]>;

/// A reference that paths can follow.
#[derive(Debug)]
pub(crate) struct TableReference {
    pub(crate) name: Arc<str>,
    pub(crate) cardinality: Cardinality,
    /// The index of the other table.
    pub(crate) to: usize,
    /// Pairs of this table's column and the other table's column.
    pub(crate) on: Vec<(Name, Name)>,
}

/// The source of a computed field.
#[derive(Debug)]
pub(crate) struct ComputedSource {
    pub(crate) name: Arc<str>,
    pub(crate) field_type: FieldType,
    pub(crate) nullable: bool,
    /// Digits after the second, if its values are times.
    pub(crate) digits: TimeDigits,
    pub(crate) formula: Formula,
}

#[derive(Debug)]
pub(crate) enum Formula {
    /// An SQL expression of the operator.
    Operator(Fragment),
    /// Whole days since the time in this column.
    AgeDays(usize),
    /// How many rows of another table refer to this row.
    ChildCount(ChildCount),
}

#[derive(Debug)]
pub(crate) struct ChildCount {
    pub(crate) table: Name,
    /// The index of that table.
    pub(crate) index: usize,
    /// Pairs of the other table's column and this table's column.
    pub(crate) on: Vec<(Name, Name)>,
}

impl ExposedTable {
    /// All names of the table for callers: those of its rows first, then its own.
    pub(crate) fn names(&self) -> Vec<String> {
        let (words, table) = (&self.words, &self.table);
        vec![words.plural.clone(), words.singular.clone(), table.name.to_string(), table.full_name()]
    }

    /// The reference of this name.
    pub(crate) fn reference(&self, name: &str, cardinality: Cardinality) -> Option<&TableReference> {
        self.references.iter().find(|known| *known.name == *name && known.cardinality == cardinality)
    }

    /// The field name of a database column. `None` for hidden columns.
    pub(crate) fn field_name(&self, column: &str) -> Option<&str> {
        if self.table.is_withheld(column) {
            return None;
        }
        self.table.column(column).map(|column| &*column.name)
    }
}

/// The parameters of the objects in generic requests for one table.
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
