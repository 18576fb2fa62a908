//! Stores the accepted definitions of upstreams (R-DIS-7a).
//!
//! There is one record for each upstream in the state store, so that several processes agree on what was accepted and a
//! person can accept definitions from outside. If the store does not answer, the last known pins still apply. Without
//! any pins nothing can be compared, and nothing that was not compared is called.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_discovery::PinBook;
use aquifer_discovery::pins::PinBookReadError;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{MemoryStore, StateStore, StoreError};
use parking_lot::Mutex;

use super::accepted_definitions;
use crate::settings::Settings;

/// How long a record is kept: longer than any server is likely to stay unused.
const RECORD_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long to wait for the store before the last known pins are used.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Records of an in-memory store.
const MAX_RECORDS_IN_MEMORY: usize = 10_000;

/// Characters of a source's name in a key.
const MAX_NAME_CHARS: usize = 100;

/// Records of other sources of the same name that a new source is compared with.
const MAX_INHERITED: usize = 100;

/// Receives notifications about quarantined definitions.
pub trait DefinitionObserver: Send + Sync + 'static {
    /// Called once for each definition that has to be accepted before its tool can be called.
    fn quarantined(&self, source: &str, tool: &str, operation: &str, reason: &str);
}

/// Where definitions are pinned.
#[derive(Clone)]
pub struct PinStore {
    store: Arc<dyn StateStore>,
    is_read_only: bool,
    observer: Option<Arc<dyn DefinitionObserver>>,
}

impl PinStore {
    /// Pins in this store. Definitions that are seen for the first time are accepted.
    pub fn new(store: Arc<dyn StateStore>) -> Self {
        Self { store, is_read_only: false, observer: None }
    }

    /// Reads this store and writes nothing, for commands that only inspect.
    pub fn read_only(store: Arc<dyn StateStore>) -> Self {
        Self { is_read_only: true, ..Self::new(store) }
    }

    /// Pins that last as long as this process.
    pub fn in_memory(clock: SharedClock) -> Self {
        Self::new(Arc::new(MemoryStore::new(clock, MAX_RECORDS_IN_MEMORY)))
    }

    /// Notifies an observer of quarantined definitions.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn DefinitionObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Whether pins outlive this process, so that definitions can be accepted from outside.
    pub fn outlives_process(&self) -> bool {
        self.store.outlives_process()
    }

    pub(crate) fn store(&self) -> &Arc<dyn StateStore> {
        &self.store
    }

    pub(crate) fn observer(&self) -> Option<&Arc<dyn DefinitionObserver>> {
        self.observer.as_ref()
    }
}

impl std::fmt::Debug for PinStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinning").field("is_read_only", &self.is_read_only).finish_non_exhaustive()
    }
}

/// The pins of one upstream, as last read.
#[derive(Clone, Default)]
pub(crate) struct PinSnapshot {
    /// The pin book. `None` if nothing was ever pinned.
    pub(crate) book: Option<Arc<PinBook>>,
    /// The version of the record.
    pub(crate) version: Option<u64>,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteOutcome {
    /// The record was written.
    Done,
    /// Another process has written in the meantime. Read again.
    Conflict,
    /// The store refused the write.
    Failed,
}

/// The pins that a source is compared with.
pub(crate) struct PinRecord {
    pub(crate) book: Result<PinBook, PinBookReadError>,
    /// The version of the source's own record. `None` if the pins are recovered or inherited.
    pub(crate) version: Option<u64>,
    /// Whether the store has lost the record.
    pub(crate) is_recovered: bool,
}

/// The pins of one upstream.
pub(crate) struct PinLedger {
    pin_store: PinStore,
    source: String,
    key: String,
    inherits_pins: bool,
    last: Mutex<Option<PinSnapshot>>,
    is_failing: AtomicBool,
}

impl PinLedger {
    pub(crate) fn new(pin_store: PinStore, settings: &Settings) -> Self {
        let (source, key) = (settings.name.clone(), Self::key(settings));
        let inherits_pins = settings.inherits_pins;
        let (last, is_failing) = (Mutex::default(), AtomicBool::new(false));
        Self { pin_store, source, key, inherits_pins, last, is_failing }
    }

