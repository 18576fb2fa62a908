//! Connections of one kind: kept, lent to one call at a time, stopped when the call's time is over or its caller gone.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::time_formats::TimeFormats;
use super::{error, functions};
use crate::error::SqlError;
use crate::session::Fault;

/// How long to wait for somebody else's lock.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a statement may look whether to stop, and how long it may take, while others' calls wait for its thread. The
/// first is about a millisecond of work; the second is for pages that come from a slow disk.
const GLANCES: u32 = 80;
const GLANCE: Duration = Duration::from_millis(10);
/// How many statements a connection keeps prepared.
const PREPARED: usize = 128;
/// How often a running statement looks whether to stop, in steps of SQLite's machine.
const STEPS: i32 = 250;

/// Where the database is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    File(PathBuf),
    /// In the memory of this process.
    Memory(String),
}

/// Which file it is: another one may take its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId(u64, u64);

/// Connections of one kind.
pub(super) struct Pool {
    permits: Arc<Semaphore>,
    timeout: Duration,
    links: Arc<Links>,
}

/// How connections are made, and those that nobody uses right now.
struct Links {
    place: Place,
    writes: bool,
    timeout: Duration,
    idle: Mutex<Vec<Link>>,
}

/// One connection.
pub(super) struct Link {
    pub(super) connection: Connection,
    pub(super) file: Option<FileId>,
    /// Whether the schema that its statements were made for has been noted.
    pub(super) is_noted: bool,
    /// What is known of the formats of times.
    pub(super) formats: TimeFormats,
    job: Slot,
}

/// What the connection is busy with.
type Slot = Arc<Mutex<Option<Arc<Task>>>>;

/// A call that waits for its answer, until it no longer does.
struct Task {
    deadline: Instant,
    /// How often it may still be asked whether to stop.
    looks: AtomicU32,
    left: AtomicBool,
    /// Whether it has begun to keep a change.
    commits: AtomicBool,
}

impl Task {
    fn within(timeout: Duration) -> Arc<Self> {
        Self::new(timeout, u32::MAX)
    }

    fn run_inline() -> Arc<Self> {
        Self::new(GLANCE, GLANCES)
    }

    fn new(timeout: Duration, looks: u32) -> Arc<Self> {
        let (deadline, left) = (Instant::now() + timeout, AtomicBool::new(false));
        Arc::new(Self { deadline, looks: AtomicU32::new(looks), left, commits: AtomicBool::new(false) })
    }

    fn stops(&self) -> bool {
        let looked_enough = self.looks.fetch_sub(1, Ordering::Relaxed) == 0;
        looked_enough || self.left.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Tells the running statement that nobody waits any more.
struct LeavesOnDrop(Arc<Task>);

impl Drop for LeavesOnDrop {
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::Relaxed);
    }
}

/// Stops a connection's statements earlier than their call would.
pub(super) struct InterruptHandle<'l>(&'l Slot);

impl InterruptHandle<'_> {
    /// What is done here is stopped when this time is over.
    pub(super) fn within<T>(&self, timeout: Duration, work: impl FnOnce() -> T) -> T {
        let outer = swap(self.0, Some(Task::within(timeout)));
        let done = work();
        swap(self.0, outer);
        done
    }
}

fn swap(slot: &Slot, job: Option<Arc<Task>>) -> Option<Arc<Task>> {
    std::mem::replace(&mut *slot.lock().unwrap_or_else(PoisonError::into_inner), job)
}

impl Pool {
    pub(super) fn new(place: Place, writes: bool, count: usize, timeout: Duration) -> Self {
        let links = Links { place, writes, timeout: LOCK_TIMEOUT.min(timeout), idle: Mutex::default() };
        Self { permits: Arc::new(Semaphore::new(count.max(1))), timeout, links: Arc::new(links) }
    }

    /// Waits until a connection is free.
    pub(super) async fn turn(&self) -> Result<Lease<'_>, SqlError> {
        match tokio::time::timeout(self.timeout, self.permits.clone().acquire_owned()).await {
            Ok(Ok(permit)) => Ok(Lease { pool: self, permit }),
            _ => Err(SqlError::Busy { reason: "too many requests wait for it" }),
        }
    }
}

/// The right to one connection.
pub(super) struct Lease<'l> {
    pool: &'l Pool,
    permit: OwnedSemaphorePermit,
}

