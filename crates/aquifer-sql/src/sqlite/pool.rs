//! A pool of connections, each used by one call at a time and interrupted when the call times out or is abandoned.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use aquifer_system::FileId;
use parking_lot::Mutex;
use rusqlite::{Connection, OpenFlags};

use super::query_sql::ServedViews;
use super::slow_reads::SlowReads;
use super::time_formats::TimeFormats;
use super::{error, functions};
use crate::error::SqlError;
use crate::work::fair_permits::{FairPermits, Holder, Permit, Purpose};
use crate::work::session::{Work, WorkError};

/// How long to wait for a lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an inline statement may check whether to stop, and how long it may take, because other calls wait for its
/// thread. The first is about a millisecond of work; the second covers reads from a slow disk.
const MAX_INLINE_CHECKS: u32 = 80;
const INLINE_TIMEOUT: Duration = Duration::from_millis(10);
/// How many statements a connection keeps prepared.
const MAX_PREPARED_STATEMENTS: usize = 128;
/// How many steps of SQLite's virtual machine run between two checks.
const STEPS_PER_CHECK: i32 = 250;

/// Why a file cannot be found whose directory is closed to this user.
const CLOSED_DIRECTORY: &str = "permission denied: this user may not enter the directory of its file";

/// The location of the database.
#[derive(Debug, Clone)]
pub(crate) enum Location {
    File(PathBuf),
    /// In the memory of this process.
    Memory(String),
}

/// A pool of reading or writing connections.
pub(super) struct Pool {
    permits: FairPermits,
    timeout: Duration,
    source: Arc<ConnectionSource>,
}

/// Opens connections, and keeps the idle ones.
struct ConnectionSource {
    location: Location,
    writes: bool,
    timeout: Duration,
    idle: Mutex<Vec<PooledConnection>>,
    slow_reads: Arc<SlowReads>,
}

pub(super) struct PooledConnection {
    pub(super) connection: Connection,
    pub(super) file: Option<FileId>,
    /// Whether the schema of its statements has been recorded.
    pub(super) is_schema_recorded: bool,
    /// What is known of the formats of times.
    pub(super) formats: TimeFormats,
    /// The views over which callers' statements run.
    pub(super) served_views: ServedViews,
    /// Whether functions and limits are set for callers' statements.
    pub(super) is_bounded: bool,
    /// The reads that were too slow to run inline, if the current task runs inline.
    pub(super) inline_slow_reads: Option<Arc<SlowReads>>,
    task: TaskSlot,
}

/// The task that the connection is working on.
type TaskSlot = Arc<Mutex<Option<Arc<Task>>>>;

/// A call that waits for its result, unless it was abandoned.
struct Task {
    deadline: Instant,
    /// How many checks are left before it stops.
    checks_left: AtomicU32,
    is_abandoned: AtomicBool,
    /// Whether it has begun to commit.
    is_committing: AtomicBool,
}

impl Task {
    fn with_timeout(timeout: Duration) -> Arc<Self> {
        Self::new(timeout, u32::MAX)
    }

    fn inline() -> Arc<Self> {
        Self::new(INLINE_TIMEOUT, MAX_INLINE_CHECKS)
    }

    fn new(timeout: Duration, checks_left: u32) -> Arc<Self> {
        let (deadline, is_abandoned) = (Instant::now() + timeout, AtomicBool::new(false));
        Arc::new(Self {
            deadline,
            checks_left: AtomicU32::new(checks_left),
            is_abandoned,
            is_committing: AtomicBool::new(false),
        })
    }

    fn should_stop(&self) -> bool {
        let checked_enough = self.checks_left.fetch_sub(1, Ordering::Relaxed) == 0;
        checked_enough || self.is_abandoned.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Marks a task as abandoned when its caller is dropped.
struct AbandonOnDrop(Arc<Task>);

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.is_abandoned.store(true, Ordering::Relaxed);
    }
}

/// Interrupts a connection's statements before their call times out.
pub(super) struct InterruptHandle<'l>(&'l TaskSlot);

impl InterruptHandle<'_> {
    /// Runs work with a shorter timeout.
    pub(super) fn run_with_timeout<T>(&self, timeout: Duration, work: impl FnOnce() -> T) -> T {
        let outer = replace_task(self.0, Some(Task::with_timeout(timeout)));
        let output = work();
        replace_task(self.0, outer);
        output
    }
}

fn replace_task(slot: &TaskSlot, task: Option<Arc<Task>>) -> Option<Arc<Task>> {
    std::mem::replace(&mut *slot.lock(), task)
}

