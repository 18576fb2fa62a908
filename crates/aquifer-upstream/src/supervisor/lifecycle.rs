//! Starts an upstream, watches it and keeps its catalog current.
//!
//! There is one task for each upstream. A cached catalog is served immediately, and the server is contacted in the
//! background from the beginning, so that an outdated catalog is not served for long. Calls never start anything
//! themselves: they request a start and wait for the next state. One start serves all waiting calls, and a cancelled
//! caller does not end it. Only this task replaces the snapshot, so an older one never replaces a newer one.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::{CatalogState, SourceCapabilities, SourceStatus, starting_failure};
use aquifer_protocol::error::Failure;
use arc_swap::{ArcSwap, ArcSwapOption};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

use super::cache::CachedCatalog;
use super::capabilities;
use super::pins::{PinLedger, PinStore};
use super::snapshot_updates::{PendingReview, SnapshotInputs};
use crate::catalog::capture::{Capture, Origin};
use crate::catalog::observed_results::ObservedResults;
use crate::catalog::snapshot::CatalogSnapshot;
use crate::client::connection::{Connection, ProtocolMode};
use crate::client::interrogation::list_tools;
use crate::error::UpstreamError;
use crate::sanitize::Sanitizer;
use crate::settings::Settings;

/// The first and the longest delay after a failed start.
const RESTART_DELAY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// The shortest delay before a request may trigger another start, whatever the current restart delay.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(2);

/// How often tools are listed again if they change while they are listed.
const MAX_RELISTS: u32 = 5;

/// Limits how many servers that no call waits for start at once, so that they do not delay the first answer.
static BACKGROUND_STARTS: Semaphore = Semaphore::const_new(2);

/// A start that takes longer returns its permit.
const MAX_START_PERMIT_TIME: Duration = Duration::from_secs(5);

/// Tools are listed again after this time, because not every server announces changes.
const RELIST_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// The shortest interval between lists that are caused by unknown tools.
const MIN_LIST_INTERVAL: Duration = Duration::from_secs(5);

/// The state of an upstream.
#[derive(Clone)]
pub(crate) enum State {
    /// Not connected and not starting.
    Idle,
    /// It is being started.
    Starting,
    /// Connected.
    Up(Arc<Connection>),
    /// The last start failed.
    Down(Failure),
}

/// State of one upstream, shared by calls and the supervisor.
pub(crate) struct Supervisor {
    pub(crate) settings: Settings,
    pub(crate) sanitizer: Sanitizer,
    pub(crate) clock: SharedClock,
    pub(crate) state: watch::Sender<State>,
    /// The live connection, for calls that need no state change.
    pub(crate) connection: ArcSwapOption<Connection>,
    pub(crate) start_requested: Notify,
    pub(crate) snapshot: ArcSwap<CatalogSnapshot>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) permits: Semaphore,
    /// Its capabilities besides tools.
    pub(crate) source_capabilities: ArcSwap<SourceCapabilities>,
    /// What results of its tools looked like.
    pub(crate) observed: ObservedResults,
    pub(super) ledger: PinLedger,
    /// What the current snapshot was built from, if nothing in it is pending.
    pub(super) snapshot_inputs: Mutex<Option<SnapshotInputs>>,
    /// The capture to compare again, while something is quarantined.
    pub(super) pending_review: ArcSwapOption<PendingReview>,
    /// Requests another comparison, and counts the completed ones.
    pub(super) recheck: Notify,
    pub(super) rechecked: watch::Sender<u64>,
    pub(super) reported: Mutex<HashSet<(Arc<str>, String)>>,
    /// When the tools were last listed because of a failed call.
    pub(super) listed_after_failure: Mutex<Option<tokio::time::Instant>>,
    /// Whether a wait for the tool list has timed out. Further calls do not wait until the list has arrived.
    pub(crate) is_listing_late: AtomicBool,
}

impl Supervisor {
    /// A supervisor that serves only an adapter file, if there is one.
    pub(crate) fn new(settings: Settings, clock: SharedClock, pin_store: PinStore) -> Self {
        let sanitizer = Sanitizer::new(&settings);
        let observed = ObservedResults::open(&settings);
        let snapshot = CatalogSnapshot::unknown(&settings, &sanitizer).with_starting();
        Self {
            source_capabilities: ArcSwap::from_pointee(capabilities::UNKNOWN_CAPABILITIES),
            sanitizer,
            observed,
            permits: Semaphore::new(settings.concurrency.max(1)),
            ledger: PinLedger::new(pin_store, &settings),
            snapshot_inputs: Mutex::default(),
            settings,
            clock,
            state: watch::Sender::new(State::Idle),
            connection: ArcSwapOption::empty(),
            start_requested: Notify::new(),
            snapshot: ArcSwap::from_pointee(snapshot),
            changes: watch::Sender::new(0),
            pending_review: ArcSwapOption::empty(),
            recheck: Notify::new(),
            rechecked: watch::Sender::new(0),
            reported: Mutex::default(),
            listed_after_failure: Mutex::default(),
            is_listing_late: AtomicBool::new(false),
        }
    }

