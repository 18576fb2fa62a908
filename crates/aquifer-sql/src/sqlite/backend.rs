//! A SQLite file: cheap reads run inline, everything else on blocking threads.

use std::sync::Arc;
use std::time::Duration;

use aquifer_system::FileId;
use futures::FutureExt;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::pool::{Location, Pool, PooledConnection};
use super::session::{SchemaState, SqliteSession};
use super::writability::unwritable_reason;
use super::{error, reflect, views};
use crate::error::SqlError;
use crate::schema::model::{Model, SchemaStamp};
use crate::settings::Settings;
use crate::work::fair_permits::{Holder, Purpose};
use crate::work::session::{TransactionEnd, Work, WorkError};

/// How long a rehearsal waits for a lock and may hold one, because other writers wait in the meantime.
const REHEARSAL_LOCK_TIMEOUT: Duration = Duration::from_millis(250);
const REHEARSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How long explaining an error may take.
const EXPLAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to wait for a read that does not respond to its timeout.
const GRACE_PERIOD: Duration = Duration::from_secs(2);

/// A SQLite file.
pub(crate) struct Sqlite {
    readers: Pool,
    writer: Pool,
    /// For callers' statements, so that slow ones do not delay other reads.
    pub(super) statements: Pool,
    pub(super) timeout: Duration,
    /// The reflected schema, and the one that a statement saw last.
    reflected: Mutex<Option<SchemaVersion>>,
    pub(super) last_seen: Arc<Mutex<Option<SchemaVersion>>>,
}

/// Identifies a schema: the file and its schema version.
pub(super) type SchemaVersion = (Option<FileId>, u32);

impl Sqlite {
    pub(crate) fn new(location: Location, settings: &Settings) -> Self {
        Self {
            readers: Pool::new(location.clone(), false, settings.connections, settings.timeout),
            statements: Pool::new(location.clone(), false, settings.connections, settings.timeout),
            writer: Pool::new(location, true, 1, settings.timeout),
            timeout: settings.timeout,
            reflected: Mutex::default(),
            last_seen: Arc::default(),
        }
    }

    /// Reads the schema.
    pub(crate) async fn reflect(&self, settings: &Settings) -> Result<Model, SqlError> {
        let mut settings = settings.clone();
        let location = self.readers.location().clone();
        let mut read = move |pooled: &mut PooledConnection| {
            let version = schema_version(&pooled.connection)?;
            let unwritable_reason = match &location {
                Location::File(path) if !settings.read_only => unwritable_reason(&pooled.connection, path)?,
                Location::File(_) | Location::Memory(_) => None,
            };
            settings.read_only |= unwritable_reason.is_some();
            let mut model = reflect::reflect_model(&pooled.connection, &pooled.interrupt(), &settings)?;
            views::trace(&mut pooled.connection, &mut model)?;
            model.stamp = Some(SchemaStamp { file: pooled.file, version });
            model.unwritable_reason = unwritable_reason;
            Ok((model, (pooled.file, version)))
        };
        let lease = self.readers.acquire(Holder::Internal).await?;
        let (model, version) =
            lease.run_blocking(move |pooled| read(pooled).map_err(|error| error::from_rusqlite(&error))).await?;
        *self.reflected.lock() = Some(version);
        *self.last_seen.lock() = Some(version);
        Ok(model)
    }

    /// Whether a statement has seen another schema than the reflected one.
    pub(crate) fn has_changed(&self) -> bool {
        let last_seen = *self.last_seen.lock();
        last_seen.is_some() && last_seen != *self.reflected.lock()
    }

    /// Checks whether the schema has changed. A file that cannot be read counts as unchanged.
    pub(crate) async fn detect_schema_change(&self) -> bool {
        let last_seen = self.last_seen.clone();
        let Ok(lease) = self.readers.acquire(Holder::Internal).await else { return false };
        let recording = lease.run_blocking(move |pooled| {
            record_schema(&last_seen, pooled);
            Ok::<(), SqlError>(())
        });
        recording.await.is_ok() && self.has_changed()
    }

    /// Runs work that only reads, on one snapshot of the data.
    pub(crate) async fn read<W: Work>(&self, work: Arc<W>) -> Result<W::Output, WorkError> {
        let lease = self.readers.acquire_for(&*work).await?;
        let is_cheap = work.is_cheap();
        let inline_answer =
            is_cheap.then(|| lease.run_inline(|pooled| run_read(pooled, &self.last_seen, &*work))).flatten();
        if let Some(answer) = inline_answer {
            return answer;
        }
        let last_seen = self.last_seen.clone();
        self.within_grace_period(lease.run_blocking(move |pooled| run_read(pooled, &last_seen, &*work))).await
    }

