//! PostgreSQL: a pool whose sessions for reading cannot write, prepared statements, and queries that end when nobody
//! waits for them.

mod code;
mod effects;
mod error;
mod explain;
mod expression;
mod fingerprint;
mod lineage;
mod pool;
mod reflect;
mod rows;
mod safe_code;
mod tls;
mod url;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::Duration;

use futures::{FutureExt, TryStreamExt};
use serde_json::Value;
use tokio::task::AbortHandle;
use tokio_postgres::{Client, Config};

use crate::error::SqlError;
use crate::exposure::Baseline;
use crate::model::Model;
use crate::rows::{CellType, ResultRow, RowCollector};
use crate::session::{Session, Work, WorkError};
use crate::settings::Settings;
use crate::statement::Statement;
use pool::{Pool, PooledConnection};
use tls::Tls;

/// How long to wait for somebody else's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many statements a connection keeps prepared. They cost memory on the server.
const MAX_PREPARED_STATEMENTS: usize = 256;
/// A transaction that lost against another is begun again so often.
const MAX_ATTEMPTS: usize = 3;

/// A PostgreSQL server.
pub(crate) struct Postgres {
    readers: Pool,
    writers: Pool,
    timeout: Duration,
    /// Which database it is, without the user and the password.
    location: String,
}

/// Makes connections.
struct Manager {
    config: Config,
    tls: Tls,
    timeout: Duration,
    writes: bool,
}

/// One connection.
struct Connection {
    client: Client,
    abort_handle: AbortHandle,
    tls: Tls,
    prepared: HashMap<String, (tokio_postgres::Statement, u64), foldhash::fast::RandomState>,
    uses: u64,
    /// Whether a statement runs of which nobody has seen the end.
    is_busy: bool,
    /// Whether a transaction is open. A caller may leave in the middle of one.
    in_transaction: bool,
}

impl Connection {
    /// Whether somebody else may use it.
    fn is_usable(&self) -> bool {
        !(self.client.is_closed() || self.is_busy || self.in_transaction)
    }
}

impl Manager {
    async fn create(&self) -> Result<Connection, SqlError> {
        let timeout = CONNECT_TIMEOUT.min(self.timeout);
        tokio::time::timeout(timeout, self.connect()).await.unwrap_or_else(|_| {
            let reason = "its server does not answer".to_owned();
            Err(SqlError::Unavailable { reason, cause: "connecting took too long".to_owned() })
        })
    }

    async fn connect(&self) -> Result<Connection, SqlError> {
        let (client, abort_handle) = self.tls.connect(&self.config).await?;
        let read_only = if self.writes { "off" } else { "on" };
        // Answers are in UTC and in forms that can be read back, whatever the server's or the role's settings are.
        let session = format!(
            "SET default_transaction_read_only = {read_only}; SET statement_timeout = {}; SET timezone = 'UTC'; \
             SET datestyle = 'ISO, YMD'; SET intervalstyle = 'iso_8601'; SET extra_float_digits = 1; \
             SET bytea_output = 'hex'; SET idle_in_transaction_session_timeout = {}; SET lock_timeout = {}",
            self.timeout.as_millis(),
            self.timeout.as_millis() * 2,
            // Before the statement's own time is over: then it is known what it waited for.
            LOCK_TIMEOUT.min(self.timeout / 2).as_millis().max(1),
        );
        client.batch_execute(&session).await.map_err(|error| error::from_driver(&error))?;
        let tls = self.tls.clone();
        Ok(Connection {
            client,
            abort_handle,
            tls,
            prepared: HashMap::default(),
            uses: 0,
            is_busy: false,
            in_transaction: false,
        })
    }
}

impl Postgres {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, SqlError> {
        let (config, encryption) = url::parse_url(url)?;
        let tls = Tls::new(&encryption)?;
        let pool = |size: usize, writes| {
            let manager = Manager { config: config.clone(), tls: tls.clone(), timeout: settings.timeout, writes };
            Pool::new(manager, size, settings.timeout)
        };
        // Without a name the database is called like the user.
        let name = config.get_dbname().or(config.get_user()).unwrap_or_default();
        Ok(Self {
            readers: pool(settings.connections, false),
            writers: pool(settings.connections / 2, true),
            timeout: settings.timeout,
            location: format!("postgres {:?} {:?} {name}", config.get_hosts(), config.get_ports()),
        })
    }