impl Pool {
    pub(super) fn new(location: Location, writes: bool, count: usize, timeout: Duration) -> Self {
        let source = ConnectionSource {
            location,
            writes,
            timeout: LOCK_TIMEOUT.min(timeout),
            idle: Mutex::default(),
            slow_reads: Arc::new(SlowReads::new()),
        };
        Self { permits: FairPermits::new(count, !writes), timeout, source: Arc::new(source) }
    }

    /// Where the database is.
    pub(super) fn location(&self) -> &Location {
        &self.source.location
    }

    /// Waits for a connection, for anything but a read by key.
    pub(super) async fn acquire(&self, holder: Holder) -> Result<Lease<'_>, SqlError> {
        self.acquire_within(self.timeout, holder, || Purpose::Any).await
    }

    /// Waits for a connection for work.
    pub(super) async fn acquire_for(&self, work: &impl Work) -> Result<Lease<'_>, SqlError> {
        self.acquire_within(self.timeout, work.holder(), || work.purpose()).await
    }

    /// Waits for a connection for this time.
    pub(super) async fn acquire_within(
        &self,
        timeout: Duration,
        holder: Holder,
        purpose: impl FnOnce() -> Purpose,
    ) -> Result<Lease<'_>, SqlError> {
        Ok(Lease { pool: self, permit: self.permits.acquire(holder, purpose, timeout).await? })
    }
}

/// The right to use one connection.
pub(super) struct Lease<'l> {
    pool: &'l Pool,
    permit: Permit,
}

impl Lease<'_> {
    /// Runs cheap work on the current thread, if a connection is open and the file is not locked: most reads take less
    /// time than a thread switch. If it returns `None`, nothing was done, and the work has to be restarted with
    /// [`run_blocking`].
    ///
    /// [`run_blocking`]: Lease::run_blocking
    pub(super) fn run_inline<T>(
        &self,
        work: impl FnOnce(&mut PooledConnection) -> Result<T, WorkError>,
    ) -> Option<Result<T, WorkError>> {
        let source = &self.pool.source;
        let mut pooled = source.take_idle()?;
        pooled.connection.busy_timeout(Duration::ZERO).ok()?;
        pooled.inline_slow_reads = Some(source.slow_reads.clone());
        let answer = pooled.run_task(Task::inline(), work);
        pooled.inline_slow_reads = None;
        pooled.connection.busy_timeout(source.timeout).ok()?;
        source.put_back(pooled);
        let unfinished = matches!(answer, Err(WorkError::Sql(SqlError::Timeout { .. } | SqlError::Busy { .. })));
        (!unfinished).then_some(answer)
    }

    /// Runs work on a blocking thread, until it times out or is abandoned.
    pub(super) async fn run_blocking<T, E>(
        self,
        work: impl FnOnce(&mut PooledConnection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlError> + Send + 'static,
    {
        let (timeout, lock_timeout) = (self.pool.timeout, self.pool.source.timeout);
        self.run_blocking_within(timeout, lock_timeout, work).await
    }

    /// Like `run_blocking`, with separate timeouts for the work and for locks.
    pub(super) async fn run_blocking_within<T, E>(
        self,
        timeout: Duration,
        lock_timeout: Duration,
        work: impl FnOnce(&mut PooledConnection) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlError> + Send + 'static,
    {
        let Lease { pool, permit } = self;
        let task = Task::with_timeout(timeout.min(pool.timeout));
        let abandon_on_drop = AbandonOnDrop(task.clone());
        let source = pool.source.clone();
        let run = move || {
            // Held until the work has ended, even if it was abandoned.
            let _permit = permit;
            let mut pooled = source.take_idle().map_or_else(|| source.open(), Ok)?;
            let is_shorter = lock_timeout < source.timeout;
            let set = |pooled: &PooledConnection, timeout| {
                pooled.connection.busy_timeout(timeout).map_err(|error| error::from_rusqlite(&error))
            };
            if is_shorter {
                set(&pooled, lock_timeout)?;
            }
            let answer = pooled.run_task(task, work);
            if is_shorter {
                set(&pooled, source.timeout)?;
            }
            source.put_back(pooled);
            answer
        };
        tokio::task::spawn_blocking(run).await.unwrap_or_else(|cause| {
            let cause = format!("a worker thread panicked: {cause}");
            // If the thread panicked during a commit, the outcome is unknown.
            let is_unknown = abandon_on_drop.0.is_committing.load(Ordering::Relaxed);
            Err(if is_unknown { SqlError::UnknownOutcome { cause } } else { SqlError::Internal { cause } }.into())
        })
    }
}

impl PooledConnection {
    /// Marks that a commit is about to begin.
    pub(super) fn begin_commit(&self) {
        let task = self.task.lock();
        task.iter().for_each(|task| task.is_committing.store(true, Ordering::Relaxed));
    }

    /// Whether the current task was abandoned.
    pub(super) fn is_abandoned(&self) -> bool {
        let task = self.task.lock();
        task.as_ref().is_some_and(|task| task.is_abandoned.load(Ordering::Relaxed))
    }

    /// Runs work with a shorter timeout.
    pub(super) fn run_with_timeout<T>(&mut self, timeout: Duration, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = replace_task(&self.task, Some(Task::with_timeout(timeout)));
        let output = work(self);
        replace_task(&self.task, outer);
        output
    }

    /// Checks whether the current task has to stop.
    pub(super) fn stop_check(&self) -> impl Fn() -> bool + Clone + Send + 'static {
        stop_check(self.task.clone())
    }

    pub(super) fn interrupt(&self) -> InterruptHandle<'_> {
        InterruptHandle(&self.task)
    }

    fn run_task<T>(&mut self, task: Arc<Task>, work: impl FnOnce(&mut PooledConnection) -> T) -> T {
        replace_task(&self.task, Some(task));
        let answer = work(self);
        replace_task(&self.task, None);
        answer
    }
}

