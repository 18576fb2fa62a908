//! The record of what was decided and done (R-SAF-5): append-only JSON lines, each tied to the one before by its hash.
//!
//! [`Audit`] takes entries from any task; one thread of its own seals, writes and syncs them, many at a time. Every
//! process writes chains of its own, so no two ever write one file, and the head of each chain is kept in the state
//! store, so that a line that is gone is missed. [`verify`] reads it all again. Nothing here decides anything, and
//! nothing is ever told that the caller was not meant to know: what is written is redacted when an [`Entry`] is made.

mod entry;
mod fields;
mod file;
mod floods;
mod handle;
mod head;
mod line;
mod retention;
mod stderr;
mod store_sink;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{StateStore, StoreError};
use tokio::sync::{mpsc, oneshot};

use floods::RefusalFloods;

pub use entry::Entry;
pub use entry::EntryPosition;
pub use entry::Event;
pub use entry::OperationOutcome;
pub use handle::EntryHandle;
pub use head::Beginning;
pub use head::Head;
pub use head::Heads;
pub use verify::ChainReport;
pub use verify::Fault;
pub use verify::FaultKind;
pub use verify::Location;
pub use verify::Problem;
pub use verify::ProblemKind;
pub use verify::Report;
pub use verify::is_being_written;
pub use verify::verify;
pub use verify::verify_store;

/// Where the wall clock and the gate's clock differ by more than this, entries carry both times.
const NOTABLE_DIFFERENCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Where the audit goes and how it behaves.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// Where entries go; each to all of them. None: no audit.
    pub sinks: Vec<Sink>,
    /// Whether operations that must be on record are refused while it cannot be written.
    pub required: bool,
    /// How long an entry may take until it is on record.
    pub timeout: Duration,
    /// Entries that may wait.
    pub queue: usize,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { sinks: Vec::new(), required: true, timeout: Duration::from_secs(5), queue: 4096 }
    }
}

impl AuditSettings {
    /// Files in this directory, each of at most 16 MiB, at most 256 MiB in all.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        let file = Sink::File { directory: directory.into(), size: 16 * 1024 * 1024, keep: 16 };
        Self { sinks: vec![file], ..Self::default() }
    }
}

/// A place where entries go.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Files in a directory.
    File {
        /// The directory, made if there is none.
        directory: PathBuf,
        /// A file that would grow beyond so many bytes is followed by another.
        size: u64,
        /// So many files of that size are kept; the oldest are dropped.
        keep: u32,
    },
    /// The error output.
    Stderr,
    /// The state store.
    Store {
        /// How long it keeps an entry.
        keep: Duration,
    },
}

/// An entry is not on record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The settings cannot be followed.
    #[error("the audit cannot be set up: {0}")]
    Settings(String),
    /// A file cannot be written or read.
    #[error("audit file {path}: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        cause: String,
    },
    /// The state store did not take the entry or the head.
    #[error("audit: {0}")]
    Store(String),
    /// It takes too long, or too many are waiting.
    #[error("the audit cannot keep up")]
    Busy,
    /// The writer has ended.
    #[error("the audit is closed")]
    Closed,
}

impl AuditError {
    fn file(path: &Path, cause: &std::io::Error) -> Self {
        AuditError::File { path: path.to_owned(), cause: cause.to_string() }
    }
}

impl From<StoreError> for AuditError {
    fn from(error: StoreError) -> Self {
        AuditError::Store(error.to_string())
    }
}

/// How much has been written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditStats {
    /// Entries on record.
    pub entries: u64,
    /// Times that entries were written and synced together.
    pub writes: u64,
    /// Entries that could not be put on record.
    pub failures: u64,
}

/// Takes entries. Cheap to clone; the writer ends after the last clone is gone and everything waiting is written.
#[derive(Debug, Clone)]
pub struct Audit {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    clock: DebugClock,
    queue: Option<mpsc::Sender<writer::Job>>,
    required: bool,
    timeout: Duration,
    state: Arc<WriterState>,
    floods: RefusalFloods,
}

struct DebugClock(SharedClock);

