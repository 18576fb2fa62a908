//! A session with SQLite for one call.

use rusqlite::{Connection, StatementStatus};
use serde_json::Value;

use super::pool::PooledConnection;
use super::time_formats::TimeFormats;
use super::{error, rows};
use crate::error::SqlError;
use crate::rows::{CellType, ResultRow as _, RowCollector};
use crate::schema::time_style::TimeStyle;
use crate::sql::time_checks::TimeCheck;
use crate::statement::Statement;
use crate::work::session::Session;

/// A session for one call.
pub(super) struct SqliteSession<'c> {
    connection: &'c mut Connection,
    formats: &'c mut TimeFormats,
    pub(super) schema: SchemaState,
}

impl<'c> SqliteSession<'c> {
    pub(super) fn new(pooled: &'c mut PooledConnection) -> Self {
        Self { connection: &mut pooled.connection, formats: &mut pooled.formats, schema: SchemaState::Known }
    }

    fn for_each_row(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&rusqlite::Row<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), SqlError> {
        let mut run = || -> rusqlite::Result<SchemaState> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            let mut rows = prepared.query(rusqlite::params_from_iter(statement.binds()))?;
            while let Some(found) = rows.next()? {
                if row(found).is_break() {
                    break;
                }
            }
            drop(rows);
            // SQLite checks the schema before it runs a statement, and prepares the statement again if it has changed.
            let made = prepared.get_status(StatementStatus::Run) <= 1;
            let made_again = prepared.reset_status(StatementStatus::RePrepare) > 0;
            Ok(if made || made_again { SchemaState::PossiblyChanged } else { SchemaState::Known })
        };
        tracing::trace!(sql = statement.text(), "sqlite");
        match run() {
            Ok(SchemaState::Known) => Ok(()),
            other => {
                self.schema = SchemaState::PossiblyChanged;
                other.map(|_| ()).map_err(|error| error::from_rusqlite(&error))
            }
        }
    }

    fn run_statement(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        tracing::trace!(sql = statement.text(), "sqlite");
        let run = || -> rusqlite::Result<usize> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            prepared.execute(rusqlite::params_from_iter(statement.binds()))
        };
        run().map(|count| count as u64).map_err(|error| error::from_rusqlite(&error))
    }
}

impl Session for SqliteSession<'_> {
    fn fetch(
        &mut self,
        statement: &Statement,
        collector: &mut RowCollector,
    ) -> impl Future<Output = Result<(), SqlError>> + Send {
        std::future::ready(self.for_each_row(statement, |row| collector.push(&rows::Row(row))))
    }

    fn rows(
        &mut self,
        statement: &Statement,
        cell_types: &[CellType],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, SqlError>> + Send {
        let mut all = Vec::new();
        let done = self.for_each_row(statement, |row| {
            let row = rows::Row(row);
            let cells = cell_types.iter().enumerate().map(|(index, cell_type)| row.value(index, *cell_type));
            all.push(cells.collect());
            std::ops::ControlFlow::Continue(())
        });
        std::future::ready(done.map(|()| all))
    }

    fn known_time_style(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(
            self.formats.known_style(self.connection, check).map_err(|error| error::from_rusqlite(&error)),
        )
    }

    fn check_times(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(self.formats.check(self.connection, check).map_err(|error| error::from_rusqlite(&error)))
    }

    fn execute(&mut self, statement: &Statement) -> impl Future<Output = Result<u64, SqlError>> + Send {
        std::future::ready(self.run_statement(statement))
    }
}

/// What a connection knows of the schema of its statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// It is the recorded one.
    Known,
    /// It may have changed: a statement was prepared or prepared again.
    PossiblyChanged,
}