    /// Serves the cached catalog, compared with the pins. Returns the protocol mode to try first.
    pub(crate) async fn load_cache(&self) -> ProtocolMode {
        let Some(cached) = CachedCatalog::read(&self.settings) else { return ProtocolMode::default() };
        let (mode, at) = (cached.mode, cached.captured_at.parse().unwrap_or_default());
        let interrogation = cached.into_interrogation(&self.settings);
        self.source_capabilities.store(Arc::new(capabilities::source_capabilities(&interrogation.capabilities)));
        self.update_snapshot(Arc::new(Capture::new(interrogation, Origin::Cache, at))).await;
        mode
    }

    /// Runs the upstream. Never returns; dropping the future stops the upstream.
    pub(crate) async fn run(self: Arc<Self>, mut mode: ProtocolMode) {
        let (mut delay, max_delay) = RESTART_DELAY;
        let mut next = Duration::ZERO;
        loop {
            self.wait_for_request(next).await;
            // A start that somebody waits for needs no permit.
            let permit = match self.snapshot.load().is_known {
                true => tokio::select! {
                    permit = BACKGROUND_STARTS.acquire() => permit.ok(),
                    () = self.start_requested.notified() => None,
                },
                false => None,
            };
            self.state.send_replace(State::Starting);
            match self.start_with_permit(mode, permit).await {
                Ok(connection) => {
                    (delay, mode, next) = (RESTART_DELAY.0, connection.mode, RELIST_INTERVAL);
                    self.watch_connection(Arc::new(connection)).await;
                    self.state.send_replace(State::Idle);
                }
                Err(failure) => {
                    self.handle_start_failure(&failure);
                    self.state.send_replace(State::Down(failure));
                    tokio::time::sleep(delay.min(MIN_RETRY_DELAY)).await;
                    next = delay;
                    delay = (delay * 2).min(max_delay);
                    self.state.send_replace(State::Idle);
                }
            }
        }
    }

