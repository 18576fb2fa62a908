//! State in one SQLite file: it survives a restart, and other processes on the machine share it.
//!
//! A thread of its own has the file in hand, so that no caller's thread waits for a disk. Callers wait for the thread no
//! longer than [`TIMEOUT`]; what nobody waits for any more is not begun. A fault of the file is an error of the call
//! that met it, and the next call opens the file again, so nothing outlasts the fault.

mod file;
mod keeper;
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

use keeper::Keeper;

use super::new_version;

/// How long a call waits for its turn and its answer.
const TIMEOUT: Duration = Duration::from_secs(8);
/// How long it waits for its turn: what would be answered too late is not begun, so that the answer is what happened.
const TURN: Duration = TIMEOUT.saturating_sub(keeper::MAX_LEN);
/// How many calls may wait, and what they may all in all have in hand while a disk hangs.
const WAITING: usize = 4096;
const WAITING_BYTES: usize = 64 << 20;

/// State in a SQLite file.
pub struct SqliteStore {
    jobs: SyncSender<Job>,
    bytes: Arc<AtomicUsize>,
}

type Job = Box<dyn FnOnce(&mut Keeper) + Send>;

impl SqliteStore {
    /// A store in this file, which only its owner can read. The file is made when it is missing, its folder is not.
    /// Nothing is opened yet: a file that cannot be used is told by the first call.
    pub fn new(path: impl Into<PathBuf>, clock: Arc<SteadyClock>) -> Result<Self, StoreError> {
        let mut keeper = Keeper::new(path.into(), HighWater::new(clock));
        let (jobs, waiting): (_, Receiver<Job>) = sync_channel(WAITING);
        let work = move || {
            for job in waiting {
                let done = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut keeper)));
                if done.is_err() {
                    keeper.let_go();
                }
            }
        };
        let thread = std::thread::Builder::new().name("aquifer-state".into()).spawn(work);
        thread.map_err(|error| StoreError(format!("no thread for the state file: {error}")))?;
        Ok(Self { jobs, bytes: Arc::default() })
    }

    async fn ask<T: Send + 'static>(
        &self,
        bytes: usize,
        act: impl FnOnce(&mut Keeper) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let asked = Instant::now();
        let load = Load::take(&self.bytes, bytes)?;
        let job: Job = Box::new(move |keeper| {
            let _load = load;
            if reply.is_closed() {
                return;
            }
            let done = if asked.elapsed() < TURN { act(keeper) } else { Err(late()) };
            // If nobody waits any more, there is nobody to tell.
            let _ = reply.send(done);
        });
        self.jobs.try_send(job).map_err(|refused| match refused {
            TrySendError::Full(_) => crowded(),
            TrySendError::Disconnected(_) => StoreError("the thread of the state file is gone".into()),
        })?;
        match tokio::time::timeout(TIMEOUT, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(StoreError("the state file gave no answer".into())),
            Err(_) => Err(late()),
        }
    }
}

/// What a waiting call has in hand; given back when it is done, or was not even begun.
struct Load(Arc<AtomicUsize>, usize);

impl Load {
    fn take(all: &Arc<AtomicUsize>, bytes: usize) -> Result<Self, StoreError> {
        let before = all.fetch_add(bytes, Ordering::Relaxed);
        let load = Self(all.clone(), bytes);
        if before.saturating_add(bytes) > WAITING_BYTES { Err(crowded()) } else { Ok(load) }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::Relaxed);
    }
}

fn crowded() -> StoreError {
    StoreError("too many calls wait for the state file already".into())
}

fn late() -> StoreError {
    StoreError("the state file did not answer in time".into())
}

impl StateStore for SqliteStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        let key = key.to_owned();
        self.ask(key.len(), move |keeper| keeper.read(|connection, now| tables::get(connection, now, &key))).boxed()
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
            self.ask(key.len() + record.value.len(), move |keeper| {
                keeper.write_to_last(|connection, now| {
                    tables::compare_and_set(connection, now, &key, expected, &record, keep)
                })
            })
            .await
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, most: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        let prefix = prefix.to_owned();
        self.ask(prefix.len(), move |keeper| {
            keeper.read(|connection, now| tables::list(connection, now, &prefix, most))
        })
        .boxed()
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        most: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        let (key, window) = (key.to_owned(), Window::new(window));
        self.ask(key.len(), move |keeper| match amount {
            0 => keeper.read(|connection, now| tables::spent(connection, now, &key, most, window)),
            _ => keeper.write(|connection, now| tables::spend(connection, now, &key, amount, most, window)),
        })
        .boxed()
    }
}
