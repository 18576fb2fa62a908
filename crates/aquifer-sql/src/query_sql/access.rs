//! The tables and columns that callers' statements may read.

use std::sync::Arc;

use crate::rows::CellType;
use crate::schema::model::{SchemaStamp, SqliteStore, Store, Table};
use crate::statement::Name;

/// The tables and columns that callers' statements may read.
#[derive(Debug)]
pub(crate) struct SqlAccess {
    /// In the order of the offer's tables.
    pub(crate) tables: Vec<SqlTable>,
    /// The schema version that this was built from, if it can change without notice.
    pub(crate) stamp: Option<SchemaStamp>,
}

/// A served table or view.
#[derive(Debug)]
pub(crate) struct SqlTable {
    pub(crate) schema: Option<Arc<str>>,
    pub(crate) name: Arc<str>,
    /// Whether callers may see it.
    pub(crate) is_shown: bool,
    pub(crate) columns: Vec<SqlColumn>,
    /// Columns that exist only for a full-text index that callers may search.
    pub(crate) index_columns: Vec<Arc<str>>,
}

/// A served column.
#[derive(Debug)]
pub(crate) struct SqlColumn {
    pub(crate) name: Arc<str>,
    pub(crate) quoted: Name,
    /// How its values are written (SQLite).
    pub(crate) cell_type: CellType,
}

impl SqlAccess {
    /// Access to these tables, each with whether callers may see it.
    pub(crate) fn new<'a>(tables: impl Iterator<Item = (&'a Table, bool)>, stamp: Option<SchemaStamp>) -> Self {
        let tables = tables.map(|(table, is_shown)| {
            let columns = table.columns.iter().map(|column| SqlColumn {
                name: column.sql_name.clone(),
                quoted: column.quoted.clone(),
                cell_type: match column.store {
                    Store::Sqlite(SqliteStore::Boolean) => CellType::Boolean,
                    Store::Sqlite(SqliteStore::Time(_)) => CellType::Time(column.digits.clone()),
                    Store::Sqlite(SqliteStore::Json) => CellType::Json,
                    Store::Sqlite(SqliteStore::Plain) | Store::Postgres(_) => CellType::Plain,
                },
            });
            SqlTable {
                schema: table.schema.clone(),
                name: table.name.clone(),
                is_shown,
                columns: columns.collect(),
                index_columns: if table.index.is_some() { table.unlisted.clone() } else { Vec::new() },
            }
        });
        Self { tables: tables.collect(), stamp }
    }

    /// The served table with this name in SQLite, which ignores case.
    pub(crate) fn sqlite_table(&self, name: &str) -> Option<usize> {
        self.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name))
    }

    /// The names of tables for suggestions.
    pub(crate) fn shown_tables(&self) -> impl Iterator<Item = &str> {
        self.tables.iter().filter(|table| table.is_shown).map(|table| &*table.name)
    }

    /// The names of columns for suggestions.
    pub(crate) fn shown_columns(&self) -> impl Iterator<Item = &str> {
        let shown = self.tables.iter().filter(|table| table.is_shown);
        shown.flat_map(|table| &table.columns).map(|column| &*column.name)
    }

    /// How the values of a SQLite column are written. The table may also be one that a view in the statement reads.
    pub(crate) fn cell_type(&self, named: &[usize], table: &str, column: &str) -> CellType {
        let own = self.sqlite_table(table).and_then(|index| self.tables.get(index));
        let viewed = named.iter().filter_map(|index| self.tables.get(*index)).filter(|_| own.is_none());
        let mut columns = own.into_iter().chain(viewed).flat_map(|table| &table.columns);
        let found = columns.find(|known| known.name.eq_ignore_ascii_case(column));
        found.map_or(CellType::Plain, |column| column.cell_type.clone())
    }
}
