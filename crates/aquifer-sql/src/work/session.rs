//! A session with a database within one transaction. Work is written once with this trait; on SQLite all futures are
//! immediately ready.

use aquifer_engine::Validity;
use aquifer_protocol::error::Failure;
use serde_json::Value;

use crate::error::SqlError;
use crate::rows::{CellType, RowCollector};
use crate::schema::time_style::TimeStyle;
use crate::sql::time_checks::TimeCheck;
use crate::statement::Statement;
use crate::work::fair_permits::{Holder, Purpose};

pub(crate) trait Session: Send {
    /// Runs a statement and passes its rows to the collector until it is full.
    fn fetch(
        &mut self,
        statement: &Statement,
        collector: &mut RowCollector,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Runs a statement with few rows and returns all of them.
    fn rows(
        &mut self,
        statement: &Statement,
        cell_types: &[CellType],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, SqlError>> + Send;

    /// The known time style of a column. Databases with a type for times need none.
    fn known_time_style(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(Ok(check.style))
    }

    /// Checks the times that an answer depends on. The answer is correct if they are in the style it was computed for.
    fn check_times(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(Ok(check.style))
    }

    /// Runs a statement for its effect, and returns the number of affected rows.
    fn execute(&mut self, statement: &Statement) -> impl Future<Output = Result<u64, SqlError>> + Send;
}

/// Why work failed: an error of the database, or a failure of the request.
#[derive(Debug)]
pub(crate) enum WorkError {
    Sql(SqlError),
    Failure(Failure),
}

impl From<SqlError> for WorkError {
    fn from(error: SqlError) -> Self {
        WorkError::Sql(error)
    }
}

impl From<Failure> for WorkError {
    fn from(failure: Failure) -> Self {
        WorkError::Failure(failure)
    }
}

/// How the transaction of work ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionEnd {
    Commit,
    Rollback,
}

/// Work that runs in one transaction.
pub(crate) trait Work: Send + Sync + 'static {
    type Output: Send + 'static;

    /// Whether it needs several statements with the same snapshot.
    fn needs_snapshot(&self) -> bool;

    /// Whether it is a read that is probably fast and otherwise consists of many small steps, so that it can be
    /// interrupted. Counting a table or ranking a text is a single step, whatever its size.
    fn is_cheap(&self) -> bool {
        false
    }

    /// Who it is for.
    fn holder(&self) -> Holder {
        Holder::Internal
    }

    /// What it needs a connection for.
    fn purpose(&self) -> Purpose {
        Purpose::Any
    }

    /// Whether its changes must never be committed.
    fn is_dry_run(&self) -> bool {
        false
    }

    /// Whether it only tests whether a change can succeed, so that others must not wait for it.
    fn is_rehearsal(&self) -> bool {
        false
    }

    /// Runs the work, perhaps more than once: a slow inline read is restarted on another thread. Also returns how to
    /// end the transaction.
    fn run<S: Session>(
        &self,
        session: &mut S,
    ) -> impl Future<Output = Result<(Self::Output, TransactionEnd), WorkError>> + Send;

    /// Adds details to an error. Called after the rollback, in a session that cannot write.
    fn explain<S: Session>(&self, _session: &mut S, error: SqlError) -> impl Future<Output = SqlError> + Send {
        std::future::ready(error)
    }
}

/// A change that is made only while its call is valid. Waiting for a connection or a lock may take long, so validity is
/// checked within the transaction: before the first statement, and again before the commit.
pub(crate) struct GuardedWork<W> {
    pub(crate) work: W,
    pub(crate) validity: Validity,
}

impl<W: Work> Work for GuardedWork<W> {
    type Output = W::Output;

    fn needs_snapshot(&self) -> bool {
        self.work.needs_snapshot()
    }

    fn is_cheap(&self) -> bool {
        self.work.is_cheap()
    }

    fn holder(&self) -> Holder {
        self.work.holder()
    }

    fn purpose(&self) -> Purpose {
        self.work.purpose()
    }

    fn is_dry_run(&self) -> bool {
        self.work.is_dry_run()
    }

    fn is_rehearsal(&self) -> bool {
        self.work.is_rehearsal()
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Self::Output, TransactionEnd), WorkError> {
        self.validity.check()?;
        let output_and_end = self.work.run(session).await?;
        self.validity.check()?;
        Ok(output_and_end)
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.work.explain(session, error).await
    }
}
