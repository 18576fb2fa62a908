//! Queries the reason for a failed change, in transactions that cannot write.
//!
//! The queries run code of the database, such as domain checks and policies, which must not have effects after a failed
//! change or a dry run.

use serde_json::Value;

use super::session::PostgresSession;
use crate::error::SqlError;
use crate::rows::{CellType, RowCollector};
use crate::statement::Statement;
use crate::work::session::{Session, Work};

/// The time of each query is limited, because the caller waits for the error.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL statement_timeout = '1s'";

/// Explains an error. If that is not possible, the error stays as it is.
pub(super) async fn explain<W: Work>(work: &W, session: &mut PostgresSession<'_>, error: SqlError) -> SqlError {
    if session.batch(BEGIN).await.is_err() {
        return error;
    }
    let error = work.explain(&mut ReadOnly(session), error).await;
    if !session.connection.is_busy {
        let _ = session.batch("ROLLBACK").await;
    }
    error
}

/// A session that cannot write. A failed statement is rolled back on its own.
struct ReadOnly<'t, 'l>(&'t mut PostgresSession<'l>);

impl ReadOnly<'_, '_> {
    async fn recover<T>(&mut self, answer: Result<T, SqlError>) -> Result<T, SqlError> {
        if answer.is_err() && !self.0.connection.is_busy {
            self.0.batch("ROLLBACK").await?;
            self.0.batch(BEGIN).await?;
        }
        answer
    }
}

impl Session for ReadOnly<'_, '_> {
    async fn fetch(&mut self, statement: &Statement, collector: &mut RowCollector) -> Result<(), SqlError> {
        let answer = self.0.fetch(statement, collector).await;
        self.recover(answer).await
    }

    async fn rows(&mut self, statement: &Statement, cell_types: &[CellType]) -> Result<Vec<Vec<Value>>, SqlError> {
        let answer = self.0.rows(statement, cell_types).await;
        self.recover(answer).await
    }

    async fn execute(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        let answer = self.0.execute(statement).await;
        self.recover(answer).await
    }
}
