//! A session with SQLite for one call.

use rusqlite::{Connection, StatementStatus};
use serde_json::Value;

use super::pool::PooledConnection;
use super::slow_reads::SlowReads;
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
    /// The reads that are too slow to run inline, if this session runs inline.
    slow_reads: Option<&'c SlowReads>,
    pub(super) schema: SchemaState,
}

impl<'c> SqliteSession<'c> {
    pub(super) fn new(pooled: &'c mut PooledConnection) -> Self {
        Self {
            connection: &mut pooled.connection,
            formats: &mut pooled.formats,
            slow_reads: pooled.inline_slow_reads.as_deref(),
            schema: SchemaState::Known,
        }
    }

    fn for_each_row(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&rusqlite::Row<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), SqlError> {
        if self.slow_reads.is_some_and(|slow| slow.should_skip(statement.text())) {
            return Err(SqlError::Timeout { cause: "the statement is too slow to run inline".to_owned() });
        }
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
                let outcome = other.map(|_| ()).map_err(|error| error::from_rusqlite(&error));
                if let (Err(SqlError::Timeout { .. }), Some(slow)) = (&outcome, self.slow_reads) {
                    slow.record(statement.text());
                }
                outcome
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
        let outcome = self.for_each_row(statement, |row| {
            let row = rows::Row(row);
            let cells = cell_types.iter().enumerate().map(|(index, cell_type)| row.value(index, cell_type));
            all.push(cells.collect());
            std::ops::ControlFlow::Continue(())
        });
        std::future::ready(outcome.map(|()| all))
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

/// Whether the schema of a connection's statements is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SchemaState {
    /// It is the recorded one.
    Known,
    /// It may have changed: a statement was prepared or prepared again.
    PossiblyChanged,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::*;
    use crate::sqlite::pool::{Location, Pool};
    use crate::statement::{Bind, Dialect};
    use crate::work::session::WorkError;

    /// Counts to a number in that many steps.
    fn count(pooled: &mut PooledConnection, to: i64) -> Result<Value, WorkError> {
        let mut statement = Statement::new(Dialect::Sqlite);
        statement.push("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ");
        statement.bind(Bind::Integer(to)).push(") SELECT max(i) FROM n");
        let rows = SqliteSession::new(pooled).rows(&statement, &[CellType::Integer]).now_or_never().unwrap()?;
        Ok(rows[0][0].clone())
    }

    #[tokio::test]
    async fn a_read_that_was_slow_inline_is_not_tried_inline_again() {
        let other = Connection::open(crate::settings::memory_name("session-slow")).unwrap();
        other.execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY)").unwrap();
        let pool = Pool::new(Location::Memory("session-slow".to_owned()), false, 1, Duration::from_secs(30));
        let blocking = async |to| {
            pool.acquire(crate::work::fair_permits::Holder::Internal)
                .await
                .unwrap()
                .run_blocking(move |pooled| count(pooled, to))
                .await
        };
        let inline = async |to| {
            pool.acquire(crate::work::fair_permits::Holder::Internal)
                .await
                .unwrap()
                .run_inline(|pooled| count(pooled, to))
        };

        assert_eq!(blocking(5).await.unwrap(), 5);
        assert_eq!(inline(6).await.unwrap().unwrap(), 6);
        assert!(inline(2_000_000).await.is_none());
        assert!(inline(7).await.is_none(), "the same statement was slow before");
        assert_eq!(blocking(7).await.unwrap(), 7);
    }
}
