//! SQLite: connections on threads that may block, each statement with a deadline and a caller who may leave.

mod functions;
mod reflect;
mod rows;
mod trouble;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt;
use rusqlite::{Connection, OpenFlags, StatementStatus};
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::model::Model;
use crate::rows::{Cells as _, Collector, Reader};
use crate::session::{Fault, Session, Work};
use crate::settings::Settings;
use crate::statement::Statement;
use crate::trouble::Trouble;

pub(crate) use rows::{from_place, is_broken_text};

/// How long to wait for somebody else's lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
/// How many statements a connection keeps prepared.
const PREPARED: usize = 128;
/// How often a running statement looks whether to stop, in steps of SQLite's machine.
const STEPS: i32 = 10_000;

/// A SQLite file.
pub(crate) struct Sqlite {
    place: Place,
    timeout: Duration,
    readers: Lane,
    writer: Lane,
    /// The schema that was reflected, and the one a statement saw last.
    reflected: Mutex<Option<Seen>>,
    seen: Arc<Mutex<Option<Seen>>>,
}

/// Which schema it is: that of a file, in a version.
type Seen = (Option<FileId>, u32);

/// Where it is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    File(PathBuf),
    /// In the memory of this process.
    Memory(String),
}

/// Connections of one kind.
struct Lane {
    permits: Arc<Semaphore>,
    idle: Arc<Mutex<Vec<Link>>>,
    writes: bool,
}

/// One connection.
struct Link {
    connection: Connection,
    job: Slot,
    file: Option<FileId>,
}

/// What the connection is busy with.
type Slot = Arc<Mutex<Option<Arc<Job>>>>;

/// A call that waits for its answer, until it no longer does.
struct Job {
    deadline: Instant,
    left: AtomicBool,
    cancelled: Option<CancellationToken>,
}

impl Job {
    fn stops(&self) -> bool {
        let cancelled = self.cancelled.as_ref().is_some_and(CancellationToken::is_cancelled);
        cancelled || self.left.load(Ordering::Relaxed) || Instant::now() >= self.deadline
    }
}

/// Stops a connection's statements earlier than their call would.
struct Brake<'l>(&'l Slot);

impl Brake<'_> {
    /// What is done here is stopped when this time is over.
    fn within<T>(&self, patience: Duration, work: impl FnOnce() -> T) -> T {
        let swap = |job| std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), job);
        let sooner = Job { deadline: Instant::now() + patience, left: AtomicBool::new(false), cancelled: None };
        let outer = swap(Some(Arc::new(sooner)));
        let done = work();
        swap(outer);
        done
    }
}

/// Tells the running statement that nobody waits any more.
struct LeavesOnDrop(Arc<Job>);

impl Drop for LeavesOnDrop {
    fn drop(&mut self) {
        self.0.left.store(true, Ordering::Relaxed);
    }
}

/// Which file it is: another one may take its name.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

impl Sqlite {
    pub(crate) fn new(place: Place, settings: &Settings) -> Self {
        let lane = |count: usize, writes| Lane {
            permits: Arc::new(Semaphore::new(count.max(1))),
            idle: Arc::default(),
            writes,
        };
        Self {
            place,
            timeout: settings.timeout,
            readers: lane(settings.connections, false),
            writer: lane(1, true),
            reflected: Mutex::default(),
            seen: Arc::default(),
        }
    }

    /// Looks what there is.
    pub(crate) async fn reflect(&self, settings: &Settings) -> Result<Model, Trouble> {
        let settings = settings.clone();
        let look = move |link: &mut Link| {
            let version = schema_version(&link.connection)?;
            let model = reflect::model(&link.connection, &Brake(&link.job), &settings)?;
            Ok((model, (link.file, version)))
        };
        let (model, found) =
            self.on(&self.readers, None, move |link| look(link).map_err(|error| trouble::of(&error))).await?;
        *self.reflected.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        Ok(model)
    }

