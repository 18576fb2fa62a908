//! Keeps the file open until an error occurs or another file takes its place.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use aquifer_engine::store::{HighWater, StoreError};
use aquifer_system::FileId;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::file;
use super::tables::{self, Owner};

/// How long SQLite waits for another process's lock.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a started call may take, unless the disk hangs.
pub(super) const MAX_CALL_TIME: Duration = Duration::from_secs(3);
/// How often expired rows are removed, in milliseconds.
const SWEEP_INTERVAL_MS: u64 = 60_000;
/// One gibibyte, in pages. Unbounded record creation fails before the disk is full.
const MAX_PAGES: i64 = (1 << 30) / 4096;
/// What is wrong with a file without tables, and what to do.
const EMPTIED: &str = "was emptied or shortened. Restore it from a backup. To start again, remove it: limits, approvals and \
                       confirmations are then forgotten";
/// Maximum size of the write-ahead log that is kept on disk.
const MAX_WAL_BYTES: i64 = 4 << 20;

/// What may be done with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileAccess {
    ReadWrite,
    ReadOnly,
}

pub(super) struct StateFile {
    path: PathBuf,
    time: HighWater,
    access: FileAccess,
    open: Option<OpenConnection>,
    /// When the file was last swept, in milliseconds.
    swept_at: Option<u64>,
}

struct OpenConnection {
    connection: Connection,
    identity: FileId,
    is_durable: bool,
}

impl StateFile {
    pub(super) fn new(path: PathBuf, time: HighWater, access: FileAccess) -> Self {
        Self { path, time, access, open: None, swept_at: None }
    }

    /// Closes the file. The next call reopens it.
    pub(super) fn close(&mut self) {
        self.open = None;
    }