    /// Waits for a request to start, up to the given delay.
    async fn wait_for_request(&self, max_delay: Duration) {
        if max_delay.is_zero() {
            return;
        }
        let over = tokio::time::sleep(max_delay);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = self.start_requested.notified() => return,
                () = &mut over => return,
                () = self.recheck_due() => self.recheck_quarantine().await,
            }
        }
    }

    /// Starts, and returns the permit if that takes long: a hanging server must not block others.
    async fn start_with_permit(
        &self,
        mode: ProtocolMode,
        permit: Option<SemaphorePermit<'_>>,
    ) -> Result<Connection, Failure> {
        let mut starting = Box::pin(self.start(mode));
        tokio::select! {
            started = &mut starting => return started,
            () = tokio::time::sleep(MAX_START_PERMIT_TIME) => drop(permit),
        }
        starting.await
    }

    async fn start(&self, mode: ProtocolMode) -> Result<Connection, Failure> {
        let starting = async {
            let connection = Connection::open(&self.settings, &self.sanitizer, mode).await?;
            let tool_list = list_tools(&connection, &self.settings).await?;
            Ok((tool_list, connection))
        };
        let to_failure = |error: UpstreamError| error.into_start_failure(&self.settings, &self.sanitizer);
        let mut starting = std::pin::pin!(starting);
        let (first, max_time) = (self.settings.start_timeout, self.settings.max_start_time());
        let mut started = tokio::time::timeout(first, &mut starting).await;
        if let (Err(_), Some(installer)) = (&started, self.settings.installer()) {
            tracing::warn!(source = self.settings.name, "it is still starting: {installer} may be installing it");
            started = tokio::time::timeout(max_time.saturating_sub(first), &mut starting).await;
        }
        match started {
            Ok(Ok((tool_list, connection))) => {
                self.apply_listing(&connection, tool_list).await;
                Ok(connection)
            }
            Ok(Err(error)) => Err(to_failure(error)),
            Err(_) => Err(to_failure(UpstreamError::TimedOut)),
        }
    }

    /// Watches a live connection until it ends, and lists its tools again when they change.
    async fn watch_connection(&self, connection: Arc<Connection>) {
        let mut changed = connection.shared.tools_changed.subscribe();
        self.connection.store(Some(connection.clone()));
        loop {
            // They may have changed while they were listed.
            let mut relist_count = 0;
            while !connection.is_fresh() && connection.is_alive() {
                if relist_count == MAX_RELISTS {
                    connection.mark_fresh(*changed.borrow_and_update());
                    tracing::warn!(source = self.settings.name, "the tools change whenever they are listed");
                    break;
                }
                self.relist(&connection).await;
                relist_count += 1;
            }
            self.state.send_replace(State::Up(connection.clone()));
            if relist_count == MAX_RELISTS {
                tokio::time::sleep(Duration::from_secs(1)).await;
                // The last announcement has not been handled yet.
                self.relist(&connection).await;
            }
            tokio::select! {
                () = connection.shared.ended.cancelled() => break,
                change = changed.changed() => if change.is_err() { break },
                () = tokio::time::sleep(RELIST_INTERVAL) => self.relist(&connection).await,
                () = self.recheck_due() => self.recheck_quarantine().await,
            }
        }
        self.connection.store(None);
    }

    async fn relist(&self, connection: &Connection) {
        let changes = *connection.shared.tools_changed.borrow();
        match tokio::time::timeout(self.settings.start_timeout, list_tools(connection, &self.settings)).await {
            Ok(Ok(tool_list)) => self.apply_listing(connection, tool_list).await,
            failed => {
                let cause = self.sanitizer.for_log(&format!("{:?}", failed.map(|failed| failed.map(|_| ()))));
                tracing::warn!(source = self.settings.name, cause, "the changed tools cannot be listed");
                connection.mark_fresh(changes);
            }
        }
    }

    /// Requests a new tool list before the next call, because a tool may have been removed without notice.
    /// Rate-limited; returns whether a list was requested.
    pub(crate) fn request_relist(&self, connection: &Connection) -> bool {
        let mut last = self.listed_after_failure.lock();
        if last.is_some_and(|last| last.elapsed() < MIN_LIST_INTERVAL) {
            return false;
        }
        *last = Some(tokio::time::Instant::now());
        connection.shared.tools_changed.send_modify(|count| *count += 1);
        true
    }

    /// The origin and age of the catalog, and the number of withheld operations.
    pub(crate) fn status(&self) -> SourceStatus {
        let snapshot = self.snapshot.load();
        let is_up = self.connection.load().as_ref().is_some_and(|connection| connection.is_alive());
        let state = match snapshot.origin {
            Origin::Server if is_up => CatalogState::Live,
            Origin::Nothing if snapshot.failure.is_none() => CatalogState::Starting,
            Origin::Nothing => CatalogState::Unavailable,
            _ if snapshot.failure.is_some() => CatalogState::Unavailable,
            _ => CatalogState::Cached,
        };
        let age = snapshot.listed_at.map(|at| self.clock.now().duration_since(at));
        SourceStatus {
            state,
            catalog_age: age.map(|age| age.try_into().unwrap_or_default()),
            quarantined: snapshot.quarantined().len(),
            left_out: snapshot.left_out.count(),
            notes: snapshot.notes.clone(),
            setting_problems: Vec::new(),
        }
    }

    /// Waits briefly for the live connection, unless the last wait timed out. Returns whether it is connected.
    pub(crate) async fn wait_connected_within(&self, timeout: Duration) -> bool {
        if self.is_listing_late.load(Ordering::Relaxed) {
            return false;
        }
        let is_connected = tokio::time::timeout(timeout, self.wait_connected()).await.is_ok();
        if !is_connected {
            self.is_listing_late.store(true, Ordering::Relaxed);
        }
        is_connected
    }

    /// Returns the live connection with an up-to-date tool list, after starting it if necessary. Waits for a limited
    /// time, which does not end the start.
    pub(crate) async fn wait_connected(&self) -> Result<Arc<Connection>, Failure> {
        self.wait_connected_for(self.settings.start_timeout * 2 + MIN_RETRY_DELAY).await
    }

    /// Like [`wait_connected`](Self::wait_connected), for as long as one start may take.
    pub(crate) async fn wait_started(&self) -> Result<Arc<Connection>, Failure> {
        let max_time = self.settings.max_start_time().max(self.settings.start_timeout * 2);
        self.wait_connected_for(max_time + MIN_RETRY_DELAY).await
    }

    async fn wait_connected_for(&self, timeout: Duration) -> Result<Arc<Connection>, Failure> {
        let usable = |connection: &Connection| connection.is_alive() && connection.is_fresh();
        if let Some(connection) = self.connection.load_full().filter(|connection| usable(connection)) {
            return Ok(connection);
        }
        let mut states = self.state.subscribe();
        self.start_requested.notify_one();
        let next = async {
            loop {
                match &*states.borrow_and_update() {
                    State::Up(connection) if usable(connection) => return Ok(connection.clone()),
                    State::Down(failure) => return Err(failure.clone()),
                    _ => {}
                }
                if states.changed().await.is_err() {
                    return Err(crate::error::unavailable_failure(&self.settings.name, "it was stopped"));
                }
            }
        };
        tokio::time::timeout(timeout, next).await.unwrap_or_else(|_| Err(starting_failure(&self.settings.name)))
    }
}
