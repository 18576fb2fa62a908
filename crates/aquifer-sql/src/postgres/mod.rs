//! PostgreSQL: a pool whose sessions for reading cannot write, prepared statements, and queries that end when nobody
//! waits for them.

mod code;
mod effects;
mod error;
mod explain;
mod expression;
mod fingerprint;
mod harmless;
mod lineage;
mod pool;
mod reflect;
mod rows;
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
use crate::rows::{Cells, Collector, Reader};
use crate::session::{Fault, Session, Work};
use crate::settings::Settings;
use crate::statement::Statement;
use pool::{Lent, Pool};
use tls::Tls;

/// How long to wait for somebody else's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How many statements a connection keeps prepared. They cost memory on the server.
const PREPARED: usize = 256;
/// A transaction that lost against another is begun again so often.
const ATTEMPTS: usize = 3;

/// A PostgreSQL server.
pub(crate) struct Postgres {
    readers: Pool,
    writers: Pool,
    timeout: Duration,
    /// Which database it is, without the user and the password.
    place: String,
}

/// Makes connections.
struct Manager {
    config: Config,
    tls: Tls,
    timeout: Duration,
    writes: bool,
}

/// One connection.
struct Link {
    client: Client,
    line: AbortHandle,
    tls: Tls,
    prepared: HashMap<String, (tokio_postgres::Statement, u64), foldhash::fast::RandomState>,
    uses: u64,
    /// Whether a statement runs of which nobody has seen the end.
    busy: bool,
    /// Whether a transaction is open. A caller may leave in the middle of one.
    open: bool,
}

impl Link {
    /// Whether somebody else may use it.
    fn is_usable(&self) -> bool {
        !(self.client.is_closed() || self.busy || self.open)
    }
}

impl Manager {
    async fn create(&self) -> Result<Link, SqlError> {
        let timeout = CONNECT_TIMEOUT.min(self.timeout);
        tokio::time::timeout(timeout, self.connect()).await.unwrap_or_else(|_| {
            let reason = "its server does not answer".to_owned();
            Err(SqlError::Unavailable { reason, cause: "connecting took too long".to_owned() })
        })
    }

    async fn connect(&self) -> Result<Link, SqlError> {
        let (client, line) = self.tls.connect(&self.config).await?;
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
        client.batch_execute(&session).await.map_err(|error| error::of(&error))?;
        let tls = self.tls.clone();
        Ok(Link { client, line, tls, prepared: HashMap::default(), uses: 0, busy: false, open: false })
    }
}

impl Postgres {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, SqlError> {
        let (config, encryption) = url::read(url)?;
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
            place: format!("postgres {:?} {:?} {name}", config.get_hosts(), config.get_ports()),
        })
    }

    /// Which database it is, without secrets.
    pub(crate) fn place(&self) -> &str {
        &self.place
    }

    /// Looks what there is.
    pub(crate) async fn reflect(&self, settings: &Settings, baseline: &Baseline) -> Result<Model, SqlError> {
        again(|| async {
            let mut link = self.readers.take().await?;
            let mut talk = PostgresSession::on(&mut link, self.timeout);
            Ok(reflect::model(&mut talk, settings, baseline).await?)
        })
        .await
        .map_err(|fault| match fault {
            Fault::SqlError(error) => error,
            Fault::Failure(failure) => SqlError::Refused { words: None, cause: failure.message().to_owned() },
        })
    }

    /// The state of the catalog that proofs about rehearsals depend on.
    pub(crate) async fn fingerprint(&self) -> Result<String, Fault> {
        again(|| async {
            let mut link = self.readers.take().await?;
            Ok(fingerprint::read(&mut PostgresSession::on(&mut link, self.timeout)).await?)
        })
        .await
    }

    /// Does what only reads.
    pub(crate) async fn read<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        again(|| self.read_once(&work)).await
    }

    async fn read_once<W: Work>(&self, work: &W) -> Result<W::Output, Fault> {
        let mut link = self.readers.take().await?;
        let snapshot = work.needs_snapshot();
        let mut talk = PostgresSession::on(&mut link, self.timeout);
        if snapshot {
            talk.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        }
        let answer = work.run(&mut talk).await;
        if snapshot && !talk.link.busy {
            // It has changed nothing; how it ends does not matter.
            let _ = talk.batch("ROLLBACK").await;
        }
        answer.map(|(output, _)| output)
    }

    /// Does what changes something: all of it or nothing.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        again(|| self.write_once(&work)).await
    }

    async fn write_once<W: Work>(&self, work: &W) -> Result<W::Output, Fault> {
        let mut link = self.writers.take().await?;
        let mut talk = PostgresSession::on(&mut link, self.timeout);
        talk.batch(if work.needs_snapshot() { "BEGIN ISOLATION LEVEL REPEATABLE READ" } else { "BEGIN" }).await?;
        let answer = work.run(&mut talk).await;
        // A rehearsal is never kept, whatever comes of it.
        let answer = answer.map(|(output, keep)| (output, keep && !work.is_rehearsal()));
        let fault = match end(&mut talk, answer).await {
            Ok(output) => return Ok(output),
            Err(fault) => fault,
        };
        if talk.link.open && !talk.link.busy {
            let _ = talk.batch("ROLLBACK").await;
        }
        Err(match fault {
            Fault::SqlError(error) if !error.passes() && !talk.link.busy => {
                explain::explain(work, &mut talk, error).await.into()
            }
            fault => fault,
        })
    }
}

