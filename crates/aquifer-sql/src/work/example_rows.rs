//! Reads values of a few existing rows for the examples of introspection.

use std::sync::Arc;

use aquifer_protocol::secrets::looks_like_secret;
use jiff::Timestamp;
use serde_json::Value;

use crate::rows::CellType;
use crate::schema::exposed_table::ExposedTable;
use crate::schema::model::Column;
use crate::sql::scope::{PathTarget, Scope};
use crate::statement::{Dialect, Statement};
use crate::work::session::{Session, TransactionEnd, Work, WorkError};

/// How many of the first rows are read, and how many of the last.
const ROWS: [(&str, usize); 2] = [("", 3), (" DESC", 2)];
/// Longer values do not help as an example.
const MAX_VALUE_BYTES: usize = 200;

/// Values of these columns in the first and last rows of a table. Only columns that callers see are read.
pub(crate) struct ExampleRows {
    pub(crate) dialect: Dialect,
    pub(crate) exposed: Arc<ExposedTable>,
    pub(crate) columns: Vec<Arc<str>>,
    pub(crate) now: Timestamp,
}

impl ExampleRows {
    /// Whether the rows can be read in the order of these columns without sorting the table.
    fn is_indexed(&self, columns: &[&Column]) -> bool {
        let table = &self.exposed.table;
        let is_key = || table.key_columns().map(|column| &column.name).eq(columns.iter().map(|column| &column.name));
        let is_unique = |unique: &[Arc<str>]| unique.iter().eq(columns.iter().map(|column| &column.name));
        (table.has_rowid_key && is_key()) || table.unique.iter().any(|unique| is_unique(&unique.columns))
    }
}

impl Work for ExampleRows {
    type Output = Vec<Vec<Value>>;

    fn needs_snapshot(&self) -> bool {
        false
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Self::Output, TransactionEnd), WorkError> {
        let table = &self.exposed.table;
        let columns: Option<Vec<&Column>> = self.columns.iter().map(|name| table.column(name)).collect();
        let Some(columns) = columns.filter(|columns| !columns.is_empty()) else {
            return Ok((Vec::new(), TransactionEnd::Rollback));
        };
        let is_indexed = self.is_indexed(&columns);
        let scope = Scope::new(&self.exposed, self.dialect, self.now);
        let mut found: Vec<Vec<Value>> = Vec::new();
        for (order, count) in ROWS {
            let mut statement = Statement::new(self.dialect);
            let mut cell_types: Vec<CellType> = Vec::new();
            for column in &columns {
                statement.push(if cell_types.is_empty() { "SELECT " } else { ", " });
                cell_types.push(scope.write_output(&mut statement, PathTarget::Column(column)));
            }
            statement.push(" FROM ").name(&table.quoted).push(" AS t");
            for (position, column) in columns.iter().enumerate().filter(|_| is_indexed) {
                statement.push(if position == 0 { " ORDER BY t." } else { ", t." }).name(&column.quoted).push(order);
            }
            statement.push(" LIMIT ").count(count);
            for row in session.rows(&statement, &cell_types).await? {
                if row.iter().all(is_presentable) && !found.contains(&row) {
                    found.push(row);
                }
            }
            if !is_indexed {
                break;
            }
        }
        Ok((found, TransactionEnd::Rollback))
    }
}

/// Whether a value may be part of an example.
fn is_presentable(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => text.len() <= MAX_VALUE_BYTES && !looks_like_secret(text),
        _ => true,
    }
}