    /// Whether a statement has met another schema than the one reflected.
    pub(crate) fn has_changed(&self) -> bool {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.is_some() && seen != *self.reflected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the schema is still the one reflected. A file that cannot be read has no other.
    pub(crate) async fn check(&self) -> bool {
        let seen = self.seen.clone();
        let looking = self.on(&self.readers, None, move |link| {
            note(&seen, link.file, &link.connection);
            Ok::<(), Trouble>(())
        });
        looking.await.is_ok() && self.has_changed()
    }

    /// Does what only reads. One state of the data is seen throughout.
    pub(crate) async fn read<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        let seen = self.seen.clone();
        let cancelled = work.cancelled().cloned();
        self.on(&self.readers, cancelled, move |link| {
            let connection = &mut link.connection;
            let snapshot = work.needs_snapshot();
            if snapshot {
                connection.execute_batch("BEGIN").map_err(|error| trouble::of(&error))?;
            }
            let (answer, schema) = at_once(connection, &work);
            if schema == Schema::PerhapsNew {
                note(&seen, link.file, connection);
            }
            if snapshot {
                // It has changed nothing; how it ends does not matter.
                let _ = connection.execute_batch("ROLLBACK");
            }
            answer.map(|(output, _)| output)
        })
        .await
    }

    /// Does what changes something: all of it or nothing.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        let seen = self.seen.clone();
        self.on(&self.writer, None, move |link| {
            let connection = &mut link.connection;
            connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| trouble::of(&error))?;
            let (answer, _) = at_once(connection, &work);
            let answer = answer.and_then(|(output, keep)| {
                let end = if keep { "COMMIT" } else { "ROLLBACK" };
                connection.execute_batch(end).map_err(|error| trouble::of(&error))?;
                Ok(output)
            });
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            note(&seen, link.file, connection);
            answer.map_err(|fault| match fault {
                Fault::Trouble(trouble) => {
                    let explaining = work.explain(&mut Talk::on(connection), trouble.clone()).now_or_never();
                    explaining.unwrap_or(trouble).into()
                }
                fault => fault,
            })
        })
        .await
    }

    /// Works on a connection: on this thread, if others can go on elsewhere meanwhile and the work can be stopped without
    /// being dropped, because changing threads takes as long as reading a row; else on a thread that may block.
    async fn on<T: Send + 'static, E: From<Trouble> + Send + 'static>(
        &self,
        lane: &Lane,
        cancelled: Option<CancellationToken>,
        work: impl FnOnce(&mut Link) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E> {
        let permit = tokio::time::timeout(self.timeout, lane.permits.clone().acquire_owned()).await;
        let Ok(Ok(permit)) = permit else {
            return Err(Trouble::Busy { reason: "too many requests wait for it" }.into());
        };
        let stays = cancelled.is_some() && may_block_here();
        let (deadline, left) = (Instant::now() + self.timeout, AtomicBool::new(false));
        let job = Arc::new(Job { deadline, left, cancelled });
        let _leaves = LeavesOnDrop(job.clone());
        let (place, idle, writes) = (self.place.clone(), lane.idle.clone(), lane.writes);
        let patience = LOCK_PATIENCE.min(self.timeout);
        let run = move || {
            // Held until the work is really over, even if nobody waits for it.
            let _permit = permit;
            let mut link = match pop(&idle).filter(|link| link.file.is_some() && link.file == place.id()) {
                Some(link) => link,
                None => open(&place, writes, patience)?,
            };
            *link.job.lock().unwrap_or_else(PoisonError::into_inner) = Some(job);
            let answer = work(&mut link);
            *link.job.lock().unwrap_or_else(PoisonError::into_inner) = None;
            if link.connection.is_autocommit() {
                idle.lock().unwrap_or_else(PoisonError::into_inner).push(link);
            }
            answer
        };
        if stays {
            return tokio::task::block_in_place(run);
        }
        tokio::task::spawn_blocking(run).await.unwrap_or_else(|cause| {
            Err(Trouble::Refused { words: None, cause: format!("a thread ended badly: {cause}") }.into())
        })
    }
}

/// Whether others can go on elsewhere while this thread waits.
fn may_block_here() -> bool {
    use tokio::runtime::{Handle, RuntimeFlavor};
    Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}

/// Runs work whose every answer comes at once. Says, too, whether it may have met another schema.
fn at_once<W: Work>(connection: &mut Connection, work: &W) -> (Result<(W::Output, bool), Fault>, Schema) {
    let mut session = Talk::on(connection);
    let answer = work.run(&mut session).now_or_never().unwrap_or_else(|| {
        Err(Trouble::Refused { words: None, cause: "work on SQLite waited for something".to_owned() }.into())
    });
    (answer, session.schema)
}

