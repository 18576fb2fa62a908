//! The writer thread: takes the waiting entries, seals them, writes and syncs them in one batch, advances the head and
//! replies.
//!
//! The order matters. Files come first: an entry that is not in a file was not recorded. Then come the store and
//! standard error, then the head, then the replies, so that no caller continues before the head confirms its entry.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use aquifer_engine::store::{StateStore, StoreError};
use aquifer_protocol::hex::hex;
use futures::future::BoxFuture;
use jiff::Timestamp;
use serde::Serialize;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use super::entry::json_members;
use super::file::{Destination, FileName, Files};
use super::handle::EntryHandle;
use super::head::{self, Head};
use super::line::ChainTip;
use super::retention::{self, Plan};
use super::stderr::Stderr;
use super::store_sink::{self, StoreSink};
use super::{AuditError, AuditSettings, EntryPosition, Sink, WriterState};

/// Maximum number of entries in a batch.
const MAX_BATCH_ENTRIES: usize = 512;
/// Size at which a batch is written.
const MAX_BATCH_BYTES: usize = 1 << 20;
/// Approximate size of a line without its entry's members; only used to decide when to start the next file.
const LINE_OVERHEAD: usize = 320;

/// A task for the writer.
pub(super) enum Job {
    /// Write this entry.
    Write(QueuedEntry),
    /// Reply when all earlier jobs are done.
    Flush(oneshot::Sender<()>),
}

impl Job {
    fn size(&self) -> usize {
        match self {
            Job::Write(entry) => entry.members.len() + LINE_OVERHEAD,
            Job::Flush(_) => 0,
        }
    }
}

/// The first line of a chain.
#[derive(Serialize)]
struct ChainStart<'a> {
    event: &'static str,
    version: &'static str,
    process: u32,
    started: Timestamp,
    /// The chain that the same process wrote before this one, if its file could not be continued.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<&'a str>,
}

/// The first line of each later file of a chain.
#[derive(Serialize)]
struct ChainContinuation {
    event: &'static str,
    version: &'static str,
    process: u32,
    file: Option<String>,
}

struct Chain {
    id: Arc<str>,
    tip: ChainTip,
}

struct Writer {
    files: Option<Files>,
    max_bytes: u64,
    stderr: Option<Stderr>,
    store_sink: Option<StoreSink>,
    store: Arc<dyn StateStore>,
    runtime: Handle,
    timeout: Duration,
    started: Timestamp,
    chain: Chain,
    state: Arc<WriterState>,
    /// Whether the last batch failed. Keeps repeated failures from being logged again.
    failing: bool,
}

/// A sealed batch that is not written yet.
struct Draft {
    chain: Chain,
    /// The name of the new file, if the batch starts one.
    file: Option<String>,
    text: Vec<u8>,
    sequences: Vec<u64>,
    first: u64,
    plan: Option<Plan>,
}

/// An entry that waits to be written.
pub(super) struct QueuedEntry {
    /// When the event happened.
    pub(super) time: Timestamp,
    /// The members of the entry's JSON object.
    pub(super) members: String,
    /// The intent that this outcome belongs to.
    pub(super) intent: Option<EntryHandle>,
    /// Receives the position of the entry.
    pub(super) handle: Option<EntryHandle>,
    /// Receives the result.
    pub(super) reply: Option<oneshot::Sender<Result<EntryPosition, AuditError>>>,
}

/// Starts the thread.
pub(super) fn start(
    settings: &AuditSettings,
    started: Timestamp,
    store: Arc<dyn StateStore>,
    state: Arc<WriterState>,
) -> Result<mpsc::Sender<Job>, AuditError> {
    let runtime = Handle::try_current().map_err(|error| AuditError::Settings(error.to_string()))?;
    let chain = Chain::new()?;
    let (mut files, mut max_bytes, mut stderr, mut store_sink) = (None, u64::MAX, None, None);
    for sink in &settings.sinks {
        match sink {
            Sink::File { .. } if files.is_some() => {
                return Err(AuditError::Settings("only one audit directory is possible".to_owned()));
            }
            Sink::File { directory, size, keep } => {
                max_bytes = size.saturating_mul(u64::from((*keep).max(1)));
                files = Some(Files::new(directory, *size, &chain.id)?);
            }
            Sink::Stderr => stderr = Some(Stderr::new(settings.sinks.len() == 1)?),
            Sink::Store { keep } => store_sink = Some(StoreSink::new(*keep)),
        }
    }
    let (timeout, failing) = (settings.timeout, false);
    let writer =
        Writer { files, max_bytes, stderr, store_sink, store, runtime, timeout, started, chain, state, failing };
    let (sender, queue) = mpsc::channel(settings.queue.max(1));
    std::thread::Builder::new()
        .name("audit".to_owned())
        .spawn(move || writer.run(queue))
        .map_err(|error| AuditError::Settings(error.to_string()))?;
    Ok(sender)
}