impl Lease<'_> {
    /// Works here and now, if a connection is open, nobody has locked the file and it is soon done: most reads take less
    /// time than changing threads does. Else nothing has come of it, and the work is to be begun anew [`run_blocking`].
    ///
    /// [`run_blocking`]: Lease::run_blocking
    pub(super) fn run_inline<T>(&self, work: impl FnOnce(&mut Link) -> Result<T, Fault>) -> Option<Result<T, Fault>> {
        let links = &self.pool.links;
        let mut link = links.idle()?;
        link.connection.busy_timeout(Duration::ZERO).ok()?;
        let answer = link.lend(Task::run_inline(), work);
        link.connection.busy_timeout(links.timeout).ok()?;
        links.keep(link);
        let unfinished = matches!(answer, Err(Fault::SqlError(SqlError::Timeout { .. } | SqlError::Busy { .. })));
        (!unfinished).then_some(answer)
    }

    /// Works on a thread that may block, until the time is over or nobody waits for it.
    pub(super) async fn run_blocking<T, E>(
        self,
        work: impl FnOnce(&mut Link) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<SqlError> + Send + 'static,
    {
        let Lease { pool, permit } = self;
        let job = Task::within(pool.timeout);
        let leaves = LeavesOnDrop(job.clone());
        let links = pool.links.clone();
        let run = move || {
            // Held until the work is really over, even if nobody waits for it.
            let _permit = permit;
            let mut link = links.idle().map_or_else(|| links.open(), Ok)?;
            let answer = link.lend(job, work);
            links.keep(link);
            answer
        };
        tokio::task::spawn_blocking(run).await.unwrap_or_else(|cause| {
            let cause = format!("a thread ended badly: {cause}");
            // With the thread went the knowledge of what it had kept by then.
            let is_unknown = leaves.0.commits.load(Ordering::Relaxed);
            Err(if is_unknown { SqlError::Unknown { cause } } else { SqlError::Broken { cause } }.into())
        })
    }
}

impl Link {
    /// Notes that a change is about to be kept.
    pub(super) fn begin_commit(&self) {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        job.iter().for_each(|job| job.commits.store(true, Ordering::Relaxed));
    }

    /// Whether nobody waits any more for what the connection is busy with.
    pub(super) fn is_abandoned(&self) -> bool {
        let job = self.job.lock().unwrap_or_else(PoisonError::into_inner);
        job.as_ref().is_some_and(|job| job.left.load(Ordering::Relaxed))
    }

    pub(super) fn interrupt(&self) -> InterruptHandle<'_> {
        InterruptHandle(&self.job)
    }

    fn lend<T>(&mut self, job: Arc<Task>, work: impl FnOnce(&mut Link) -> T) -> T {
        swap(&self.job, Some(job));
        let answer = work(self);
        swap(&self.job, None);
        answer
    }
}

impl Links {
    /// One that is open, to the file that has the name now.
    fn idle(&self) -> Option<Link> {
        let link = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        link.filter(|link| link.file.is_some() && link.file == self.place.id())
    }

    /// Keeps one for the next call, unless a transaction is left open in it.
    fn keep(&self, link: Link) {
        if link.connection.is_autocommit() {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
        }
    }

    /// Opens the file; never makes one.
    fn open(&self) -> Result<Link, SqlError> {
        let mut connection = match &self.place {
            Place::File(path) => open_file(path, self.writes)?,
            Place::Memory(name) => {
                let flags =
                    OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
                Connection::open_with_flags(crate::settings::memory_name(name), flags)
                    .map_err(|error| error::of(&error))?
            }
        };
        let job = prepare(&mut connection, self.writes, self.timeout).map_err(|error| error::of(&error))?;
        Ok(Link { connection, job, file: self.place.id(), is_noted: false, formats: TimeFormats::default() })
    }
}

impl Place {
    #[cfg(unix)]
    fn id(&self) -> Option<FileId> {
        use std::os::unix::fs::MetadataExt as _;
        match self {
            Place::File(path) => std::fs::metadata(path).ok().map(|file| FileId(file.dev(), file.ino())),
            Place::Memory(_) => Some(FileId(0, 0)),
        }
    }

    #[cfg(not(unix))]
    fn id(&self) -> Option<FileId> {
        match self {
            Place::File(path) => std::fs::metadata(path).ok().map(|_| FileId(0, 0)),
            Place::Memory(_) => Some(FileId(0, 0)),
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
        Err(error) => return Err(unavailable("its file cannot be opened", error.to_string())),
    }
    let base = OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_WRITE)
        // Reading needs no more than that.
        .or_else(|error| match writes {
            false => Connection::open_with_flags(path, base | OpenFlags::SQLITE_OPEN_READ_ONLY),
            true => Err(error),
        })
        .map_err(|error| error::of(&error))
}