    /// The key of the record.
    pub(crate) fn key(settings: &Settings) -> String {
        let name: String = settings.pin_name().chars().filter(|c| *c != '/').take(MAX_NAME_CHARS).collect();
        format!("pins/{name}/{}", settings.identity())
    }

    /// Finds the pins: the source's own record, or else what is left of it, or else those of other sources of its name.
    pub(crate) async fn find(&self, settings: &Settings) -> Result<Option<PinRecord>, StoreError> {
        if let Some(record) = self.pin_store.store.get(&self.key).await? {
            let book = PinBook::read(&record.value);
            return Ok(Some(PinRecord { book, version: Some(record.version), is_recovered: false }));
        }
        if self.pin_store.outlives_process()
            && let Some(book) = accepted_definitions::recover(settings)
        {
            return Ok(Some(PinRecord { book, version: None, is_recovered: true }));
        }
        if !self.inherits_pins {
            return Ok(None);
        }
        let prefix = self.key.rfind('/').and_then(|end| self.key.get(..=end)).unwrap_or(&self.key);
        let mut book = PinBook::default();
        for (_, record) in self.pin_store.store.list(prefix, MAX_INHERITED).await? {
            if let Ok(other) = PinBook::read(&record.value) {
                book.inherit(other);
            }
        }
        Ok((!book.is_empty()).then_some(PinRecord { book: Ok(book), version: None, is_recovered: false }))
    }

    pub(crate) fn pin_store(&self) -> &PinStore {
        &self.pin_store
    }

    /// Whether definitions may be pinned.
    pub(crate) fn may_pin(&self) -> bool {
        !self.pin_store.is_read_only
    }

    /// Whether the last access to the store failed.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// The current pins, or the last known ones if the store does not answer. `None` if it never answered.
    pub(crate) async fn read(&self, settings: &Settings) -> Option<PinSnapshot> {
        let read = async {
            let mut found = self.find(settings).await.map_err(|error| error.to_string())?;
            if let Some(PinRecord { book: Ok(book), is_recovered: true, .. }) = &found
                && self.may_pin()
            {
                tracing::warn!(
                    source = self.source,
                    "the state store has lost the accepted definitions of this source. Its tools are compared with the \
                     copy in the state directory"
                );
                self.write(book, None).await;
                found = self.find(settings).await.map_err(|error| error.to_string())?;
            }
            let Some(found) = found else { return Ok(PinSnapshot::default()) };
            let book = found.book.map_err(|error| error.to_string())?;
            Ok(PinSnapshot { book: Some(Arc::new(book)), version: found.version })
        };
        let read: Result<PinSnapshot, String> =
            tokio::time::timeout(READ_TIMEOUT, read).await.unwrap_or_else(|_| Err("timeout".to_owned()));
        let mut last = self.last.lock();
        match read {
            Ok(pins) => {
                self.is_failing.store(false, Ordering::Relaxed);
                *last = Some(pins.clone());
                Some(pins)
            }
            Err(cause) => {
                self.report_failure(&cause);
                // That nothing was pinned earlier does not mean that nothing is pinned now.
                last.clone().filter(|pins| pins.book.is_some())
            }
        }
    }

    /// Replaces the record that was read.
    pub(crate) async fn write(&self, book: &PinBook, read: Option<u64>) -> WriteOutcome {
        match self.pin_store.store.compare_and_set(&self.key, read, book.write(), RECORD_TTL).await {
            Ok(true) => {
                let written = PinSnapshot { book: Some(Arc::new(book.clone())), version: None };
                *self.last.lock() = Some(written);
                WriteOutcome::Done
            }
            Ok(false) => WriteOutcome::Conflict,
            Err(error) => {
                self.report_failure(&error.to_string());
                WriteOutcome::Failed
            }
        }
    }

    /// Logs once that the store fails, and again after it has recovered.
    fn report_failure(&self, cause: &str) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let source = self.source.as_str();
            tracing::error!(
                source,
                cause,
                "the pinned definitions cannot be read: new and changed tools are quarantined until they can"
            );
        }
    }
}
