//! The audit (R-SAF-5): append-only JSON lines, each linked to the preceding one by its hash.
//!
//! [`Audit`] accepts entries from any task. One thread seals, writes and syncs them in batches. Every process writes
//! its own chains, so no file has two writers. The head of each chain is kept in the state store, so that missing lines
//! are detected. [`verify`] checks everything that was written. Nothing here makes decisions. Entries are redacted when
//! an [`Entry`] is built.

mod entry;
mod fields;
mod file;
mod handle;
mod head;
mod line;
pub mod read;
mod refusal_limiter;
mod retention;
mod stderr;
mod store_sink;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{StateStore, StoreError};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use refusal_limiter::RefusalLimiter;

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

/// If the wall clock and the gate's clock differ by more than this, entries carry both times.
const NOTABLE_DIFFERENCE: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

/// Settings of the audit.
#[derive(Debug, Clone)]
pub struct AuditSettings {
    /// Where entries are written. Every entry goes to all sinks; without sinks there is no audit.
    pub sinks: Vec<Sink>,
    /// Whether operations that have to be recorded are refused while the audit cannot be written.
    pub required: bool,
    /// How long writing an entry may take.
    pub timeout: Duration,
    /// Maximum number of entries waiting to be written.
    pub queue: usize,
}

impl Default for AuditSettings {
    fn default() -> Self {
        Self { sinks: Vec::new(), required: true, timeout: Duration::from_secs(5), queue: 4096 }
    }
}

impl AuditSettings {
    /// Writes files into this directory: at most 16 MiB per file and 256 MiB in total.
    pub fn in_directory(directory: impl Into<PathBuf>) -> Self {
        let file = Sink::File { directory: directory.into(), size: 16 * 1024 * 1024, keep: 16 };
        Self { sinks: vec![file], ..Self::default() }
    }
}

/// Where entries are written.
#[derive(Debug, Clone)]
pub enum Sink {
    /// Files in a directory.
    File {
        /// The directory; created if necessary.
        directory: PathBuf,
        /// A file that would exceed this many bytes is followed by a new one.
        size: u64,
        /// This many files of that size are kept; the oldest are dropped.
        keep: u32,
    },
    /// Standard error.
    Stderr,
    /// The state store.
    Store {
        /// How long it keeps an entry.
        keep: Duration,
    },
}

/// Why an entry was not recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// The settings are invalid.
    #[error("the audit cannot be set up: {0}")]
    Settings(String),
    /// A file cannot be written or read.
    #[error("audit file {path}: {cause}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: String,
    },
    /// The state store did not accept the entry or the head.
    #[error("audit: {0}")]
    Store(String),
    /// Writing took too long, or too many entries are waiting.
    #[error("the audit cannot keep up")]
    Busy,
    /// The writer has stopped.
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

/// Counters of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AuditStats {
    /// Entries written.
    pub entries: u64,
    /// Batches written and synced.
    pub writes: u64,
    /// Entries that could not be written.
    pub failures: u64,
}

/// Accepts entries. Cheap to clone. The writer stops when the last clone is dropped and all waiting entries are
/// written.
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
    refusals: RefusalLimiter,
}

struct DebugClock(SharedClock);

impl std::fmt::Debug for DebugClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

/// State of the writer that other threads can read.
#[derive(Debug, Default)]
struct WriterState {
    entries: AtomicU64,
    writes: AtomicU64,
    failures: AtomicU64,
    /// Whether the last batch could not be written.
    is_failing: AtomicBool,
    /// When the writer started its current batch; `None` while it is idle.
    busy_since: Mutex<Option<Instant>>,
}

impl WriterState {
    fn set_busy(&self, since: Option<Instant>) {
        *self.busy_since.lock() = since;
    }

    /// Whether the current batch has taken longer than `timeout`.
    fn is_stuck(&self, timeout: Duration) -> bool {
        let since = *self.busy_since.lock();
        since.is_some_and(|since| since.elapsed() > timeout)
    }
}

