//! A PostgreSQL server: one pool whose sessions cannot write, and one for changes.

use std::time::Duration;

use parking_lot::Mutex;

use super::connection::Manager;
use super::pool::Pool;
use super::session::PostgresSession;
use super::tls::Tls;
use super::{explain, fingerprint, reflect, url};
use crate::error::SqlError;
use crate::schema::exposure::Baseline;
use crate::schema::model::Model;
use crate::settings::Settings;
use crate::work::fair_permits::Holder;
use crate::work::session::{TransactionEnd, Work, WorkError};

/// Maximum number of attempts after a serialization failure.
const MAX_ATTEMPTS: usize = 3;

/// How long a request that fails anyway waits until it is known whether the tables have changed.
const DETECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// A PostgreSQL server.
pub(crate) struct Postgres {
    pub(super) readers: Pool,
    writers: Pool,
    pub(super) timeout: Duration,
    /// Where unqualified names in callers' statements are looked up.
    pub(super) search_path: String,
    /// Identifies the database, without the user and the password.
    location: String,
    /// The state of the tables when they were reflected.
    reflected: Mutex<Option<String>>,
}

impl Postgres {
    pub(crate) fn new(url: &str, settings: &Settings) -> Result<Self, SqlError> {
        let (config, encryption) = url::parse_url(url)?;
        let tls = Tls::new(&encryption)?;
        let pool = |size: usize, writes| {
            let manager = Manager { config: config.clone(), tls: tls.clone(), timeout: settings.timeout, writes };
            Pool::new(manager, size, settings.timeout)
        };
        // Without a name, the database is named after the user.
        let name = config.get_dbname().or(config.get_user()).unwrap_or_default();
        Ok(Self {
            readers: pool(settings.connections, false),
            writers: pool(settings.connections / 2, true),
            timeout: settings.timeout,
            search_path: search_path(settings),
            location: format!("postgres {:?} {:?} {name}", config.get_hosts(), config.get_ports()),
            reflected: Mutex::default(),
        })
    }

    /// Identifies the database, without secrets.
    pub(crate) fn location(&self) -> &str {
        &self.location
    }

    /// Reads the schema.
    pub(crate) async fn reflect(&self, settings: &Settings, baseline: &Baseline) -> Result<Model, SqlError> {
        let reflected = retry_transient(|| async {
            let mut connection = self.readers.acquire(Holder::Internal).await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            // Read first, so that a change in the meantime is detected later.
            let state = fingerprint::read_schema(&mut session, &settings.offered_schemas()).await?;
            Ok((reflect::reflect_model(&mut session, settings, baseline).await?, state))
        });
        let (model, state) = reflected.await.map_err(|error| match error {
            WorkError::Sql(error) => error,
            WorkError::Failure(failure) => SqlError::Rejected { message: None, cause: failure.message().to_owned() },
        })?;
        *self.reflected.lock() = Some(state);
        Ok(model)
    }

    /// Checks whether the tables have changed since they were reflected. If the server does not answer, they count as
    /// unchanged.
    pub(crate) async fn detect_schema_change(&self, settings: &Settings) -> bool {
        let state = retry_transient(|| async {
            let mut connection = self.readers.acquire(Holder::Internal).await?;
            let mut session = PostgresSession::new(&mut connection, self.timeout);
            Ok(fingerprint::read_schema(&mut session, &settings.offered_schemas()).await?)
        });
        let Ok(Ok(state)) = tokio::time::timeout(DETECTION_TIMEOUT, state).await else { return false };
        let reflected = self.reflected.lock();
        reflected.as_ref().is_some_and(|reflected| *reflected != state)
    }

    /// The state of the catalog on which proofs about dry runs depend.
    pub(crate) async fn fingerprint(&self) -> Result<String, WorkError> {
        retry_transient(|| async {
            let mut connection = self.readers.acquire(Holder::Internal).await?;
            Ok(fingerprint::read(&mut PostgresSession::new(&mut connection, self.timeout)).await?)
        })
        .await
    }

    /// Runs work that only reads.
    pub(crate) async fn read<W: Work>(&self, work: &W) -> Result<W::Output, WorkError> {
        retry_transient(|| self.read_once(work)).await
    }