/// What a connection's statements have met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Schema {
    /// The one they were made for, when it was noted.
    Known,
    /// Perhaps another: a statement was made, or made again.
    PerhapsNew,
}

fn pop(idle: &Mutex<Vec<Link>>) -> Option<Link> {
    idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
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

fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Notes which schema a statement has just seen.
fn note(seen: &Mutex<Option<Seen>>, file: Option<FileId>, connection: &Connection) {
    if let Ok(version) = schema_version(connection) {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((file, version));
    }
}

/// Opens the file; never makes one.
fn open(place: &Place, writes: bool, patience: Duration) -> Result<Link, Trouble> {
    let mut connection = match place {
        Place::File(path) => open_file(path, writes)?,
        Place::Memory(name) => {
            let flags =
                OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(crate::settings::memory_name(name), flags)
                .map_err(|error| trouble::of(&error))?
        }
    };
    let job = prepare(&mut connection, writes, patience).map_err(|error| trouble::of(&error))?;
    Ok(Link { connection, job, file: place.id() })
}

fn open_file(path: &std::path::Path, writes: bool) -> Result<Connection, Trouble> {
    let unavailable = |reason: &str, cause: String| Trouble::Unavailable { reason: reason.to_owned(), cause };
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
        .map_err(|error| trouble::of(&error))
}

fn prepare(connection: &mut Connection, writes: bool, patience: Duration) -> rusqlite::Result<Slot> {
    use rusqlite::config::DbConfig;
    connection.busy_timeout(patience)?;
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

/// One call's conversation.
struct Talk<'c> {
    connection: &'c mut Connection,
    schema: Schema,
}

impl<'c> Talk<'c> {
    fn on(connection: &'c mut Connection) -> Self {
        Self { connection, schema: Schema::Known }
    }

    fn each(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&rusqlite::Row<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), Trouble> {
        let mut run = || -> rusqlite::Result<Schema> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            let mut rows = prepared.query(rusqlite::params_from_iter(statement.binds()))?;
            while let Some(found) = rows.next()? {
                if row(found).is_break() {
                    break;
                }
            }
            drop(rows);
            // SQLite looks at the schema before it runs a statement, and makes the statement again for another one.
            let made = prepared.get_status(StatementStatus::Run) <= 1;
            let made_again = prepared.reset_status(StatementStatus::RePrepare) > 0;
            Ok(if made || made_again { Schema::PerhapsNew } else { Schema::Known })
        };
        tracing::trace!(sql = statement.text(), "sqlite");
        match run() {
            Ok(Schema::Known) => Ok(()),
            met => {
                self.schema = Schema::PerhapsNew;
                met.map(|_| ()).map_err(|error| trouble::of(&error))
            }
        }
    }

    fn executed(&mut self, statement: &Statement) -> Result<u64, Trouble> {
        tracing::trace!(sql = statement.text(), "sqlite");
        let run = || -> rusqlite::Result<usize> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            prepared.execute(rusqlite::params_from_iter(statement.binds()))
        };
        run().map(|count| count as u64).map_err(|error| trouble::of(&error))
    }
}

impl Session for Talk<'_> {
    fn fetch(
        &mut self,
        statement: &Statement,
        collector: &mut Collector,
    ) -> impl Future<Output = Result<(), Trouble>> + Send {
        std::future::ready(self.each(statement, |row| collector.take(&rows::Row(row))))
    }

    fn rows(
        &mut self,
        statement: &Statement,
        readers: &[Reader],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, Trouble>> + Send {
        let mut all = Vec::new();
        let done = self.each(statement, |row| {
            let row = rows::Row(row);
            let cells = readers.iter().enumerate().map(|(index, reader)| row.value(index, *reader));
            all.push(cells.collect());
            std::ops::ControlFlow::Continue(())
        });
        std::future::ready(done.map(|()| all))
    }

    fn execute(&mut self, statement: &Statement) -> impl Future<Output = Result<u64, Trouble>> + Send {
        std::future::ready(self.executed(statement))
    }
}