impl Audit {
    /// Starts the writer. Must be called inside the runtime that drives the store. The first entry starts a chain.
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
                refusals: RefusalLimiter::default(),
            }),
        })
    }

    /// An audit that discards everything.
    pub fn disabled(clock: SharedClock) -> Self {
        let (clock, queue, required, timeout) = (DebugClock(clock), None, false, Duration::ZERO);
        let (state, refusals) = (Arc::default(), RefusalLimiter::default());
        Self { inner: Arc::new(Inner { clock, queue, required, timeout, state, refusals }) }
    }

    /// Whether entries are written anywhere.
    pub fn is_enabled(&self) -> bool {
        self.inner.queue.is_some()
    }

    /// Whether operations that have to be recorded are refused when [`record`](Audit::record) fails.
    pub fn is_required(&self) -> bool {
        self.inner.required && self.inner.queue.is_some()
    }

    /// Records an entry. When this returns, the entry is on disk (or in the store, if there are no files), and the head
    /// of its chain is in the store. An entry that failed because it took too long may still be written later.
    pub async fn record(&self, entry: Entry) -> Result<EntryPosition, AuditError> {
        if !self.is_enabled() {
            return Ok(EntryPosition { chain: "".into(), sequence: 0 });
        }
        self.enqueue(entry, None).await?.wait_until_written().await
    }

    /// Queues an entry, waiting only for room in the queue. The entry is queued if and only if this returns `Ok`.
    pub(crate) async fn enqueue(&self, entry: Entry, handle: Option<EntryHandle>) -> Result<PendingEntry, AuditError> {
        let queue = self.inner.queue.as_ref().ok_or(AuditError::Closed)?;
        // Fail at once if the writer is stuck.
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
        Ok(PendingEntry { answer, deadline })
    }

    /// Whether the last batch could not be written, or the writer is stuck. Until an entry is written again, callers
    /// should wait for every entry they rely on.
    pub fn is_failing(&self) -> bool {
        let state = &self.inner.state;
        state.is_failing.load(Ordering::Relaxed) || state.is_stuck(self.inner.timeout)
    }

    /// Queues the last entry of an operation from a place that cannot wait. If the queue is full, a spawned task waits
    /// for room. There are never more such tasks than operations.
    pub(crate) fn submit_final(&self, entry: Entry) -> Result<(), AuditError> {
        let Some(queue) = &self.inner.queue else { return Ok(()) };
        let job = match queue.try_send(self.job(entry, None, None)) {
            Err(mpsc::error::TrySendError::Full(job)) => job,
            other => return other.map_err(|error| send_error(&error)),
        };
        // A stuck writer may never take the entry.
        if self.inner.state.is_stuck(self.inner.timeout) {
            return Err(AuditError::Busy);
        }
        let runtime = tokio::runtime::Handle::try_current().map_err(|_| AuditError::Busy)?;
        let (queue, timeout) = (queue.clone(), self.inner.timeout);
        runtime.spawn(async move {
            if tokio::time::timeout(timeout, queue.send(job)).await.is_err() {
                tracing::error!("an outcome was not recorded: the audit cannot keep up");
            }
        });
        Ok(())
    }

    /// Queues an entry without waiting. The result of writing it is not reported. Excess refusals are counted instead.
    pub fn submit(&self, entry: Entry) -> Result<(), AuditError> {
        if let Some(refusal) = entry.refusal() {
            let (is_written, counted) = self.inner.refusals.count(refusal, self.inner.clock.0.now());
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

    /// Waits until all entries queued so far are written or have failed.
    pub async fn flush(&self) -> Result<(), AuditError> {
        let Some(queue) = &self.inner.queue else { return Ok(()) };
        self.inner.refusals.drain().into_iter().try_for_each(|entry| self.try_send(entry))?;
        let (reply, answer) = oneshot::channel();
        let through = async {
            queue.send(writer::Job::Flush(reply)).await.map_err(|_| AuditError::Closed)?;
            answer.await.map_err(|_| AuditError::Closed)
        };
        tokio::time::timeout(self.inner.timeout, through).await.unwrap_or(Err(AuditError::Busy))
    }

    /// The counters so far.
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
        // Entries carry wall-clock time, because people compare them with other logs. The gate's clock may differ.
        let entry = match gate_time.duration_since(time).abs() > NOTABLE_DIFFERENCE {
            true => entry.gate_time(gate_time),
            false => entry,
        };
        writer::Job::Write(writer::QueuedEntry { time, members: entry.members(), intent, handle, reply })
    }
}

/// A queued entry.
pub(crate) struct PendingEntry {
    answer: oneshot::Receiver<Result<EntryPosition, AuditError>>,
    deadline: tokio::time::Instant,
}

impl PendingEntry {
    /// Waits until the entry is written.
    pub(crate) async fn wait_until_written(self) -> Result<EntryPosition, AuditError> {
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
