//! Work for a call: it uses the connections of its caller, and its statements and what they return are recorded for a
//! person who follows the call.

use std::borrow::Cow;
use std::sync::Arc;

use aquifer_engine::Context;
use aquifer_engine::trace::{Channel, Step, Trace};
use futures::FutureExt;
use serde_json::Value;

use super::session::{Session, TransactionEnd, Work, WorkError};
use crate::error::SqlError;
use crate::rows::{CellType, RowCollector};
use crate::schema::time_style::TimeStyle;
use crate::sql::time_checks::TimeCheck;
use crate::statement::{Bind, Dialect, Statement};
use crate::work::fair_permits::{Holder, Purpose};

/// Work for a call. Its statements are recorded if the trace of the call records.
pub(crate) struct CallWork<W> {
    pub(crate) work: W,
    pub(crate) context: Arc<Context>,
}

impl<W: Work> Work for CallWork<W> {
    type Output = W::Output;

    fn needs_snapshot(&self) -> bool {
        self.work.needs_snapshot()
    }

    fn is_cheap(&self) -> bool {
        self.work.is_cheap()
    }

    fn holder(&self) -> Holder {
        (&*self.context).into()
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
        if !self.context.trace.is_recording() {
            return self.work.run(session).await;
        }
        let mut session = TracedSession { session, trace: &self.context.trace };
        // Boxed: recorded calls are rare, and otherwise every call's future would contain it.
        self.work.run(&mut session).boxed().await
    }

    async fn explain<S: Session>(&self, session: &mut S, error: SqlError) -> SqlError {
        self.work.explain(session, error).await
    }
}

struct TracedSession<'s, S> {
    session: &'s mut S,
    trace: &'s Trace,
}

impl<S> TracedSession<'_, S> {
    fn returned(&self, write: impl FnOnce() -> (String, String)) {
        self.trace.record(Step::Returned, Channel::Sql, || {
            let (head, body) = write();
            (head, Cow::Owned(body))
        });
    }

    fn failed(&self, error: &SqlError) {
        self.returned(|| ("error".to_owned(), format!("{error:?}")));
    }
}

impl<S: Session> Session for TracedSession<'_, S> {
    async fn fetch(&mut self, statement: &Statement, collector: &mut RowCollector) -> Result<(), SqlError> {
        record_statement(self.trace, statement.text(), statement.binds(), statement.dialect());
        let known = collector.row_count();
        let outcome = self.session.fetch(statement, collector).await;
        match &outcome {
            Ok(()) => self.returned(|| (rows_text(collector.row_count() - known), collector.text_since(known))),
            Err(error) => self.failed(error),
        }
        outcome
    }

    async fn rows(&mut self, statement: &Statement, cell_types: &[CellType]) -> Result<Vec<Vec<Value>>, SqlError> {
        record_statement(self.trace, statement.text(), statement.binds(), statement.dialect());
        let outcome = self.session.rows(statement, cell_types).await;
        match &outcome {
            Ok(rows) => self.returned(|| {
                let lines = rows.iter().map(|row| Value::from(row.as_slice()).to_string());
                (rows_text(rows.len()), lines.collect::<Vec<_>>().join("\n"))
            }),
            Err(error) => self.failed(error),
        }
        outcome
    }

    async fn known_time_style(&mut self, check: &TimeCheck) -> Result<TimeStyle, SqlError> {
        self.session.known_time_style(check).await
    }

    async fn check_times(&mut self, check: &TimeCheck) -> Result<TimeStyle, SqlError> {
        self.session.check_times(check).await
    }

    async fn execute(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        record_statement(self.trace, statement.text(), statement.binds(), statement.dialect());
        let outcome = self.session.execute(statement).await;
        match &outcome {
            Ok(count) => self.returned(|| (format!("affected: {count}"), String::new())),
            Err(error) => self.failed(error),
        }
        outcome
    }
}

fn rows_text(count: usize) -> String {
    format!("rows: {count}")
}

/// Records a statement with the types of its bound values. The values themselves are not recorded: any of them can be
/// secret, and the request shows them.
pub(crate) fn record_statement(trace: &Trace, sql: &str, binds: &[Bind], dialect: Dialect) {
    trace.record(Step::Sent, Channel::Sql, || {
        let mark = match dialect {
            Dialect::Sqlite => '?',
            Dialect::Postgres => '$',
        };
        let types = binds.iter().enumerate().map(|(index, bind)| format!("{mark}{} {}", index + 1, bind.type_name()));
        let types = types.collect::<Vec<_>>().join(", ");
        let head = if types.is_empty() { String::new() } else { format!("bound: {types}") };
        (head, Cow::Owned(sql.to_owned()))
    });
}
