//! The builder of an engine.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use aquifer_protocol::batch::OnConfirmation;
use aquifer_protocol::catalog::CatalogError;
use aquifer_protocol::introspect::Facts;
use aquifer_protocol::limits::Limits;
use aquifer_protocol::surface::Surface;
use aquifer_protocol::validate::Strictness;
use aquifer_query::CursorKey;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::Engine;
use crate::clock::{SharedClock, SteadyClock, SystemClock};
use crate::event::{LogObserver, Observer};
use crate::gate::{ClosedGate, Gate, OpenGate};
use crate::shape::{self, Shaper};
use crate::snapshot::{Mount, Snapshot};
use crate::source::Source;
use crate::store::{MemoryStore, StateStore};
use crate::trace::CallLog;

/// The settings of an engine.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The limits for requests and responses.
    pub limits: Limits,
    /// How unknown parameters are treated.
    pub strictness: Strictness,
    /// What happens when an operation of a batch requires confirmation.
    pub on_confirmation: OnConfirmation,
    /// The maximum number of operations in a batch.
    pub max_batch_size: usize,
    /// How long a batch may take. Afterwards its reads are cancelled, and nothing more of it is started.
    pub batch_timeout: Duration,
    /// Whether responses contain `_meta`.
    pub meta: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            strictness: Strictness::Strict,
            on_confirmation: OnConfirmation::Halt,
            max_batch_size: 100,
            batch_timeout: Duration::from_secs(120),
            meta: false,
        }
    }
}

/// The error of building an engine.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The catalog is not valid.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// Two sources share a name.
    #[error("two sources are named '{0}': rename one of them")]
    DuplicateSource(String),
    /// The operating system provides no randomness for a secret.
    #[error("the operating system provides no randomness")]
    NoRandomness,
    /// A limit is out of range.
    #[error("limit '{name}' is {value}, allowed is {min} to {max}")]
    Limit {
        /// The name of the limit.
        name: &'static str,
        /// The configured value.
        value: usize,
        /// The minimum.
        min: usize,
        /// The maximum.
        max: usize,
    },
}

/// Builds an engine.
pub struct EngineBuilder {
    mounts: Vec<Mount>,
    surface: Surface,
    gate: Arc<dyn Gate>,
    store: Option<Arc<dyn StateStore>>,
    clock: SharedClock,
    observer: Arc<dyn Observer>,
    settings: Settings,
    shaping: shape::Settings,
    cursor_key: Option<CursorKey>,
}

impl EngineBuilder {
    /// Adds a source. With several sources, its name becomes the prefix of its operations.
    #[must_use]
    pub fn source(mut self, source: Arc<dyn Source>) -> Self {
        self.mounts.push(Mount::new(source));
        self
    }

    /// Adds a source with a prefix. An empty prefix leaves names unchanged.
    #[must_use]
    pub fn source_prefixed(mut self, source: Arc<dyn Source>, prefix: &str) -> Self {
        self.mounts.push(Mount { prefix: Some(prefix.to_owned()), ..Mount::new(source) });
        self
    }

    /// Adds a mount.
    #[must_use]
    pub fn mount(mut self, mount: Mount) -> Self {
        self.mounts.push(mount);
        self
    }

    /// Sets the gate. Without one, operations that cannot be undone are refused.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.gate = gate;
        self
    }

    /// Disables all safety checks: each call runs without confirmation or audit, however dangerous. For tests and
    /// benchmarks only, never for anything an agent can reach.
    #[must_use]
    pub fn dangerously_let_everything_pass(self) -> Self {
        self.gate(Arc::new(OpenGate))
    }

    /// Sets the state store.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn StateStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// Sets the clock. It should be a [`SteadyClock`]: held results expire by it.
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the observer of events.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = observer;
        self
    }

    /// Sets the settings.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the settings for shaping and held results.
    #[must_use]
    pub fn shaping(mut self, settings: shape::Settings) -> Self {
        self.shaping = settings;
        self
    }

    /// Sets the key for cursors into held results, for several processes that share them.
    #[must_use]
    pub fn cursor_key(mut self, key: CursorKey) -> Self {
        self.cursor_key = Some(key);
        self
    }

    /// Builds the engine and its first catalog.
    pub fn build(self) -> Result<Engine, BuildError> {
        const MAX_RECORDS: usize = 100_000;
        if let Some(wrong) = self.settings.limits.check().into_iter().next() {
            return Err(BuildError::Limit { name: wrong.name, value: wrong.value, min: wrong.min, max: wrong.max });
        }
        check_names(&self.mounts)?;
        let surface = Arc::new(self.surface);
        let facts = facts(&self.settings, &*self.gate);
        let generation = super::mounts::total_generation(&self.mounts);
        let snapshot = Snapshot::build(self.mounts.into(), surface.clone(), self.gate, facts, None)?;
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new(self.clock.clone(), MAX_RECORDS)));
        let cursor_key = match self.cursor_key {
            Some(key) => key,
            None => random_key()?,
        };
        let shaper = Shaper::new(cursor_key, self.shaping, self.settings.limits, self.clock.clone(), store.clone());
        Ok(Engine {
            shaper,
            mount_changes: watch::Sender::new(0),
            building: Mutex::new(()),
            surface,
            store,
            clock: self.clock,
            observer: self.observer,
            settings: self.settings,
            changes: watch::Sender::new(snapshot.digest()),
            snapshot: ArcSwap::from_pointee(snapshot),
            requests: AtomicU64::new(0),
            generation: AtomicU64::new(generation),
            call_log: CallLog::default(),
            clients: Arc::default(),
        })
    }
}

fn random_key() -> Result<CursorKey, BuildError> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|_| BuildError::NoRandomness)?;
    Ok(CursorKey::new(secret))
}

/// Checks that the names of the sources are unique.
pub(super) fn check_names(mounts: &[Mount]) -> Result<(), BuildError> {
    let mut names: Vec<&str> = mounts.iter().map(|mount| mount.source.name()).collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
        Some([name, _]) => Err(BuildError::DuplicateSource((*name).to_owned())),
        _ => Ok(()),
    }
}

pub(super) fn facts(settings: &Settings, gate: &dyn Gate) -> Facts {
    Facts { limits: settings.limits, max_batch_size: settings.max_batch_size, confirmation: gate.confirms() }
}

impl Engine {
    /// Starts building an engine with this surface.
    pub fn builder(surface: Surface) -> EngineBuilder {
        EngineBuilder {
            mounts: Vec::new(),
            surface,
            gate: Arc::new(ClosedGate),
            store: None,
            clock: Arc::new(SteadyClock::new(Arc::new(SystemClock))),
            observer: Arc::new(LogObserver),
            settings: Settings::default(),
            shaping: shape::Settings::default(),
            cursor_key: None,
        }
    }
}