    /// Waits for a read somewhat longer than its timeout. A step of a statement cannot be interrupted, such as a call of
    /// a function or the search for a phrase.
    pub(super) async fn within_grace_period<T>(
        &self,
        running: impl Future<Output = Result<T, WorkError>>,
    ) -> Result<T, WorkError> {
        tokio::time::timeout(self.timeout + GRACE_PERIOD, running).await.unwrap_or_else(|_| {
            Err(SqlError::Unresponsive { cause: "a step of the statement does not end".to_owned() }.into())
        })
    }

    /// Runs work that changes data, atomically.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, WorkError> {
        let last_seen = self.last_seen.clone();
        let (is_rehearsal, holder) = (work.is_rehearsal(), work.holder());
        let write = move |pooled: &mut PooledConnection| {
            let answer = run_write(pooled, &work);
            record_schema(&last_seen, pooled);
            answer.map_err(|error| explain(pooled, &work, error))
        };
        if is_rehearsal {
            let lease = self.writer.acquire_within(REHEARSAL_LOCK_TIMEOUT, holder, || Purpose::Any).await?;
            return lease.run_blocking_within(REHEARSAL_TIMEOUT, REHEARSAL_LOCK_TIMEOUT, write).await;
        }
        self.writer.acquire(holder).await?.run_blocking(write).await
    }
}

/// Adds details to an error, within a bounded time.
fn explain<W: Work>(pooled: &mut PooledConnection, work: &W, error: WorkError) -> WorkError {
    match error {
        WorkError::Sql(error) => pooled.run_with_timeout(EXPLAIN_TIMEOUT, |pooled| {
            let explaining = work.explain(&mut SqliteSession::new(pooled), error.clone()).now_or_never();
            explaining.unwrap_or(error).into()
        }),
        error => error,
    }
}

/// Runs work in a transaction. A dry run cannot be committed.
fn run_write<W: Work>(pooled: &mut PooledConnection, work: &W) -> Result<W::Output, WorkError> {
    if !work.is_dry_run() {
        return run_transaction(pooled, work);
    }
    // The hook makes SQLite itself refuse to commit a dry run.
    pooled.connection.commit_hook(Some(|| true)).map_err(|error| error::from_rusqlite(&error))?;
    let answer = run_transaction(pooled, work);
    pooled.connection.commit_hook(None::<fn() -> bool>).map_err(|error| error::from_rusqlite(&error))?;
    answer
}

fn run_transaction<W: Work>(pooled: &mut PooledConnection, work: &W) -> Result<W::Output, WorkError> {
    pooled.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| error::from_rusqlite(&error))?;
    let (answer, _) = run_to_completion(pooled, work);
    let answer = answer.and_then(|(output, end)| {
        if end == TransactionEnd::Rollback || work.is_dry_run() {
            pooled.connection.execute_batch("ROLLBACK").map_err(|error| error::from_rusqlite(&error))?;
        } else if pooled.is_abandoned() {
            return Err(SqlError::Timeout { cause: "the caller no longer waits for the change".to_owned() }.into());
        } else {
            pooled.begin_commit();
            commit(&pooled.connection)?;
        }
        Ok(output)
    });
    if !pooled.connection.is_autocommit() {
        let _ = pooled.connection.execute_batch("ROLLBACK");
    }
    answer
}

/// Commits. If the commit fails and the transaction is still open, or the disk is full, nothing was changed; after any
/// other failure the outcome is unknown.
fn commit(connection: &Connection) -> Result<(), SqlError> {
    let Err(error) = connection.execute_batch("COMMIT") else { return Ok(()) };
    let is_known = !connection.is_autocommit() || error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    if is_known {
        Err(error::from_rusqlite(&error))
    } else {
        Err(SqlError::UnknownOutcome { cause: error.to_string() })
    }
}

/// Runs work that only reads.
fn run_read<W: Work>(
    pooled: &mut PooledConnection,
    last_seen: &Mutex<Option<SchemaVersion>>,
    work: &W,
) -> Result<W::Output, WorkError> {
    let snapshot = work.needs_snapshot();
    if snapshot {
        let begin = pooled.connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begin.map_err(|error| error::from_rusqlite(&error))?;
    }
    let (answer, schema) = run_to_completion(pooled, work);
    pooled.is_schema_recorded &= schema == SchemaState::Known;
    if !pooled.is_schema_recorded {
        record_schema(last_seen, pooled);
    }
    if snapshot {
        // Nothing was changed, so errors of the rollback do not matter.
        let _ = pooled.connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    }
    answer.map(|(output, _)| output)
}