    /// Which database it is, without secrets.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Looks what there is.
    pub(crate) async fn reflect(&self, settings: &Settings, baseline: &Baseline) -> Result<Model, SqlError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire().await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            Ok(reflect::reflect_model(&mut session, settings, baseline).await?)
        })
        .await
        .map_err(|error| match error {
            WorkError::Sql(error) => error,
            WorkError::Failure(failure) => SqlError::Rejected { message: None, cause: failure.message().to_owned() },
        })
    }

    /// The state of the catalog that proofs about rehearsals depend on.
    pub(crate) async fn fingerprint(&self) -> Result<String, WorkError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire().await?;
            Ok(fingerprint::read(&mut PostgresSession::new(&mut connection, self.timeout)).await?)
        })
        .await
    }

    /// Does what only reads.
    pub(crate) async fn read<W: Work>(&self, work: W) -> Result<W::Output, WorkError> {
        retry_transient(|| self.read_once(&work)).await
    }

    async fn read_once<W: Work>(&self, work: &W) -> Result<W::Output, WorkError> {
        let mut connection = self.readers.acquire().await?;
        let snapshot = work.needs_snapshot();
        let mut session = PostgresSession::new(&mut connection, self.timeout);
        if snapshot {
            session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        }
        let answer = work.run(&mut session).await;
        if snapshot && !session.connection.is_busy {
            // It has changed nothing; how it ends does not matter.
            let _ = session.batch("ROLLBACK").await;
        }
        answer.map(|(output, _)| output)
    }

    /// Does what changes something: all of it or nothing.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, WorkError> {
        retry_transient(|| self.write_once(&work)).await
    }

    async fn write_once<W: Work>(&self, work: &W) -> Result<W::Output, WorkError> {
        let mut connection = self.writers.acquire().await?;
        let mut session = PostgresSession::new(&mut connection, self.timeout);
        session.batch(if work.needs_snapshot() { "BEGIN ISOLATION LEVEL REPEATABLE READ" } else { "BEGIN" }).await?;
        let answer = work.run(&mut session).await;
        // A rehearsal is never kept, whatever comes of it.
        let answer = answer.map(|(output, keep)| (output, keep && !work.is_dry_run()));
        let error = match finish_transaction(&mut session, answer).await {
            Ok(output) => return Ok(output),
            Err(error) => error,
        };
        if session.connection.in_transaction && !session.connection.is_busy {
            let _ = session.batch("ROLLBACK").await;
        }
        Err(match error {
            WorkError::Sql(error) if !error.is_transient() && !session.connection.is_busy => {
                explain::explain(work, &mut session, error).await.into()
            }
            error => error,
        })
    }
}

/// Keeps what was done, or undoes what was only tried.
async fn finish_transaction<T>(
    session: &mut PostgresSession<'_>,
    answer: Result<(T, bool), WorkError>,
) -> Result<T, WorkError> {
    match answer {
        // The server would answer COMMIT with ROLLBACK, and call that a success.
        Ok((_, true)) if session.has_failed => {
            let cause = "a statement had failed before the change was to be kept".to_owned();
            Err(SqlError::Rejected { message: None, cause }.into())
        }
        Ok((output, true)) => match session.batch("COMMIT").await {
            Ok(()) => Ok(output),
            Err(SqlError::Unavailable { cause, .. } | SqlError::ConnectionLost { cause }) => {
                Err(SqlError::UnknownOutcome { cause }.into())
            }
            // Nobody knows either where the server has stopped answering.
            Err(SqlError::Timeout { cause }) if session.connection.is_busy => {
                Err(SqlError::UnknownOutcome { cause }.into())
            }
            Err(error) => Err(error.into()),
        },
        Ok((output, false)) => {
            // What is only rehearsed must fail as the real thing would.
            session.batch("SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK").await?;
            Ok(output)
        }
        Err(error) => Err(error),
    }
}

/// Does something again that failed because of what has just passed.
async fn retry_transient<T, F: Future<Output = Result<T, WorkError>>>(
    mut attempt: impl FnMut() -> F,
) -> Result<T, WorkError> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt().await {
            Err(WorkError::Sql(error)) if error.is_transient() => {}
            answer => return answer,
        }
    }
    attempt().await
}

/// One call's conversation.
pub(super) struct PostgresSession<'l> {
    connection: &'l mut Connection,
    /// The server stops statements by itself, in time. This is for a server that no longer does anything.
    timeout: Duration,
    /// Whether a statement has failed, and with it the transaction that it stood in.
    has_failed: bool,
}

impl<'l> PostgresSession<'l> {
    fn new(connection: &'l mut PooledConnection<'_>, timeout: Duration) -> Self {
        let timeout = timeout + CONNECT_TIMEOUT.min(timeout);
        Self { connection: &mut **connection, timeout, has_failed: false }
    }