    async fn read_once<W: Work>(&self, work: &W) -> Result<W::Output, WorkError> {
        let mut connection = self.readers.acquire_for(work).await?;
        let snapshot = work.needs_snapshot();
        let mut session = PostgresSession::new(&mut connection, self.timeout);
        if snapshot {
            session.batch("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
        }
        let answer = work.run(&mut session).await;
        if snapshot && !session.connection.is_busy {
            // Nothing was changed, so errors of the rollback do not matter.
            let _ = session.batch("ROLLBACK").await;
        }
        answer.map(|(output, _)| output)
    }

    /// Runs work that changes data, atomically.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, WorkError> {
        retry_transient(|| self.write_once(&work)).await
    }

    async fn write_once<W: Work>(&self, work: &W) -> Result<W::Output, WorkError> {
        let mut connection = self.writers.acquire_for(work).await?;
        let mut session = PostgresSession::new(&mut connection, self.timeout);
        session.batch(begin(work)).await?;
        let answer = work.run(&mut session).await;
        // A dry run is never committed.
        let answer =
            answer.map(|(output, end)| (output, if work.is_dry_run() { TransactionEnd::Rollback } else { end }));
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

/// The start of a transaction. A rehearsal limits how long it waits for locks and holds them.
fn begin<W: Work>(work: &W) -> &'static str {
    match (work.needs_snapshot(), work.is_rehearsal()) {
        (true, false) => "BEGIN ISOLATION LEVEL REPEATABLE READ",
        (false, false) => "BEGIN",
        (true, true) => {
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL lock_timeout = '250ms'; SET LOCAL statement_timeout = '1s'"
        }
        (false, true) => "BEGIN; SET LOCAL lock_timeout = '250ms'; SET LOCAL statement_timeout = '1s'",
    }
}

/// The offered schemas, as a setting. Nothing hides what is built in, and temporary objects hide nothing.
fn search_path(settings: &Settings) -> String {
    let quoted = settings.offered_schemas().into_iter().map(|schema| format!("\"{}\"", schema.replace('"', "\"\"")));
    std::iter::once("pg_catalog".to_owned()).chain(quoted).chain(["pg_temp".to_owned()]).collect::<Vec<_>>().join(", ")
}

/// Commits the transaction, or rolls it back if nothing is to be kept.
async fn finish_transaction<T>(
    session: &mut PostgresSession<'_>,
    answer: Result<(T, TransactionEnd), WorkError>,
) -> Result<T, WorkError> {
    match answer {
        // The server would answer COMMIT with ROLLBACK and report success.
        Ok((_, TransactionEnd::Commit)) if session.has_failed => {
            let cause = "a statement failed before the commit".to_owned();
            Err(SqlError::Rejected { message: None, cause }.into())
        }
        Ok((output, TransactionEnd::Commit)) => match session.batch("COMMIT").await {
            Ok(()) => Ok(output),
            Err(SqlError::Unavailable { cause, .. } | SqlError::ConnectionLost { cause }) => {
                Err(SqlError::UnknownOutcome { cause }.into())
            }
            // If the server stops answering, the outcome is unknown as well.
            Err(SqlError::Timeout { cause } | SqlError::Unresponsive { cause }) if session.connection.is_busy => {
                Err(SqlError::UnknownOutcome { cause }.into())
            }
            Err(error) => Err(error.into()),
        },
        Ok((output, TransactionEnd::Rollback)) => {
            // A dry run must fail where the change would: this checks deferred constraints.
            session.batch("SET CONSTRAINTS ALL IMMEDIATE; ROLLBACK").await?;
            Ok(output)
        }
        Err(error) => Err(error),
    }
}

/// Retries after transient errors.
pub(super) async fn retry_transient<T, F: Future<Output = Result<T, WorkError>>>(
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

/// Needs a server.
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::Target;
    use crate::statement::Dialect;
    use crate::statement::Statement;
    use crate::work::session::Session;

    /// Inserts a row, runs a failing statement, and ignores its error.
    struct IgnoresErrors;

    impl Work for IgnoresErrors {
        type Output = ();

        fn needs_snapshot(&self) -> bool {
            false
        }

        async fn run<S: Session>(&self, session: &mut S) -> Result<((), TransactionEnd), WorkError> {
            let mut good = Statement::new(Dialect::Postgres);
            good.push("SELECT 1");
            session.execute(&good).await?;
            let mut bad = Statement::new(Dialect::Postgres);
            bad.push("SELECT 1 / 0");
            let _ = session.execute(&bad).await;
            Ok(((), TransactionEnd::Commit))
        }
    }

    /// In a failed transaction the server answers COMMIT with ROLLBACK, which the driver does not report as an error.
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