    pub(super) fn read<T>(
        &mut self,
        act: impl FnOnce(&Connection, u64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let access = self.access;
        self.run(|open, stored, now| {
            let output = act(&open.connection, now)?;
            if access == FileAccess::ReadWrite && HighWater::is_due(stored, now) {
                open.try_to_write_time(now);
            }
            Ok(output)
        })
    }

    /// Makes a change that a power failure may undo.
    pub(super) fn write<T>(
        &mut self,
        act: impl FnOnce(&mut Connection, u64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.change(false, act)
    }

    /// Makes a change that is on disk when this returns.
    pub(super) fn write_durable<T>(
        &mut self,
        act: impl FnOnce(&mut Connection, u64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.change(true, act)
    }

    fn change<T>(
        &mut self,
        is_durable: bool,
        act: impl FnOnce(&mut Connection, u64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        if self.access == FileAccess::ReadOnly {
            return Err(self.error("is only read here, and cannot be changed"));
        }
        let due = self.swept_at.is_none_or(|swept_at| self.time.now().abs_diff(swept_at) >= SWEEP_INTERVAL_MS);
        let mut swept_at = self.swept_at;
        let outcome = self.run(|open, _, now| {
            open.set_durable(is_durable)?;
            if due {
                swept_at = match tables::sweep(&mut open.connection, now) {
                    Ok(all) => all.then_some(now),
                    // The change itself would have to wait for the lock again.
                    Err(error) if is_locked(&error) => return Err(error),
                    // On a full disk the change itself may still succeed; otherwise it returns the error.
                    Err(error) => {
                        tracing::debug!(%error, "expired state could not be removed");
                        None
                    }
                };
            }
            act(&mut open.connection, now)
        });
        self.swept_at = swept_at;
        outcome
    }

    /// Runs a function on the open file, passing the time stored in the file and the current time, which is never
    /// earlier.
    fn run<T>(
        &mut self,
        act: impl FnOnce(&mut OpenConnection, u64, u64) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let is_there = |open: &OpenConnection| FileId::read(&self.path).is_ok_and(|found| found == open.identity);
        let mut open = match self.open.take().filter(is_there) {
            Some(open) => open,
            None => self.open_file()?,
        };
        let acted = tables::high_water(&open.connection).and_then(|stored| {
            let now = self.time.now_after(stored);
            act(&mut open, stored, now)
        });
        match acted {
            // A change to a removed file is lost.
            Ok(_) if !is_there(&open) => Err(self.error("was removed")),
            Ok(output) => {
                self.open = Some(open);
                Ok(output)
            }
            Err(error) => {
                // A lock is temporary; after any other error the file is reopened.
                if is_locked(&error) {
                    self.open = Some(open);
                }
                Err(self.sqlite_error(&error))
            }
        }
    }

    fn open_file(&self) -> Result<OpenConnection, StoreError> {
        if self.access == FileAccess::ReadWrite {
            file::prepare(&self.path, create_tables)
                .map_err(|error| self.error(&format!("cannot be created or opened: {error}")))?;
        }
        let before = FileId::read(&self.path).map_err(|error| self.error(&error.to_string()))?;
        if file::is_emptied(&self.path) {
            return Err(self.error(EMPTIED));
        }
        let mut connection = connect(&self.path).map_err(|error| self.sqlite_error(&error))?;
        let owner = tables::owner(&connection).map_err(|error| self.sqlite_error(&error))?;
        let prepared = match (owner, self.access) {
            (Owner::NewerVersion, _) => return Err(self.error("was written by a newer version")),
            (Owner::Other, _) => return Err(self.error("is another application's database")),
            // A new file has its tables from the beginning. Without them, limits would start again, and changed
            // definitions of upstreams would count as new.
            (Owner::Empty, _) => return Err(self.error(EMPTIED)),
            (Owner::Ours, FileAccess::ReadWrite) => initialize_with_retry(&mut connection),
            (Owner::Ours, FileAccess::ReadOnly) => {
                // The last connection to be closed would otherwise move the log into the file.
                connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map(drop)
            }
        };
        prepared.map_err(|error| self.sqlite_error(&error))?;
        if !FileId::read(&self.path).is_ok_and(|after| after == before) {
            return Err(self.error("was removed"));
        }
        Ok(OpenConnection { connection, identity: before, is_durable: true })
    }

    fn sqlite_error(&self, error: &rusqlite::Error) -> StoreError {
        let what = match error.sqlite_error_code() {
            _ if is_locked(error) => "is locked by another process",
            Some(ErrorCode::DiskFull) => "has no room: the disk is full, or too many records have not expired yet",
            Some(ErrorCode::ReadOnly) => "cannot be written to",
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => "is damaged or not a database",
            Some(ErrorCode::CannotOpen) => "cannot be opened",
            Some(ErrorCode::SystemIoFailure) => "cannot be read or written",
            _ => "cannot be used",
        };
        self.error(&format!("{what} ({error})"))
    }

    fn error(&self, what: &str) -> StoreError {
        StoreError(format!("the state file {} {what}", self.path.display()))
    }
}

fn is_locked(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

impl OpenConnection {
    fn set_durable(&mut self, is_durable: bool) -> rusqlite::Result<()> {
        if self.is_durable != is_durable {
            self.connection.pragma_update(None, "synchronous", if is_durable { "FULL" } else { "NORMAL" })?;
            self.is_durable = is_durable;
        }
        Ok(())
    }

    /// Writes the time on behalf of a read. The read neither waits for this nor fails because of it: the next change
    /// writes the time anyway.
    fn try_to_write_time(&self, now: u64) {
        let written = self.connection.busy_timeout(Duration::ZERO).and_then(|()| {
            let written = tables::write_high_water(&self.connection, now);
            self.connection.busy_timeout(BUSY_TIMEOUT).and(written)
        });
        if let Err(error) = written {
            tracing::debug!(%error, "the time could not be written to the state file");
        }
    }
}

fn connect(path: &std::path::Path) -> rusqlite::Result<Connection> {
    // The file already exists with the right mode and is not created here.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(connection)
}

/// Retries, because SQLite does not wait for a lock when several processes change the journal mode at once.
fn initialize_with_retry(connection: &mut Connection) -> rusqlite::Result<()> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        match initialize(connection) {
            Err(error) if is_locked(&error) && Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            done => return done,
        }
    }
}

/// Only for files of ours.
fn initialize(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update_and_check(None, "journal_size_limit", MAX_WAL_BYTES, |_| Ok(()))?;
    connection.pragma_update_and_check(None, "max_page_count", MAX_PAGES, |_| Ok(()))
}

/// Creates the tables in an empty file.
fn create_tables(path: &std::path::Path) -> std::io::Result<()> {
    connect(path).and_then(|mut connection| tables::create(&mut connection)).map_err(std::io::Error::other)
}