impl Chain {
    fn new() -> Result<Self, AuditError> {
        let mut id = [0_u8; 16];
        getrandom::fill(&mut id).map_err(|error| AuditError::Settings(error.to_string()))?;
        Ok(Self { id: hex(&id).into(), tip: ChainTip::new() })
    }
}

impl Writer {
    fn run(mut self, mut queue: mpsc::Receiver<Job>) {
        let mut jobs = Vec::with_capacity(MAX_BATCH_ENTRIES);
        while let Some(job) = queue.blocking_recv() {
            self.state.set_busy(Some(Instant::now()));
            let mut bytes = job.size();
            jobs.push(job);
            while jobs.len() < MAX_BATCH_ENTRIES
                && bytes < MAX_BATCH_BYTES
                && let Ok(job) = queue.try_recv()
            {
                bytes += job.size();
                jobs.push(job);
            }
            let (mut entries, mut flushes) = (Vec::new(), Vec::new());
            for job in jobs.drain(..) {
                match job {
                    Job::Write(entry) => entries.push(entry),
                    Job::Flush(reply) => flushes.push(reply),
                }
            }
            if !entries.is_empty() {
                self.write_batch(entries);
            }
            self.state.set_busy(None);
            for reply in flushes {
                // The receiver may have stopped waiting.
                let _ = reply.send(());
            }
        }
    }

    fn write_batch(&mut self, entries: Vec<QueuedEntry>) {
        let count = entries.len() as u64;
        let written = self.write(&entries);
        self.state.writes.fetch_add(1, Ordering::Relaxed);
        let counter = if written.is_ok() { &self.state.entries } else { &self.state.failures };
        counter.fetch_add(count, Ordering::Relaxed);
        match &written {
            Err(error) if !self.failing => tracing::error!(%error, "the audit cannot be written"),
            Ok(_) if self.failing => tracing::warn!("the audit can be written again"),
            _ => {}
        }
        self.failing = written.is_err();
        self.state.is_failing.store(self.failing, Ordering::Relaxed);
        for (position, QueuedEntry { reply, .. }) in entries.into_iter().enumerate() {
            let Some(reply) = reply else { continue };
            let answer = match &written {
                Ok(sequences) => sequences
                    .get(position)
                    .map(|sequence| EntryPosition { chain: self.chain.id.clone(), sequence: *sequence })
                    .ok_or(AuditError::Closed),
                Err(error) => Err(error.clone()),
            };
            let _ = reply.send(answer);
        }
    }

    /// Writes the entries. Returns their numbers.
    fn write(&mut self, entries: &[QueuedEntry]) -> Result<Vec<u64>, AuditError> {
        if self.store_sink.as_ref().is_some_and(|sink| !sink.has_room(entries.len() + 2)) {
            self.flush_store_sink()?;
        }
        let mut draft = self.draft(entries)?;
        if let Some(files) = &mut self.files {
            match &draft.file {
                Some(name) => files.begin(name, &draft.text)?,
                None => files.append(&draft.text)?,
            }
        }
        // From here on the lines are part of the chain, even if a later step fails.
        self.chain = draft.chain;
        for (entry, sequence) in entries.iter().zip(&draft.sequences) {
            if let Some(handle) = &entry.handle {
                handle.set_position(EntryPosition { chain: self.chain.id.clone(), sequence: *sequence });
            }
        }
        let stderr_result = self.stderr.as_ref().map_or(Ok(()), |stderr| stderr.write(&draft.text));
        if let Some(sink) = &mut self.store_sink {
            let lines = draft.text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            for (sequence, line) in (draft.first..).zip(lines) {
                sink.add(&self.chain.id, sequence, line);
            }
        }
        self.flush_store_sink()?;
        let plan = draft.plan.take();
        self.move_head(plan.as_ref())?;
        if let Some(plan) = plan {
            plan.delete_files();
        }
        stderr_result.map_err(|error| AuditError::file("standard error".as_ref(), &error))?;
        Ok(draft.sequences)
    }