/// Keeps what was done, or undoes what was only tried.
async fn end<T>(talk: &mut PostgresSession<'_>, answer: Result<(T, bool), Fault>) -> Result<T, Fault> {
    match answer {
        // The server would answer COMMIT with ROLLBACK, and call that a success.
        Ok((_, true)) if talk.has_failed => {
            let cause = "a statement had failed before the change was to be kept".to_owned();
            Err(SqlError::Refused { words: None, cause }.into())
        }
        Ok((output, true)) => match talk.batch("COMMIT").await {
            Ok(()) => Ok(output),
            Err(SqlError::Unavailable { cause, .. } | SqlError::Lost { cause }) => {
                Err(SqlError::Unknown { cause }.into())
            }
            // Nobody knows either where the server has stopped answering.
            Err(SqlError::Timeout { cause }) if talk.link.busy => Err(SqlError::Unknown { cause }.into()),
            Err(error) => Err(error.into()),
        },
        Ok((output, false)) => {
            // What is only rehearsed must fail as the real thing would.
            talk.batch("SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK").await?;
            Ok(output)
        }
        Err(fault) => Err(fault),
    }
}

/// Does something again that failed because of what has just passed.
async fn again<T, F: Future<Output = Result<T, Fault>>>(mut attempt: impl FnMut() -> F) -> Result<T, Fault> {
    for _ in 1..ATTEMPTS {
        match attempt().await {
            Err(Fault::SqlError(error)) if error.passes() => {}
            answer => return answer,
        }
    }
    attempt().await
}

/// One call's conversation.
pub(super) struct PostgresSession<'l> {
    link: &'l mut Link,
    /// The server stops statements by itself, in time. This is for a server that no longer does anything.
    timeout: Duration,
    /// Whether a statement has failed, and with it the transaction that it stood in.
    has_failed: bool,
}

impl<'l> PostgresSession<'l> {
    fn on(link: &'l mut Lent<'_>, timeout: Duration) -> Self {
        let timeout = timeout + CONNECT_TIMEOUT.min(timeout);
        Self { link: &mut **link, timeout, has_failed: false }
    }

    async fn batch(&mut self, sql: &'static str) -> Result<(), SqlError> {
        (self.link.open, self.link.busy) = (true, true);
        let Ok(done) = tokio::time::timeout(self.timeout, self.link.client.batch_execute(sql)).await else {
            return Err(silence());
        };
        self.link.busy = false;
        // Whatever a failed COMMIT has done, the transaction is over; only beginning leaves one open.
        self.link.open = sql.starts_with("BEGIN") || (done.is_err() && sql.starts_with("SET"));
        done.map_err(|error| error::of(&error))
    }

