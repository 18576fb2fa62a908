//! A conversation with a database inside one transaction. What is to be done is written once, over this; where the
//! database answers at once, so do the futures.

use aquifer_engine::Validity;
use aquifer_protocol::error::Failure;
use serde_json::Value;

use crate::error::SqlError;
use crate::rows::{CellType, RowCollector};
use crate::schema::time_style::TimeStyle;
use crate::sql::time_checks::TimeCheck;
use crate::statement::Statement;

pub(crate) trait Session: Send {
    /// Runs a statement and hands its rows to the collector until that has enough.
    fn fetch(
        &mut self,
        statement: &Statement,
        collector: &mut RowCollector,
    ) -> impl Future<Output = Result<(), SqlError>> + Send;

    /// Runs a statement with few rows, all of them wanted.
    fn rows(
        &mut self,
        statement: &Statement,
        cell_types: &[CellType],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, SqlError>> + Send;

    /// What is known by now of the format of a column's times. Databases that have a type for times have one format.
    fn known_time_style(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(Ok(check.style))
    }

    /// Looks at the times that an answer depends on. The answer is right if their format is the one it was made for.
    fn check_times(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(Ok(check.style))
    }

    /// Runs a statement for its effect. Says how many rows it touched.
    fn execute(&mut self, statement: &Statement) -> impl Future<Output = Result<u64, SqlError>> + Send;
}

/// Why something was not done: the database's fault, or the request's.
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

/// What is done in one transaction.
pub(crate) trait Work: Send + Sync + 'static {
    type Output: Send + 'static;

    /// Whether it takes several statements that must see the same data.
    fn needs_snapshot(&self) -> bool;

    /// Whether it is a read that most likely is done in a moment, and that takes many small steps if it is not. Counting a
    /// whole table is one step, however large the table, and ranking a text is one, however long the text.
    fn is_cheap(&self) -> bool {
        false
    }

    /// Whether none of its changes may be kept, whatever it says in the end.
    fn is_dry_run(&self) -> bool {
        false
    }

    /// Does it, perhaps more than once: a read that takes long is begun anew elsewhere. What is said beside the output is
    /// whether its changes are to be kept.
    fn run<S: Session>(&self, session: &mut S) -> impl Future<Output = Result<(Self::Output, bool), WorkError>> + Send;

    /// Says more about what went wrong. Called after everything has been undone, where nothing can be written.
    fn explain<S: Session>(&self, _session: &mut S, error: SqlError) -> impl Future<Output = SqlError> + Send {
        std::future::ready(error)
    }
}

/// A change that is made only while its call is valid. Waiting for a connection or a lock may take long, so this is asked
/// inside the transaction: before the first statement, and again when the next thing would be to keep the change.
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

    fn is_dry_run(&self) -> bool {
        self.work.is_dry_run()
    }

    async fn run<S: Session>(&self, session: &mut S) -> Result<(Self::Output, bool), WorkError> {
        self.validity.check()?;
        let done = self.work.run(session).await?;
        self.validity.check()?;
        Ok(done)
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.work.explain(session, error).await
    }
}
