//! State in one SQLite file, which survives restarts and is shared by all processes on the machine.
//!
//! A thread owns the file, so that no caller blocks on the disk. Callers wait at most [`CALL_TIMEOUT`]; calls whose
//! caller has given up are not started. A file error is returned by the call that runs into it, and the next call
//! reopens the file.

mod copy;
mod damage;
mod file;
mod state_file;
mod tables;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::{HighWater, MAX_VALUE_BYTES, Record, SpendResult, StateStore, StoreError, Window};
use futures::future::{BoxFuture, FutureExt};
use tokio::sync::oneshot;

use state_file::{FileAccess, StateFile};

use super::new_version;

pub use copy::copy_state_file;
pub use damage::find_damage;

/// Maximum time for a call, including the time in the queue.
const CALL_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a call may wait in the queue. A call that would finish too late is not started, so a timeout means that
/// nothing was done.
const QUEUE_TIMEOUT: Duration = CALL_TIMEOUT.saturating_sub(state_file::MAX_CALL_TIME);
/// Maximum number and total size of waiting calls.
const MAX_QUEUED_CALLS: usize = 4096;
const MAX_QUEUED_BYTES: usize = 64 << 20;

/// State in a SQLite file.
pub struct SqliteStore {
    jobs: SyncSender<Job>,
    bytes: Arc<AtomicUsize>,
}

type Job = Box<dyn FnOnce(&mut StateFile) + Send>;

impl SqliteStore {
    /// Creates a store in this file, readable only by its owner. The file is created if it is missing; its directory is
    /// not. Nothing is opened yet: the first call reports errors.
    pub fn new(path: impl Into<PathBuf>, clock: Arc<SteadyClock>) -> Result<Self, StoreError> {
        Self::with_access(path.into(), clock, FileAccess::ReadWrite)
    }

    /// Opens the store in this file without changing the file, its permissions or the time in it. A missing file is an
    /// error, and so is every change.
    pub fn read_only(path: impl Into<PathBuf>, clock: Arc<SteadyClock>) -> Result<Self, StoreError> {
        Self::with_access(path.into(), clock, FileAccess::ReadOnly)
    }

    fn with_access(path: PathBuf, clock: Arc<SteadyClock>, access: FileAccess) -> Result<Self, StoreError> {
        let mut state_file = StateFile::new(path, HighWater::new(clock), access);
        let (jobs, waiting): (_, Receiver<Job>) = sync_channel(MAX_QUEUED_CALLS);
        let work = move || {
            for job in waiting {
                let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut state_file)));
                if outcome.is_err() {
                    state_file.close();
                }
            }
        };
        let thread = std::thread::Builder::new().name("aquifer-state".into()).spawn(work);
        thread.map_err(|error| StoreError(format!("cannot start the thread for the state file: {error}")))?;
        Ok(Self { jobs, bytes: Arc::default() })
    }

    async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        act: impl FnOnce(&mut StateFile) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let asked = Instant::now();
        let reservation = MemoryReservation::new(&self.bytes, bytes)?;
        let job: Job = Box::new(move |state_file| {
            let _reservation = reservation;
            if reply.is_closed() {
                return;
            }
            let outcome = if asked.elapsed() < QUEUE_TIMEOUT { act(state_file) } else { Err(timed_out()) };
            // The caller may have stopped waiting.
            let _ = reply.send(outcome);
        });
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => queue_full(),
            TrySendError::Disconnected(_) => StoreError("the thread of the state file has stopped".into()),
        })?;
        match tokio::time::timeout(CALL_TIMEOUT, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StoreError("the state file gave no answer".into())),
            Err(_) => Err(timed_out()),
        }
    }
}

/// Memory used by a waiting call; released when the call is done or discarded.
struct MemoryReservation(Arc<AtomicUsize>, usize);

impl MemoryReservation {
    fn new(all: &Arc<AtomicUsize>, bytes: usize) -> Result<Self, StoreError> {
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        let reservation = Self(all.clone(), bytes);
        if before.saturating_add(bytes) > MAX_QUEUED_BYTES { Err(queue_full()) } else { Ok(reservation) }
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

fn queue_full() -> StoreError {
    StoreError("too many calls wait for the state file".into())
}

fn timed_out() -> StoreError {
    StoreError("the state file did not answer in time".into())
}

impl StateStore for SqliteStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let key = key.to_owned();
        self.run(key.len(), move |state_file| state_file.read(|connection, now| tables::get(connection, now, &key)))
            .boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        let key = key.to_owned();
        async move {
            if value.len() > MAX_VALUE_BYTES {
                return Err(StoreError::too_large(value.len()));
            }
            let record = Record { value, version: new_version()? };
            self.run(key.len() + record.value.len(), move |state_file| {
                state_file.write_durable(|connection, now| {
                    tables::compare_and_set(connection, now, &key, expected, &record, keep)
                })
            })
            .await
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        let prefix = prefix.to_owned();
        self.run(prefix.len(), move |state_file| {
            state_file.read(|connection, now| tables::list(connection, now, &prefix, limit))
        })
        .boxed()
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        let (key, window) = (key.to_owned(), Window::new(window));
        self.run(key.len(), move |state_file| match amount {
            0 => state_file.read(|connection, now| tables::spent(connection, now, &key, limit, window)),
            _ => state_file.write(|connection, now| tables::spend(connection, now, &key, amount, limit, window)),
        })
        .boxed()
    }
}