    /// Seals the entries. Adds a first line if they start a file or a chain.
    fn draft(&mut self, entries: &[QueuedEntry]) -> Result<Draft, AuditError> {
        let more = entries.iter().map(|entry| entry.members.len() + LINE_OVERHEAD).sum();
        let is_new = self.chain.tip.sequence == 0;
        let destination = match &mut self.files {
            Some(files) => files.choose_destination(more)?,
            None if is_new => Destination::NewChain,
            None => Destination::CurrentFile,
        };
        let mut draft = Draft {
            chain: Chain { id: self.chain.id.clone(), tip: self.chain.tip.clone() },
            file: None,
            text: Vec::with_capacity(more),
            sequences: Vec::with_capacity(entries.len()),
            first: 0,
            plan: None,
        };
        let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
        let opening = match destination {
            Destination::CurrentFile => None,
            Destination::NextFile => {
                let file = self.files.as_ref().and_then(Files::current);
                Some(json_members(&ChainContinuation { event: "CHAIN_CONTINUED", version, process, file }))
            }
            Destination::NewChain => {
                let after = (!is_new).then_some(&*self.chain.id);
                if after.is_some() {
                    draft.chain = Chain::new()?;
                }
                let started = self.started;
                Some(json_members(&ChainStart { event: "CHAIN_STARTED", version, process, started, after }))
            }
        };
        draft.first = draft.chain.tip.sequence.saturating_add(1);
        if let (Some(opening), Some(QueuedEntry { time, .. })) = (opening, entries.first()) {
            if let Some(files) = &self.files {
                draft.file = Some(FileName::format(&draft.chain.id, self.started, &draft.chain.tip));
                draft.plan = self.retention(files);
            }
            draft.seal(*time, &opening);
            if let Some(plan) = &draft.plan {
                let members = json_members(plan);
                draft.seal(*time, &members);
            }
        }
        for (position, entry) in entries.iter().enumerate() {
            let earlier = entries.get(..position).unwrap_or_default();
            match entry.intent.as_ref().and_then(|intent| draft.position_of(intent, earlier)) {
                None => draft.seal(entry.time, &entry.members),
                Some(intent) => draft.seal(entry.time, &format!(r#"{},"intent":"{intent}""#, entry.members)),
            }
            draft.sequences.push(draft.chain.tip.sequence);
        }
        Ok(draft)
    }

    /// The files to drop when a new file is started. If the directory cannot be read, nothing is dropped and writing
    /// continues.
    fn retention(&self, files: &Files) -> Option<Plan> {
        let most = self.max_bytes.saturating_sub(files.size());
        retention::plan(files.directory(), most, files.current().as_deref()).unwrap_or_else(|error| {
            tracing::warn!(%error, "old audit files cannot be listed");
            None
        })
    }

    /// Writes waiting lines to the store.
    fn flush_store_sink(&mut self) -> Result<(), AuditError> {
        let Some(sink) = &self.store_sink else { return Ok(()) };
        let (lines, keep) = (sink.waiting(), sink.keep);
        self.run_on_store(move |store| Box::pin(async move { store_sink::write(&*store, lines, keep).await }))?;
        if let Some(sink) = &mut self.store_sink {
            sink.done();
        }
        Ok(())
    }

    /// Advances the head to the last line, and stores the new beginnings of chains whose files are dropped.
    fn move_head(&self, plan: Option<&Plan>) -> Result<(), AuditError> {
        let beginnings = plan.map(|plan| plan.beginnings.clone()).unwrap_or_default();
        let head = Head {
            chain: self.chain.id.to_string(),
            sequence: self.chain.tip.sequence,
            hash: self.chain.tip.hash.clone(),
            file: self.files.as_ref().and_then(Files::current),
            beginning: beginnings.iter().find(|beginning| *beginning.chain == *self.chain.id).cloned(),
        };
        let keep = match (&self.files, &self.store_sink) {
            (None, Some(sink)) => sink.keep,
            _ => head::HEAD_TTL,
        };
        self.run_on_store(move |store| {
            Box::pin(async move {
                head::advance(&*store, &head, keep).await?;
                for beginning in beginnings.iter().filter(|beginning| beginning.chain != head.chain) {
                    head::set_beginning(&*store, beginning).await?;
                }
                Ok(())
            })
        })
    }

    /// Runs work on the state store, with a timeout.
    fn run_on_store(
        &self,
        work: impl FnOnce(Arc<dyn StateStore>) -> BoxFuture<'static, Result<(), StoreError>>,
    ) -> Result<(), AuditError> {
        let (sender, answer) = std::sync::mpsc::sync_channel(1);
        let work = work(self.store.clone());
        let task = self.runtime.spawn(async move {
            let _ = sender.send(work.await);
        });
        // Half of the timeout, so that the caller waiting for the entry still learns the reason.
        match answer.recv_timeout(self.timeout / 2) {
            Ok(outcome) => Ok(outcome?),
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                task.abort();
                Err(AuditError::Store("the state store takes too long".to_owned()))
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(AuditError::Closed),
        }
    }
}

impl Draft {
    /// The position of an intent that was written earlier, either in a previous batch or in this one.
    fn position_of(&self, intent: &EntryHandle, earlier: &[QueuedEntry]) -> Option<String> {
        if let Some(EntryPosition { chain, sequence }) = intent.position() {
            return (!chain.is_empty()).then(|| format!("{chain}/{sequence}"));
        }
        let is_it = |entry: &QueuedEntry| entry.handle.as_ref().is_some_and(|handle| handle.is_same(intent));
        let sequence = self.sequences.get(earlier.iter().rposition(is_it)?)?;
        Some(format!("{}/{sequence}", self.chain.id))
    }

    fn seal(&mut self, time: Timestamp, members: &str) {
        self.chain.tip.seal(&self.chain.id, time, members, &mut self.text);
    }
}
