//! A PostgreSQL server: one pool whose sessions cannot write, and one for changes.

use std::time::Duration;

use super::connection::Manager;
use super::pool::Pool;
use super::session::PostgresSession;
use super::tls::Tls;
use super::{explain, fingerprint, reflect, url};
use crate::error::SqlError;
use crate::exposure::Baseline;
use crate::schema::model::Model;
use crate::settings::Settings;
use crate::work::session::{Work, WorkError};

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

/// With a server, which only some have.
#[cfg(all(test, feature = "postgres"))]
#[allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::Target;
    use crate::statement::Dialect;
    use crate::statement::Statement;
    use crate::work::session::Session;

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
