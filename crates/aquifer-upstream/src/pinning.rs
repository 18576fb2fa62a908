//! Where the accepted definitions of upstreams are remembered (R-DIS-7a).
//!
//! One record for each upstream in the state store, so that several processes agree on what was accepted and a person can
//! accept something from outside. A store that does not answer costs nothing that was read before; what was never read
//! cannot be judged, and what cannot be judged is not called.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aquifer_discovery::PinBook;
use aquifer_discovery::pins::PinBookReadError;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::store::{MemoryStore, StateStore, StoreError};

use crate::settings::Settings;

/// How long a record is kept: longer than anybody leaves a server unused.
const KEEP: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How long a store may take before what was read earlier has to do.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// Upstreams that a memory of this process remembers.
const MAX_IN_MEMORY: usize = 10_000;

/// Longer names of sources are kept as their digest.
const MAX_NAME: usize = 100;

/// Records of other sources of the same name that a new source is held to.
const MAX_INHERITED: usize = 100;

/// Hears of definitions that are quarantined, to put them on record.
pub trait DefinitionObserver: Send + Sync + 'static {
    /// A tool cannot be called until somebody accepts its definition. Called once for each definition.
    fn quarantined(&self, source: &str, tool: &str, operation: &str, reason: &str);
}

/// Where definitions are pinned.
#[derive(Clone)]
pub struct Pinning {
    store: Arc<dyn StateStore>,
    is_read_only: bool,
    observer: Option<Arc<dyn DefinitionObserver>>,
}

impl Pinning {
    /// Pins in this store: definitions that are seen for the first time are accepted and remembered there.
    pub fn new(store: Arc<dyn StateStore>) -> Self {
        Self { store, is_read_only: false, observer: None }
    }

    /// Looks into this store and writes nothing, for commands that only look.
    pub fn read_only(store: Arc<dyn StateStore>) -> Self {
        Self { is_read_only: true, ..Self::new(store) }
    }

    /// Pins that live as long as this process.
    pub fn in_memory(clock: SharedClock) -> Self {
        Self::new(Arc::new(MemoryStore::new(clock, MAX_IN_MEMORY)))
    }

    /// Has somebody hear of what is quarantined.
    #[must_use]
    pub fn observed_by(mut self, observer: Arc<dyn DefinitionObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Whether pins outlive this process, so that somebody can accept a definition from outside.
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

impl std::fmt::Debug for Pinning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinning").field("is_read_only", &self.is_read_only).finish_non_exhaustive()
    }
}

/// What is pinned of one upstream, as it was read.
#[derive(Clone, Default)]
pub(crate) struct Pins {
    /// The book; none if nothing was ever pinned.
    pub(crate) book: Option<Arc<PinBook>>,
    /// The version of its record.
    pub(crate) version: Option<u64>,
}

/// What came of writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is written.
    Done,
    /// Somebody else has written meanwhile: look again.
    Conflict,
    /// The store did not take it.
    Failed,
}

/// What a source is held to.
pub(crate) struct Found {
    pub(crate) book: Result<PinBook, PinBookReadError>,
    /// The version of the source's own record; none if the book is that of others of its name.
    pub(crate) version: Option<u64>,
}

/// The pins of one upstream.
pub(crate) struct Ledger {
    pinning: Pinning,
    source: String,
    key: String,
    inherits: bool,
    last: Mutex<Option<Pins>>,
    is_failing: AtomicBool,
}

impl Ledger {
    pub(crate) fn new(pinning: Pinning, settings: &Settings) -> Self {
        let (source, key) = (settings.name.clone(), Self::key(settings));
        let inherits = settings.inherits_pins;
        Self { pinning, source, key, inherits, last: Mutex::default(), is_failing: AtomicBool::new(false) }
    }

    /// Where the pins of an upstream are.
    pub(crate) fn key(settings: &Settings) -> String {
        let name: String = settings.pin_name().chars().filter(|letter| *letter != '/').take(MAX_NAME).collect();
        format!("pins/{name}/{}", settings.identity())
    }

    /// What this upstream is held to: its own record, else what is pinned of others of its name.
    pub(crate) async fn find(&self) -> Result<Option<Found>, StoreError> {
        if let Some(record) = self.pinning.store.get(&self.key).await? {
            return Ok(Some(Found { book: PinBook::read(&record.value), version: Some(record.version) }));
        }
        if !self.inherits {
            return Ok(None);
        }
        let others = self.key.rfind('/').and_then(|end| self.key.get(..=end)).unwrap_or(&self.key);
        let mut book = PinBook::default();
        for (_, record) in self.pinning.store.list(others, MAX_INHERITED).await? {
            if let Ok(other) = PinBook::read(&record.value) {
                book.inherit(other);
            }
        }
        Ok((!book.is_empty()).then_some(Found { book: Ok(book), version: None }))
    }

    pub(crate) fn pinning(&self) -> &Pinning {
        &self.pinning
    }

    /// Whether definitions may be pinned here.
    pub(crate) fn may_pin(&self) -> bool {
        !self.pinning.is_read_only
    }

    /// Whether the store failed when it was last asked.
    pub(crate) fn is_failing(&self) -> bool {
        self.is_failing.load(Ordering::Relaxed)
    }

    /// What is pinned now; if the store does not answer, what was read last. None if it never answered.
    pub(crate) async fn read(&self) -> Option<Pins> {
        let read = async {
            let found = self.find().await.map_err(|error| error.to_string())?;
            let Some(found) = found else { return Ok(Pins::default()) };
            let book = found.book.map_err(|error| error.to_string())?;
            Ok(Pins { book: Some(Arc::new(book)), version: found.version })
        };
        let read: Result<Pins, String> =
            tokio::time::timeout(READ_TIMEOUT, read).await.unwrap_or_else(|_| Err("it takes too long".to_owned()));
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match read {
            Ok(pins) => {
                self.is_failing.store(false, Ordering::Relaxed);
                *last = Some(pins.clone());
                Some(pins)
            }
            Err(cause) => {
                self.report(&cause);
                last.clone()
            }
        }
    }

    /// Replaces what was read.
    pub(crate) async fn write(&self, book: &PinBook, read: Option<u64>) -> Written {
        match self.pinning.store.compare_and_set(&self.key, read, book.write(), KEEP).await {
            Ok(true) => Written::Done,
            Ok(false) => Written::Conflict,
            Err(error) => {
                self.report(&error.to_string());
                Written::Failed
            }
        }
    }

    /// Says once that the store fails, and again after it has worked meanwhile.
    fn report(&self, cause: &str) {
        if !self.is_failing.swap(true, Ordering::Relaxed) {
            let source = self.source.as_str();
            tracing::error!(
                source,
                cause,
                "the pinned definitions are out of reach: new and changed tools wait for them"
            );
        }
    }
}