impl std::fmt::Debug for DebugClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// What the writer tells everybody.
#[derive(Debug, Default)]
struct WriterState {
    entries: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
    /// Whether the last entries could not be written.
    is_failing: AtomicBool,
    /// Since when the writer has been at what it is doing; `None` while it waits.
    busy_since: Mutex<Option<Instant>>,
}

impl WriterState {
    fn set_busy(&self, since: Option<Instant>) {
        *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Whether the writer has been at the same thing for so long.
    fn is_stuck(&self, timeout: Duration) -> bool {
        let since = *self.busy_since.lock().unwrap_or_else(PoisonError::into_inner);
        since.is_some_and(|since| since.elapsed() > timeout)
    }
}

impl Audit {
    /// Starts the writer. Must be called inside the runtime that drives the store. A chain begins with its first entry.
    pub fn open(settings: AuditSettings, clock: SharedClock, store: Arc<dyn StateStore>) -> Result<Self, AuditError> {
        let state = Arc::new(WriterState::default());
        let queue = match settings.sinks.is_empty() {
            true => None,
            false => Some(writer::start(&settings, clock.wall_time(), store, state.clone())?),
        };
        let AuditSettings { required, timeout, .. } = settings;
        Ok(Self {
            inner: Arc::new(Inner {
                clock: DebugClock(clock),
                queue,
                required,
                timeout,
                state,
                floods: RefusalFloods::default(),
            }),
        })
    }

    /// No audit.
    pub fn off(clock: SharedClock) -> Self {
        let (clock, queue, required, timeout) = (DebugClock(clock), None, false, Duration::ZERO);
        let (state, floods) = (Arc::default(), RefusalFloods::default());
        Self { inner: Arc::new(Inner { clock, queue, required, timeout, state, floods }) }
    }

    /// Whether entries go anywhere. If not, there is no point in making any.
    pub fn is_enabled(&self) -> bool {
        self.inner.queue.is_some()
    }

    /// Whether operations that must be on record are to be refused when [`record`](Audit::record) fails.
    pub fn is_required(&self) -> bool {
        self.inner.required && self.inner.queue.is_some()
    }

    /// Puts an entry on record: when this returns, it is on disk (or in the store, where there are no files), and the
    /// head of its chain is in the store. An entry that is reported as failed because it took too long may still be
    /// written later.
    pub async fn record(&self, entry: Entry) -> Result<EntryPosition, AuditError> {
        if !self.is_enabled() {
            return Ok(EntryPosition { chain: "".into(), sequence: 0 });
        }
        self.enqueue(entry, None).await?.written().await
    }

    /// Hands in an entry, waiting only for room in the queue. The entry is handed in exactly when this returns `Ok`: a
    /// caller that stops waiting has not handed it in.
    pub(crate) async fn enqueue(&self, entry: Entry, handle: Option<EntryHandle>) -> Result<Pending, AuditError> {
        let queue = self.inner.queue.as_ref().ok_or(AuditError::Closed)?;
        // Whoever comes while nothing moves need not wait to hear it.
        if self.inner.state.is_stuck(self.inner.timeout) {
            return Err(AuditError::Busy);
        }
        let deadline = tokio::time::Instant::now() + self.inner.timeout;
        let (reply, answer) = oneshot::channel();
        let job = self.job(entry, Some(reply), handle);
        match tokio::time::timeout_at(deadline, queue.send(job)).await {
            Ok(sent) => sent.map_err(|_| AuditError::Closed)?,
            Err(_) => return Err(AuditError::Busy),
        }
        Ok(Pending { answer, deadline })
    }

    /// Whether the last entries could not be written, or the writer does not move. Until an entry could be written
    /// again, nothing should rely on one that it has not seen written.
    pub fn is_failing(&self) -> bool {
        let state = &self.inner.state;
        state.is_failing.load(Ordering::Relaxed) || state.is_stuck(self.inner.timeout)
    }