fn prepare(connection: &mut Connection, writes: bool, timeout: Duration) -> rusqlite::Result<Slot> {
    use rusqlite::config::DbConfig;
    connection.busy_timeout(timeout)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    // The file may come from anywhere: nothing in it may do more than hold data.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    if !writes {
        connection.pragma_update(None, "query_only", true)?;
    }
    functions::register(connection)?;
    let slot: Slot = Arc::default();
    let watched = slot.clone();
    let stops = move || {
        let job = watched.lock().unwrap_or_else(PoisonError::into_inner);
        job.as_ref().is_some_and(|job| job.stops())
    };
    connection.progress_handler(STEPS, Some(stops))?;
    Ok(slot)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    const COUNT: &str =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) SELECT max(i) FROM n";

    fn counted(link: &mut Link, to: i64) -> Result<i64, Fault> {
        let counted = link.connection.query_row(COUNT, [to], |row| row.get(0));
        Ok(counted.map_err(|error| error::of(&error))?)
    }

    /// A pool to a database of this name in memory, and somebody else's connection to it.
    fn pool(name: &str) -> (Pool, Connection) {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_URI;
        let other = Connection::open_with_flags(crate::settings::memory_name(name), flags).unwrap();
        other.execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY)").unwrap();
        (Pool::new(Place::Memory(name.to_owned()), false, 1, Duration::from_secs(30)), other)
    }

    #[tokio::test]
    async fn what_is_soon_done_is_done_here_once_a_connection_is_open() {
        let (pool, _other) = pool("pool-here");
        let turn = pool.turn().await.unwrap();
        assert!(turn.run_inline(|link| counted(link, 5)).is_none(), "opening a file takes its time");
        let elsewhere = turn.run_blocking(|link| counted(link, 5).map(|count| (count, std::thread::current().id())));
        let (count, thread) = elsewhere.await.unwrap();
        assert_eq!(count, 5);
        assert_ne!(thread, std::thread::current().id());
        assert_eq!(pool.turn().await.unwrap().run_inline(|link| counted(link, 6)).unwrap().unwrap(), 6);
    }

    #[tokio::test]
    async fn what_takes_long_is_left_and_begun_anew_apart() {
        let (pool, _other) = pool("pool-long");
        pool.turn().await.unwrap().run_blocking(|link| counted(link, 1)).await.unwrap();
        let turn = pool.turn().await.unwrap();
        assert!(turn.run_inline(|link| counted(link, 2_000_000)).is_none());
        assert_eq!(turn.run_blocking(|link| counted(link, 2_000_000)).await.unwrap(), 2_000_000);
        assert_eq!(pool.turn().await.unwrap().run_inline(|link| counted(link, 7)).unwrap().unwrap(), 7);
    }

    #[tokio::test]
    async fn a_lock_is_waited_for_apart_only() {
        let (pool, other) = pool("pool-locked");
        let things = |link: &mut Link| -> Result<i64, Fault> {
            let counted = link.connection.query_row("SELECT count(*) FROM things", [], |row| row.get(0));
            Ok(counted.map_err(|error| error::of(&error))?)
        };
        pool.turn().await.unwrap().run_blocking(things).await.unwrap();
        other.execute_batch("BEGIN EXCLUSIVE; INSERT INTO things DEFAULT VALUES").unwrap();
        let turn = pool.turn().await.unwrap();
        assert!(turn.run_inline(things).is_none());
        let waiting = turn.run_blocking(things);
        let unlocking = async {
            tokio::task::yield_now().await;
            other.execute_batch("COMMIT").unwrap();
        };
        assert_eq!(tokio::join!(waiting, unlocking).0.unwrap(), 1);
    }

    #[tokio::test]
    async fn what_is_gone_is_an_answer_too() {
        let (pool, _other) = pool("pool-wrong");
        pool.turn().await.unwrap().run_blocking(|link| counted(link, 1)).await.unwrap();
        for gone in ["SELECT * FROM no_such_table", "SELECT no_such_column FROM things"] {
            let answer = pool
                .turn()
                .await
                .unwrap()
                .run_inline(|link| Ok(link.connection.execute_batch(gone).map_err(|error| error::of(&error))?));
            assert!(matches!(answer, Some(Err(Fault::SqlError(SqlError::SchemaChanged { .. })))), "{gone}: {answer:?}");
        }
    }
}