/// Runs work whose futures are always ready. Also returns whether the schema may have changed.
fn run_to_completion<W: Work>(
    pooled: &mut PooledConnection,
    work: &W,
) -> (Result<(W::Output, TransactionEnd), WorkError>, SchemaState) {
    let mut session = SqliteSession::new(pooled);
    let answer = work.run(&mut session).now_or_never().unwrap_or_else(|| {
        Err(SqlError::Rejected { message: None, cause: "work on SQLite did not complete at once".to_owned() }.into())
    });
    (answer, session.schema)
}

pub(super) fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Records the schema that a statement has just seen. If the file is locked, this happens next time.
pub(super) fn record_schema(last_seen: &Mutex<Option<SchemaVersion>>, pooled: &mut PooledConnection) {
    if let Ok(version) = schema_version(&pooled.connection) {
        *last_seen.lock() = Some((pooled.file, version));
        pooled.is_schema_recorded = true;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::{Target, memory_name};
    use crate::statement::{Dialect, Statement};
    use crate::work::session::Session;

    /// Inserts a row, then behaves as its variant says.
    #[derive(Clone, Copy)]
    enum TestInsert {
        Committed,
        /// A dry run that asks to be committed.
        DryRun,
        Panics,
    }

    impl Work for TestInsert {
        type Output = ();

        fn needs_snapshot(&self) -> bool {
            false
        }

        fn is_dry_run(&self) -> bool {
            matches!(self, TestInsert::DryRun)
        }

        async fn run<S: Session>(&self, session: &mut S) -> Result<((), TransactionEnd), WorkError> {
            let mut statement = Statement::new(Dialect::Sqlite);
            statement.push("INSERT INTO things DEFAULT VALUES");
            session.execute(&statement).await?;
            if matches!(self, TestInsert::DryRun) {
                // Even an explicit COMMIT keeps nothing.
                let mut end = Statement::new(Dialect::Sqlite);
                end.push("COMMIT");
                let _ = session.execute(&end).await;
                session.execute(&statement).await?;
            }
            assert!(!matches!(self, TestInsert::Panics), "on purpose");
            Ok(((), TransactionEnd::Commit))
        }
    }

    fn database(name: &str) -> (Sqlite, Connection) {
        let other = Connection::open(memory_name(name)).unwrap();
        other.execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY)").unwrap();
        let settings = Settings::with_target("here", Target::Memory(name.to_owned()));
        (Sqlite::new(Location::Memory(name.to_owned()), &settings), other)
    }

    fn things(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM things", [], |row| row.get(0)).unwrap()
    }

    #[tokio::test]
    async fn r_req_9_a_dry_run_keeps_nothing() {
        let (sqlite, other) = database("kept-nothing");
        for round in 0..3 {
            let _ = sqlite.write(TestInsert::DryRun).await;
            assert_eq!(things(&other), round, "nothing of it is there");
            // A real change on the same connection is committed.
            sqlite.write(TestInsert::Committed).await.unwrap();
            assert_eq!(things(&other), round + 1);
        }
    }

    #[tokio::test]
    async fn r_saf_5_a_panic_before_the_commit_keeps_nothing_and_is_not_in_doubt() {
        let (sqlite, other) = database("kept-panic");
        let broken = sqlite.write(TestInsert::Panics).await;
        assert!(matches!(broken, Err(WorkError::Sql(SqlError::Internal { .. }))), "{broken:?}");
        assert_eq!(things(&other), 0);
        sqlite.write(TestInsert::Committed).await.unwrap();
        assert_eq!(things(&other), 1);
    }

    /// After a failure that ends the transaction, the content of the file is unknown.
    #[test]
    fn r_saf_5_a_commit_that_fails_is_in_doubt_unless_the_transaction_is_open() {
        let mut connection = Connection::open_in_memory().unwrap();
        let parent = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED);";
        connection.execute_batch(&format!("PRAGMA foreign_keys = ON; {parent}")).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO b VALUES (1)").unwrap();
        assert!(matches!(commit(&connection), Err(SqlError::Violation(_))));
        connection.execute_batch("ROLLBACK").unwrap();
        connection.commit_hook(Some(|| true)).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO a VALUES (1)").unwrap();
        assert!(matches!(commit(&connection), Err(SqlError::UnknownOutcome { .. })));
        connection.commit_hook(None::<fn() -> bool>).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO a VALUES (1)").unwrap();
        assert!(commit(&connection).is_ok());
    }
}
