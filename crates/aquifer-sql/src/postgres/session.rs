//! A session with PostgreSQL for one call.

use std::ops::ControlFlow;
use std::time::Duration;

use futures::{FutureExt, TryStreamExt};
use serde_json::Value;

use super::connection::{CONNECT_TIMEOUT, Connection};
use super::pool::PooledConnection;
use super::{error, rows};
use crate::error::SqlError;
use crate::rows::{CellType, ResultRow, RowCollector};
use crate::statement::Statement;
use crate::work::session::Session;

/// Maximum number of prepared statements of a connection, because they use memory on the server.
const MAX_PREPARED_STATEMENTS: usize = 256;

/// A session for one call.
pub(super) struct PostgresSession<'l> {
    pub(super) connection: &'l mut Connection,
    /// The server enforces the statement timeout. This one is for a server that no longer responds.
    pub(super) timeout: Duration,
    /// Whether a statement, and with it the transaction, has failed.
    pub(super) has_failed: bool,
}

impl<'l> PostgresSession<'l> {
    pub(super) fn new(connection: &'l mut PooledConnection<'_>, timeout: Duration) -> Self {
        let timeout = timeout + CONNECT_TIMEOUT.min(timeout);
        Self { connection: &mut **connection, timeout, has_failed: false }
    }

    pub(super) async fn batch(&mut self, sql: &'static str) -> Result<(), SqlError> {
        (self.connection.in_transaction, self.connection.is_busy) = (true, true);
        let Ok(outcome) = tokio::time::timeout(self.timeout, self.connection.client.batch_execute(sql)).await else {
            return Err(unresponsive_server());
        };
        self.connection.is_busy = false;
        // After COMMIT the transaction is over, even if it failed; only BEGIN leaves one open.
        self.connection.in_transaction = sql.starts_with("BEGIN") || (outcome.is_err() && sql.starts_with("SET"));
        outcome.map_err(|error| error::from_driver(&error))
    }

    async fn prepare_cached(&mut self, sql: &str) -> Result<tokio_postgres::Statement, tokio_postgres::Error> {
        self.connection.uses += 1;
        let uses = self.connection.uses;
        if let Some((statement, used)) = self.connection.prepared.get_mut(sql) {
            *used = uses;
            return Ok(statement.clone());
        }
        // Boxed: few statements are new, and otherwise every call's future would contain it.
        let statement = self.connection.client.prepare(sql).boxed().await?;
        if self.connection.prepared.len() >= MAX_PREPARED_STATEMENTS {
            let oldest = self.connection.prepared.iter().min_by_key(|(_, (_, used))| *used).map(|(sql, _)| sql.clone());
            oldest.and_then(|sql| self.connection.prepared.remove(&sql));
        }
        self.connection.prepared.insert(sql.to_owned(), (statement.clone(), uses));
        Ok(statement)
    }

    async fn for_each_row(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&tokio_postgres::Row) -> ControlFlow<()> + Send,
    ) -> Result<u64, SqlError> {
        tracing::trace!(sql = statement.text(), "postgres");
        let timeout = self.timeout;
        self.connection.is_busy = true;
        let outcome = {
            // Pinned in place to avoid moving it.
            let run = std::pin::pin!(async {
                let prepared = self.prepare_cached(statement.text()).await?;
                let binds = statement.binds().iter().map(|bind| bind as &(dyn tokio_postgres::types::ToSql + Sync));
                let mut stream = std::pin::pin!(self.connection.client.query_raw(&prepared, binds).await?);
                let mut is_wanted = true;
                while let Some(next) = stream.try_next().await? {
                    is_wanted = is_wanted && row(&next).is_continue();
                }
                Ok(stream.rows_affected().unwrap_or(0))
            });
            tokio::time::timeout(timeout, run).await
        };
        let Ok(outcome) = outcome else { return Err(unresponsive_server()) };
        self.connection.is_busy = false;
        outcome.map_err(|error: tokio_postgres::Error| {
            self.has_failed = true;
            // If a table has changed under a prepared statement, the statement is prepared again.
            self.connection.prepared.remove(statement.text());
            error::from_driver(&error)
        })
    }
}

impl Drop for PostgresSession<'_> {
    /// Handles a caller that was dropped midway: asks the server to cancel an abandoned statement and closes the
    /// connection. That rolls back the transaction and releases its locks immediately.
    fn drop(&mut self) {
        if self.connection.is_busy
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (token, tls) = (self.connection.client.cancel_token(), self.connection.tls.clone());
            runtime.spawn(async move {
                if tokio::time::timeout(CONNECT_TIMEOUT, tls.cancel(&token)).await.is_err() {
                    tracing::debug!("an abandoned statement could not be cancelled");
                }
            });
        }
        if self.connection.is_busy || self.connection.in_transaction {
            self.connection.abort_handle.abort();
        }
    }
}

fn unresponsive_server() -> SqlError {
    SqlError::Unresponsive { cause: "the server did not end the statement in time".to_owned() }
}

impl Session for PostgresSession<'_> {
    async fn fetch(&mut self, statement: &Statement, collector: &mut RowCollector) -> Result<(), SqlError> {
        self.for_each_row(statement, |row| collector.push(&rows::Row(row))).await.map(|_| ())
    }

    async fn rows(&mut self, statement: &Statement, cell_types: &[CellType]) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut all = Vec::new();
        self.for_each_row(statement, |row| {
            let row = rows::Row(row);
            all.push(cell_types.iter().enumerate().map(|(index, cell_type)| row.value(index, cell_type)).collect());
            ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    }

    async fn execute(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        self.for_each_row(statement, |_| ControlFlow::Continue(())).await
    }
}