    async fn prepared(&mut self, sql: &str) -> Result<tokio_postgres::Statement, tokio_postgres::Error> {
        self.link.uses += 1;
        let uses = self.link.uses;
        if let Some((statement, used)) = self.link.prepared.get_mut(sql) {
            *used = uses;
            return Ok(statement.clone());
        }
        // Boxed: few statements are new, and every call would carry it.
        let statement = self.link.client.prepare(sql).boxed().await?;
        if self.link.prepared.len() >= PREPARED {
            let oldest = self.link.prepared.iter().min_by_key(|(_, (_, used))| *used).map(|(sql, _)| sql.clone());
            oldest.and_then(|sql| self.link.prepared.remove(&sql));
        }
        self.link.prepared.insert(sql.to_owned(), (statement.clone(), uses));
        Ok(statement)
    }

    async fn each(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&tokio_postgres::Row) -> ControlFlow<()> + Send,
    ) -> Result<u64, SqlError> {
        tracing::trace!(sql = statement.text(), "postgres");
        let timeout = self.timeout;
        self.link.busy = true;
        let done = {
            // Pinned here, so that it is not moved about.
            let run = std::pin::pin!(async {
                let prepared = self.prepared(statement.text()).await?;
                let binds = statement.binds().iter().map(|bind| bind as &(dyn tokio_postgres::types::ToSql + Sync));
                let mut stream = std::pin::pin!(self.link.client.query_raw(&prepared, binds).await?);
                let mut wanted = true;
                while let Some(found) = stream.try_next().await? {
                    wanted = wanted && row(&found).is_continue();
                }
                Ok(stream.rows_affected().unwrap_or(0))
            });
            tokio::time::timeout(timeout, run).await
        };
        let Ok(done) = done else { return Err(silence()) };
        self.link.busy = false;
        done.map_err(|error: tokio_postgres::Error| {
            self.has_failed = true;
            // A table that has changed under a prepared statement is met by preparing it again.
            self.link.prepared.remove(statement.text());
            error::of(&error)
        })
    }
}

impl Drop for PostgresSession<'_> {
    /// Whoever was here may have left in the middle. The server is told to stop what nobody waits for, and the connection
    /// is closed, which undoes what was begun, and frees its rows now, not when somebody needs the connection.
    fn drop(&mut self) {
        if self.link.busy
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let (token, tls) = (self.link.client.cancel_token(), self.link.tls.clone());
            runtime.spawn(async move {
                if tokio::time::timeout(CONNECT_TIMEOUT, tls.cancel(&token)).await.is_err() {
                    tracing::debug!("a statement nobody waits for could not be stopped");
                }
            });
        }
        if self.link.busy || self.link.open {
            self.link.line.abort();
        }
    }
}

fn silence() -> SqlError {
    SqlError::Timeout { cause: "the server did not even end the statement".to_owned() }
}

impl Session for PostgresSession<'_> {
    async fn fetch(&mut self, statement: &Statement, collector: &mut Collector) -> Result<(), SqlError> {
        self.each(statement, |row| collector.take(&rows::Row(row))).await.map(|_| ())
    }

    async fn rows(&mut self, statement: &Statement, readers: &[Reader]) -> Result<Vec<Vec<Value>>, SqlError> {
        let mut all = Vec::new();
        self.each(statement, |row| {
            let row = rows::Row(row);
            all.push(readers.iter().enumerate().map(|(index, reader)| row.value(index, *reader)).collect());
            ControlFlow::Continue(())
        })
        .await?;
        Ok(all)
    }

    async fn execute(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        self.each(statement, |_| ControlFlow::Continue(())).await
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
    struct Careless;

    impl Work for Careless {
        type Output = ();

        fn needs_snapshot(&self) -> bool {
            false
        }

        async fn run<S: Session>(&self, session: &mut S) -> Result<((), bool), Fault> {
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
        let settings = Settings::of("here", Target::Postgres(url.clone()));
        let postgres = Postgres::new(&url, &settings).unwrap();
        let answer = postgres.write(Careless).await;
        assert!(matches!(answer, Err(Fault::SqlError(SqlError::Refused { .. }))), "{answer:?}");
    }
}