impl ConnectionSource {
    /// An idle connection to the file that currently has the path.
    fn take_idle(&self) -> Option<PooledConnection> {
        let pooled = self.idle.lock().pop();
        pooled.filter(|pooled| pooled.file.is_some() && pooled.file == self.location.id())
    }

    /// Returns a connection to the pool, unless a transaction is still open, or it cannot do what it is for: the file
    /// may become writable later.
    fn put_back(&self, pooled: PooledConnection) {
        let is_usable = !self.writes || pooled.connection.is_readonly(rusqlite::MAIN_DB).is_ok_and(|is| !is);
        if pooled.connection.is_autocommit() && is_usable {
            self.idle.lock().push(pooled);
        }
    }

    /// Opens the file; never creates one.
    fn open(&self) -> Result<PooledConnection, SqlError> {
        let mut connection = match &self.location {
            Location::File(path) => open_file(path, self.writes)?,
            Location::Memory(name) => {
                let flags =
                    OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(crate::settings::memory_name(name), flags)
                    .map_err(|error| error::from_rusqlite(&error))?
            }
        };
        let task =
            configure(&mut connection, self.writes, self.timeout).map_err(|error| error::from_rusqlite(&error))?;
        Ok(PooledConnection {
            connection,
            task,
            file: self.location.id(),
            is_schema_recorded: false,
            formats: TimeFormats::default(),
            served_views: ServedViews::default(),
            is_bounded: false,
            inline_slow_reads: None,
        })
    }
}

impl Location {
    fn id(&self) -> Option<FileId> {
        match self {
            Location::File(path) => FileId::read(path).ok(),
            Location::Memory(_) => Some(FileId { device: 0, number: 0 }),
        }
    }
}

fn open_file(path: &Path, writes: bool) -> Result<Connection, SqlError> {
    let unavailable = |reason: &str, cause: String| SqlError::Unavailable { reason: reason.to_owned(), cause };
    match std::fs::metadata(path) {
        Ok(file) if file.is_dir() => return Err(unavailable("its path is a directory", path.display().to_string())),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(unavailable("its file does not exist", path.display().to_string()));
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            return Err(unavailable(CLOSED_DIRECTORY, format!("{}: {error}", path.display())));
        }
        Err(error) => return Err(unavailable("its file cannot be opened", error.to_string())),
    }
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_WRITE)
        // A read-only file suffices for reading.
        .or_else(|error| match writes {
            false => Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_ONLY),
            true => Err(error),
        })
        .map_err(|error| error::from_rusqlite(&error))
}

fn configure(connection: &mut Connection, writes: bool, timeout: Duration) -> rusqlite::Result<TaskSlot> {
    use rusqlite::config::DbConfig;
    connection.busy_timeout(timeout)?;
    connection.set_prepared_statement_cache_capacity(MAX_PREPARED_STATEMENTS);
    // The file is untrusted: it must not be able to do more than hold data.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if !writes {
        connection.pragma_update(None, "query_only", true)?;
    }
    let slot: TaskSlot = Arc::default();
    connection.progress_handler(STEPS_PER_CHECK, Some(stop_check(slot.clone())))?;
    functions::register(connection, stop_check(slot.clone()))?;
    Ok(slot)
}