    async fn batch(&mut self, sql: &'static str) -> Result<(), SqlError> {
        (self.connection.in_transaction, self.connection.is_busy) = (true, true);
        let Ok(done) = tokio::time::timeout(self.timeout, self.connection.client.batch_execute(sql)).await else {
            return Err(unresponsive_server());
        };
        self.connection.is_busy = false;
        // Whatever a failed COMMIT has done, the transaction is over; only beginning leaves one open.
        self.connection.in_transaction = sql.starts_with("BEGIN") || (done.is_err() && sql.starts_with("SET"));
        done.map_err(|error| error::from_driver(&error))
    }

    async fn prepare_cached(&mut self, sql: &str) -> Result<tokio_postgres::Statement, tokio_postgres::Error> {
        self.connection.uses += 1;
        let uses = self.connection.uses;
        if let Some((statement, used)) = self.connection.prepared.get_mut(sql) {
            *used = uses;
            return Ok(statement.clone());
        }
        // Boxed: few statements are new, and every call would carry it.
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
        let done = {
            // Pinned here, so that it is not moved about.
            let run = std::pin::pin!(async {
                let prepared = self.prepare_cached(statement.text()).await?;
                let binds = statement.binds().iter().map(|bind| bind as &(dyn tokio_postgres::types::ToSql + Sync));
                let mut stream = std::pin::pin!(self.connection.client.query_raw(&prepared, binds).await?);
                let mut wanted = true;
                while let Some(found) = stream.try_next().await? {
                    wanted = wanted && row(&found).is_continue();
                }
                Ok(stream.rows_affected().unwrap_or(0))
            });
            tokio::time::timeout(timeout, run).await
        };
        let Ok(done) = done else { return Err(unresponsive_server()) };
        self.connection.is_busy = false;
        done.map_err(|error: tokio_postgres::Error| {
            self.has_failed = true;
            // A table that has changed under a prepared statement is met by preparing it again.
            self.connection.prepared.remove(statement.text());
            error::from_driver(&error)
        })
    }
}

impl Drop for PostgresSession<'_> {
    /// Whoever was here may have left in the middle. The server is told to stop what nobody waits for, and the connection
    /// is closed, which undoes what was begun, and frees its rows now, not when somebody needs the connection.
    fn drop(&mut self) {
        if self.connection.is_busy
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (token, tls) = (self.connection.client.cancel_token(), self.connection.tls.clone());
            runtime.spawn(async move {
                if tokio::time::timeout(CONNECT_TIMEOUT, tls.cancel(&token)).await.is_err() {
                    tracing::debug!("a statement nobody waits for could not be stopped");
                }
            });
        }
        if self.connection.is_busy || self.connection.in_transaction {
            self.connection.abort_handle.abort();
        }
    }
}

fn unresponsive_server() -> SqlError {
    SqlError::Timeout { cause: "the server did not even end the statement".to_owned() }
}

impl Session for PostgresSession<'_> {
    async fn fetch(&mut self, statement: &Statement, collector: &mut RowCollector) -> Result<(), SqlError> {
        self.for_each_row(statement, |row| collector.push(&rows::Row(row))).await.map(|_| ())
    }

    async fn rows(&mut self, statement: &Statement, cell_types: &[CellType]) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut all = Vec::new();
        self.for_each_row(statement, |row| {
            let row = rows::Row(row);
            all.push(cell_types.iter().enumerate().map(|(index, cell_type)| row.value(index, *cell_type)).collect());
            ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    }

    async fn execute(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        self.for_each_row(statement, |_| ControlFlow::Continue(())).await
    }
}

/// With a server, which only some have.
#[cfg(all(test, feature = "postgres"))]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::Target;
    use crate::statement::Dialect;

    /// Adds a row, fails, and goes on as if nothing had happened.
    struct IgnoresErrors;

    impl Work for IgnoresErrors {
        type Output = ();

        fn needs_snapshot(&self) -> bool {
            false
        }

        async fn run<S: Session>(&self, session: &mut S) -> Result<((), bool), WorkError> {
            let mut good = Statement::new(Dialect::Postgres);
            good.push("SELECT 1");
            session.execute(&good).await?;
            let mut bad = Statement::new(Dialect::Postgres);
            bad.push("SELECT 1 / 0");
            let _ = session.execute(&bad).await;
            Ok(((), true))
        }
    }

    /// To COMMIT in a transaction that has failed the server answers ROLLBACK, which is no error to the driver.
    #[tokio::test]
    async fn r_saf_5_a_commit_that_would_roll_back_is_a_plain_failure() {
        let url =
            std::env::var("AQUIFER_TEST_POSTGRES").expect("AQUIFER_TEST_POSTGRES is set: cargo xtask test does it");
        let settings = Settings::with_target("here", Target::Postgres(url.clone()));
        let postgres = Postgres::new(&url, &settings).unwrap();
        let answer = postgres.write(IgnoresErrors).await;
        assert!(matches!(answer, Err(WorkError::Sql(SqlError::Rejected { .. }))), "{answer:?}");
    }
}