    /// Hands in the last entry of an operation, where nobody can wait any more. If the queue is full, a task waits for
    /// room; there are never more such tasks than operations were running.
    pub(crate) fn submit_final(&self, entry: Entry) -> Result<(), AuditError> {
        let Some(queue) = &self.inner.queue else { return Ok(()) };
        let job = match queue.try_send(self.job(entry, None, None)) {
            Err(mpsc::error::TrySendError::Full(job)) => job,
            other => return other.map_err(|error| send_error(&error)),
        };
        // Nobody knows when a writer that does not move takes anything again.
        if self.inner.state.is_stuck(self.inner.timeout) {
            return Err(AuditError::Busy);
        }
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| AuditError::Busy)?;
        let (queue, timeout) = (queue.clone(), self.inner.timeout);
        runtime.spawn(async move {
            if tokio::time::timeout(timeout, queue.send(job)).await.is_err() {
                tracing::error!("an outcome is not on record: the audit cannot keep up");
            }
        });
        Ok(())
    }

    /// Hands in an entry without waiting for it, where waiting is impossible. What comes of it is not told. Refusals in
    /// floods are counted instead.
    pub fn submit(&self, entry: Entry) -> Result<(), AuditError> {
        if let Some(refusal) = entry.refusal() {
            let (is_written, counted) = self.inner.floods.count(refusal, self.inner.clock.0.now());
            counted.into_iter().try_for_each(|entry| self.try_send(entry))?;
            if !is_written {
                return Ok(());
            }
        }
        self.try_send(entry)
    }

    fn try_send(&self, entry: Entry) -> Result<(), AuditError> {
        let Some(queue) = &self.inner.queue else { return Ok(()) };
        queue.try_send(self.job(entry, None, None)).map_err(|error| send_error(&error))
    }

    /// Waits until everything handed in before is written or has failed.
    pub async fn flush(&self) -> Result<(), AuditError> {
        let Some(queue) = &self.inner.queue else { return Ok(()) };
        self.inner.floods.drain().into_iter().try_for_each(|entry| self.try_send(entry))?;
        let (reply, answer) = oneshot::channel();
        let through = async {
            queue.send(writer::Job::Flush(reply)).await.map_err(|_| AuditError::Closed)?;
            answer.await.map_err(|_| AuditError::Closed)
        };
        tokio::time::timeout(self.inner.timeout, through).await.unwrap_or(Err(AuditError::Busy))
    }

    /// How much has been written.
    pub fn stats(&self) -> AuditStats {
        let state = &self.inner.state;
        AuditStats {
            entries: state.entries.load(Ordering::Relaxed),
            writes: state.writes.load(Ordering::Relaxed),
            failures: state.failures.load(Ordering::Relaxed),
        }
    }

    fn job(
        &self,
        mut entry: Entry,
        reply: Option<oneshot::Sender<Result<EntryPosition, AuditError>>>,
        handle: Option<EntryHandle>,
    ) -> writer::Job {
        let intent = entry.take_intent();
        let (time, gate_time) = (self.inner.clock.0.wall_time(), self.inner.clock.0.now());
        // People compare entries with other logs, so the wall clock's time is the entry's. The gate may count by another.
        let entry = match gate_time.duration_since(time).abs() > NOTABLE_DIFFERENCE {
            true => entry.gate_time(gate_time),
            false => entry,
        };
        writer::Job::Write(writer::QueuedEntry { time, members: entry.members(), intent, handle, reply })
    }
}

/// An entry that was handed in and is not known to be written yet.
pub(crate) struct Pending {
    answer: oneshot::Receiver<Result<EntryPosition, AuditError>>,
    deadline: tokio::time::Instant,
}

impl Pending {
    /// Waits until the entry is written.
    pub(crate) async fn written(self) -> Result<EntryPosition, AuditError> {
        match tokio::time::timeout_at(self.deadline, self.answer).await {
            Ok(answer) => answer.map_err(|_| AuditError::Closed)?,
            Err(_) => Err(AuditError::Busy),
        }
    }
}

fn send_error<T>(error: &mpsc::error::TrySendError<T>) -> AuditError {
    match error {
        mpsc::error::TrySendError::Full(_) => AuditError::Busy,
        mpsc::error::TrySendError::Closed(_) => AuditError::Closed,
    }
}