/// Checks whether the current task has to stop.
fn stop_check(slot: TaskSlot) -> impl Fn() -> bool + Clone + Send + 'static {
    move || {
        let task = slot.lock();
        task.as_ref().is_some_and(|task| task.should_stop())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const COUNT: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) FROM n";

    fn counted(pooled: &mut PooledConnection, to: i64) -> Result<i64, WorkError> {
        let counted = pooled.connection.query_row(COUNT, [to], |row| row.get(0));
        Ok(counted.map_err(|error| error::from_rusqlite(&error))?)
    }

    /// A pool for an in-memory database, and another connection to it.
    fn pool(name: &str) -> (Pool, Connection) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI;
        let other = Connection::open_with_flags(crate::settings::memory_name(name), flags).unwrap();
        other.execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY)").unwrap();
        (Pool::new(Location::Memory(name.to_owned()), false, 1, Duration::from_secs(30)), other)
    }

    #[tokio::test]
    async fn cheap_work_runs_inline_once_a_connection_is_open() {
        let (pool, _other) = pool("pool-here");
        let lease = pool.acquire(Holder::Internal).await.unwrap();
        assert!(lease.run_inline(|pooled| counted(pooled, 5)).is_none(), "opening a file takes its time");
        let elsewhere =
            lease.run_blocking(|pooled| counted(pooled, 5).map(|count| (count, std::thread::current().id())));
        let (count, thread) = elsewhere.await.unwrap();
        assert_eq!(count, 5);
        assert_ne!(thread, std::thread::current().id());
        assert_eq!(
            pool.acquire(Holder::Internal).await.unwrap().run_inline(|pooled| counted(pooled, 6)).unwrap().unwrap(),
            6
        );
    }

    #[tokio::test]
    async fn slow_inline_work_is_restarted_on_a_blocking_thread() {
        let (pool, _other) = pool("pool-long");
        pool.acquire(Holder::Internal).await.unwrap().run_blocking(|pooled| counted(pooled, 1)).await.unwrap();
        let lease = pool.acquire(Holder::Internal).await.unwrap();
        assert!(lease.run_inline(|pooled| counted(pooled, 2_000_000)).is_none());
        assert_eq!(lease.run_blocking(|pooled| counted(pooled, 2_000_000)).await.unwrap(), 2_000_000);
        assert_eq!(
            pool.acquire(Holder::Internal).await.unwrap().run_inline(|pooled| counted(pooled, 7)).unwrap().unwrap(),
            7
        );
    }

    #[tokio::test]
    async fn locks_are_waited_for_on_blocking_threads_only() {
        let (pool, other) = pool("pool-locked");
        let things = |pooled: &mut PooledConnection| -> Result<i64, WorkError> {
            let counted = pooled.connection.query_row("SELECT count(*) FROM things", [], |row| row.get(0));
            Ok(counted.map_err(|error| error::from_rusqlite(&error))?)
        };
        pool.acquire(Holder::Internal).await.unwrap().run_blocking(things).await.unwrap();
        other.execute_batch("BEGIN EXCLUSIVE; INSERT INTO things DEFAULT VALUES").unwrap();
        let lease = pool.acquire(Holder::Internal).await.unwrap();
        assert!(lease.run_inline(things).is_none());
        let waiting = lease.run_blocking(things);
        let unlocking = async {
            tokio::task::yield_now().await;
            other.execute_batch("COMMIT").unwrap();
        };
        assert_eq!(tokio::join!(waiting, unlocking).0.unwrap(), 1);
    }

    #[tokio::test]
    async fn errors_are_returned_inline() {
        let (pool, _other) = pool("pool-wrong");
        pool.acquire(Holder::Internal).await.unwrap().run_blocking(|pooled| counted(pooled, 1)).await.unwrap();
        for gone in ["SELECT * FROM no_such_table", "SELECT no_such_column FROM things"] {
            let answer = pool.acquire(Holder::Internal).await.unwrap().run_inline(|pooled| {
                Ok(pooled.connection.execute_batch(gone).map_err(|error| error::from_rusqlite(&error))?)
            });
            assert!(matches!(answer, Some(Err(WorkError::Sql(SqlError::SchemaChanged { .. })))), "{gone}: {answer:?}");
        }
    }
}
