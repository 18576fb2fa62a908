//! The one who starts an upstream, watches over it, and takes over what it offers.
//!
//! One task for each upstream. What is remembered of a server is offered at once, and the server is asked in the
//! background from the first moment, so that nothing old is served for longer than it takes to ask. Calls never start
//! anything themselves: they say that the upstream is wanted and wait for the next state, so one start serves all who
//! wait, and a caller who gives up does not end it. Everything that replaces the offer happens in this task, so an older
//! one never replaces a newer one.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aquifer_discovery::text::presentable;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::{CatalogState, SourceCapabilities, SourceStatus};
use aquifer_engine::store::milliseconds;
use aquifer_protocol::error::Failure;
use arc_swap::{ArcSwap, ArcSwapOption};
use jiff::Timestamp;
use tokio::sync::{Notify, Semaphore, SemaphorePermit, watch};

use crate::accepted;
use crate::cache::Kept;
use crate::error::{UpstreamError, describe_failure};
use crate::interrogate::{Interrogation, Listed, list};
use crate::link::{Link, ProtocolMode};
use crate::pinning::{Ledger, Pinning, Pins, Written};
use crate::quarantine::QuarantinePolicy;
use crate::resources;
use crate::sanitize::Sanitizer;
use crate::served::{Capture, Draft, Origin, Served};
use crate::settings::Settings;

/// The first pause after a failed start, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Somebody who wants the upstream after this long may have it tried again, whatever the pause.
const HOLD_OFF: Duration = Duration::from_secs(2);

/// How often tools are listed that change while they are.
const MAX_LOOKS: u32 = 5;

/// Servers that nobody waits for start so many at a time: ten of them must not take the processor from the first answer.
static BACKGROUND_STARTS: Semaphore = Semaphore::const_new(2);

/// A start that takes longer lets the next one begin.
const MAX_START_TURN: Duration = Duration::from_secs(5);

/// A list of tools is asked for again after this long, although the server has not said that it changed. Not every
/// server does.
const RELIST_INTERVAL: Duration = Duration::from_secs(10 * 60);

/// A server that says that there is no such tool is asked for its list again, no more often than this.
const MIN_LIST_INTERVAL: Duration = Duration::from_secs(5);

/// How often the pins are read again while something waits for being accepted.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// How often pins are written against others who write them, too.
const MAX_WRITES: u32 = 5;

/// Definitions that were reported as quarantined. Beyond, a server that changes them again and again is not reported one
/// by one.
const MAX_REPORTED: usize = 1_000;

/// How an upstream is.
#[derive(Clone)]
pub(crate) enum State {
    /// It is not there, and is not being started just now.
    Idle,
    /// It is being started.
    Starting,
    /// It is there.
    Up(Arc<Link>),
    /// It could not be started just now.
    Down(Failure),
}

/// Everything about one upstream that calls and supervisor share.
pub(crate) struct Supervisor {
    pub(crate) settings: Settings,
    pub(crate) sanitizer: Sanitizer,
    pub(crate) clock: SharedClock,
    pub(crate) state: watch::Sender<State>,
    /// The live connection, for calls in a hurry.
    pub(crate) link: ArcSwapOption<Link>,
    pub(crate) wanted: Notify,
    pub(crate) served: ArcSwap<Served>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) permits: Semaphore,
    /// What it has beside tools.
    pub(crate) source_capabilities: ArcSwap<SourceCapabilities>,
    ledger: Ledger,
    /// What is served, if nothing of it waits for anything.
    settled: Mutex<Option<Settled>>,
    /// What waits for being judged again, while something is quarantined.
    pending: ArcSwapOption<Pending>,
    /// Asks for judging again, and tells when that was done.
    recheck: Notify,
    rechecked: watch::Sender<u64>,
    reported: Mutex<HashSet<(Arc<str>, String)>>,
    /// When the tools were listed again because of a call that failed.
    listed_after_failure: Mutex<Option<tokio::time::Instant>>,
    /// Somebody waited in vain for it to list its tools. Nobody waits again until it has.
    pub(crate) is_late: AtomicBool,
}

/// A capture of which something is quarantined, and the version of the pins it was judged by.
struct Pending {
    capture: Arc<Capture>,
    version: Option<u64>,
    is_read: bool,
}

/// What the offer was made from. The same makes the same offer again, so that is left out.
#[derive(PartialEq, Eq)]
struct Settled {
    /// The digest of what the server said.
    said: [u8; 32],
    /// The version of the pins it was judged by.
    pins: u64,
}

impl Supervisor {
    /// With nothing but what an adapter's file says.
    pub(crate) fn new(settings: Settings, clock: SharedClock, pinning: Pinning) -> Self {
        let sanitizer = Sanitizer::new(&settings);
        let served = Served::unknown(&settings, &sanitizer).with_status("it has not been started yet");
        Self {
            source_capabilities: ArcSwap::from_pointee(resources::UNKNOWN),
            sanitizer,
            permits: Semaphore::new(settings.concurrency.max(1)),
            ledger: Ledger::new(pinning, &settings),
            settled: Mutex::default(),
            settings,
            clock,
            state: watch::Sender::new(State::Idle),
            link: ArcSwapOption::empty(),
            wanted: Notify::new(),
            served: ArcSwap::from_pointee(served),
            changes: watch::Sender::new(0),
            pending: ArcSwapOption::empty(),
            recheck: Notify::new(),
            rechecked: watch::Sender::new(0),
            reported: Mutex::default(),
            listed_after_failure: Mutex::default(),
            is_late: AtomicBool::new(false),
        }
    }

    /// Takes over what was cached, judged by what is pinned. Gives the mode to greet in.
    pub(crate) async fn remember(&self) -> ProtocolMode {
        let Some(kept) = Kept::read(&self.settings) else { return ProtocolMode::default() };
        let (mode, at) = (kept.mode, kept.captured_at.parse().unwrap_or_default());
        let said = kept.said(&self.settings);
        self.source_capabilities.store(Arc::new(resources::source_capabilities(&said.capabilities)));
        self.serve(Arc::new(Capture::new(said, Origin::Cache, at))).await;
        mode
    }

    /// Runs the upstream. Never returns; dropping the future stops the upstream.
    pub(crate) async fn run(self: Arc<Self>, mut mode: ProtocolMode) {
        let (mut pause, longest) = PAUSE;
        let mut next = Duration::ZERO;
        loop {
            self.wait(next).await;
            // Whoever waits for an answer does not wait for others' starts.
            let turn = match self.served.load().is_known {
                true => tokio::select! {
                    turn = BACKGROUND_STARTS.acquire() => turn.ok(),
                    () = self.wanted.notified() => None,
                },
                false => None,
            };
            self.state.send_replace(State::Starting);
            match self.start_in_turn(mode, turn).await {
                Ok(link) => {
                    (pause, mode, next) = (PAUSE.0, link.mode, RELIST_INTERVAL);
                    self.stay(Arc::new(link)).await;
                    self.state.send_replace(State::Idle);
                }
                Err(failure) => {
                    self.show_failure(&failure);
                    self.state.send_replace(State::Down(failure));
                    tokio::time::sleep(pause.min(HOLD_OFF)).await;
                    next = pause;
                    pause = (pause * 2).min(longest);
                    self.state.send_replace(State::Idle);
                }
            }
        }
    }

    /// Waits until somebody wants the upstream, no longer than this.
    async fn wait(&self, longest: Duration) {
        if longest.is_zero() {
            return;
        }
        let over = tokio::time::sleep(longest);
        tokio::pin!(over);
        loop {
            tokio::select! {
                () = self.wanted.notified() => return,
                () = &mut over => return,
                () = self.time_to_recheck() => self.judge_again().await,
            }
        }
    }

    /// Starts, and gives up its turn when that takes long: a server that hangs must not keep the others from starting.
    async fn start_in_turn(&self, mode: ProtocolMode, turn: Option<SemaphorePermit<'_>>) -> Result<Link, Failure> {
        let mut starting = Box::pin(self.start(mode));
        tokio::select! {
            started = &mut starting => return started,
            () = tokio::time::sleep(MAX_START_TURN) => drop(turn),
        }
        starting.await
    }

    async fn start(&self, mode: ProtocolMode) -> Result<Link, Failure> {
        let starting = async {
            let link = Link::open(&self.settings, &self.sanitizer, mode).await?;
            let listed = list(&link, &self.settings).await?;
            Ok((listed, link))
        };
        let told = |error: UpstreamError| error.into_start_failure(&self.settings, &self.sanitizer);
        match tokio::time::timeout(self.settings.start_timeout, starting).await {
            Ok(Ok((listed, link))) => {
                self.take_over(&link, listed).await;
                Ok(link)
            }
            Ok(Err(error)) => Err(told(error)),
            Err(_) => Err(told(UpstreamError::TimedOut)),
        }
    }

    /// Stays with a live connection until it ends, and lists its tools again whenever they change.
    async fn stay(&self, link: Arc<Link>) {
        let mut changed = link.shared.tools_changed.subscribe();
        self.link.store(Some(link.clone()));
        loop {
            // They may have changed while they were listed.
            let mut looked = 0;
            while !link.is_fresh() && link.is_alive() {
                if looked == MAX_LOOKS {
                    link.mark_fresh(*changed.borrow_and_update());
                    tracing::warn!(source = self.settings.name, "the tools change whenever they are listed");
                    break;
                }
                self.list_again(&link).await;
                looked += 1;
            }
            self.state.send_replace(State::Up(link.clone()));
            if looked == MAX_LOOKS {
                tokio::time::sleep(Duration::from_secs(1)).await;
                // What was announced last has not been looked for yet.
                self.list_again(&link).await;
            }
            tokio::select! {
                () = link.shared.ended.cancelled() => break,
                news = changed.changed() => if news.is_err() { break },
                () = tokio::time::sleep(RELIST_INTERVAL) => self.list_again(&link).await,
                () = self.time_to_recheck() => self.judge_again().await,
            }
        }
        self.link.store(None);
    }

    async fn list_again(&self, link: &Link) {
        let changes = *link.shared.tools_changed.borrow();
        match tokio::time::timeout(self.settings.start_timeout, list(link, &self.settings)).await {
            Ok(Ok(listed)) => self.take_over(link, listed).await,
            failed => {
                let cause = self.sanitizer.for_log(&format!("{:?}", failed.map(|failed| failed.map(|_| ()))));
                tracing::warn!(source = self.settings.name, cause, "the changed tools cannot be listed");
                link.mark_fresh(changes);
            }
        }
    }

    /// Has the tools listed again before the next call, because one of them may be gone and not every server says so. Not
    /// again and again: says whether they will be.
    pub(crate) fn list_soon(&self, link: &Link) -> bool {
        let mut last = self.listed_after_failure.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_some_and(|last| last.elapsed() < MIN_LIST_INTERVAL) {
            return false;
        }
        *last = Some(tokio::time::Instant::now());
        link.shared.tools_changed.send_modify(|count| *count += 1);
        true
    }

    /// Takes over what the upstream listed just now. The connection is fresh only when that is served: a call must not
    /// run by an accepted definition while a changed one waits to be judged.
    async fn take_over(&self, link: &Link, listed: Listed) {
        let Listed { capture, left_out, changes } = listed;
        let said = Interrogation::of(link, capture, left_out);
        let now = self.clock.now();
        self.source_capabilities.store(Arc::new(resources::source_capabilities(&said.capabilities)));
        if self.settings.cache_dir.is_some() {
            let (kept, settings) = (Kept::new(&said, link.mode, now.to_string()), self.settings.clone());
            tokio::task::spawn_blocking(move || kept.write(&settings));
        }
        if self.is_settled(&said).await {
            self.confirm(now);
        } else {
            self.serve(Arc::new(Capture::new(said, Origin::Server, now))).await;
        }
        link.mark_fresh(changes);
        self.is_late.store(false, Ordering::Relaxed);
    }

    /// Whether this is what is served already, by the pins of now.
    async fn is_settled(&self, said: &Interrogation) -> bool {
        let Some(pins) = self.ledger.read().await.and_then(|pins| pins.version) else { return false };
        let now = Settled { said: said.digest(), pins };
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).as_ref() == Some(&now)
    }

    /// The server says now what is served already.
    fn confirm(&self, now: Timestamp) {
        let before = self.served.load_full();
        self.served.store(Arc::new(before.confirmed(now)));
        // An offer of a server that was away says so, and this one does not.
        if before.failure.is_some() {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Judges a capture by what is pinned, pins what is seen for the first time, and offers the outcome.
    async fn serve(&self, capture: Arc<Capture>) {
        let now = milliseconds(self.clock.now());
        let mut attempt = 0;
        let (served, pins, settled) = loop {
            attempt += 1;
            let pins = self.ledger.read().await;
            let book = pins.as_ref().and_then(|pins| pins.book.as_deref());
            let draft = Draft::new(&self.settings, &self.sanitizer, &capture, book);
            let known = pins.as_ref().map(|pins| pins.book.as_deref()).ok_or(());
            let mut judgement = draft.judge(known, self.ledger.may_pin(), now);
            let version = pins.as_ref().and_then(|pins| pins.version);
            let settled = version.filter(|_| judgement.is_settled(draft.operations().len()));
            let follows = self.settings.quarantine == QuarantinePolicy::Off;
            if let (Some(book), Some(read)) = (judgement.book.take(), &pins) {
                match self.ledger.write(&book, read.version).await {
                    Written::Done => {
                        self.keep_accepted(&capture, book);
                        self.say_followed(&judgement.followed);
                    }
                    Written::Conflict if attempt < MAX_WRITES => continue,
                    Written::Conflict | Written::Failed if follows => {}
                    Written::Conflict | Written::Failed => judgement = judgement.without_writing(),
                }
            }
            break (draft.finish(&judgement, book), pins, settled);
        };
        let settled = settled.map(|pins| Settled { said: capture.said.digest(), pins });
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = settled;
        self.publish(served, capture, pins);
    }

    fn publish(&self, served: Served, capture: Arc<Capture>, pins: Option<Pins>) {
        let before = self.served.load_full();
        for note in served.notes.iter().filter(|note| !before.notes.contains(note)) {
            tracing::warn!(source = self.settings.name, "{note}");
        }
        self.report(&served);
        let pending = (!served.refused().is_empty()).then(|| Pending {
            version: pins.as_ref().and_then(|pins| pins.version),
            is_read: pins.is_some(),
            capture,
        });
        self.pending.store(pending.map(Arc::new));
        self.served.store(Arc::new(served));
        self.changes.send_modify(|count| *count += 1);
    }

    /// Puts on record what is quarantined, each definition once.
    fn report(&self, served: &Served) {
        let mut names = Vec::new();
        for (operation, refusal) in served.refused().iter().filter(|(_, refusal)| refusal.reason.is_for_review()) {
            let is_new = {
                let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
                reported.len() < MAX_REPORTED && reported.insert((refusal.tool.clone(), refusal.digest.clone()))
            };
            if is_new {
                names.push(operation.to_string());
                if let Some(observer) = self.ledger.pinning().observer() {
                    observer.quarantined(&self.settings.name, &refusal.tool, operation, &refusal.reason.words());
                }
            }
        }
        if !names.is_empty() {
            let (source, count) = (self.settings.name.as_str(), names.len());
            names.truncate(10);
            let names = names.join(", ");
            tracing::warn!(
                source,
                count,
                names,
                "operations are quarantined because nobody has accepted their definitions: see aquifer review"
            );
        }
    }

    fn say_followed(&self, followed: &[String]) {
        if !followed.is_empty() {
            let source = self.settings.name.as_str();
            let tools: Vec<String> = followed.iter().map(|tool| presentable(tool)).collect();
            tracing::warn!(source, ?tools, "changed definitions are taken over, because quarantine is off");
        }
    }

    /// Keeps the definitions that are pinned now, to be compared with later ones.
    fn keep_accepted(&self, capture: &Arc<Capture>, book: aquifer_discovery::PinBook) {
        if self.settings.cache_dir.is_some() {
            let (capture, settings) = (capture.clone(), self.settings.clone());
            tokio::task::spawn_blocking(move || accepted::keep(&settings, &book, capture.listing.tools.iter()));
        }
    }

    /// Comes when what is quarantined should be judged again: at once if somebody asks, else now and then. Never, if
    /// nothing is.
    async fn time_to_recheck(&self) {
        if self.pending.load().is_none() {
            return std::future::pending().await;
        }
        tokio::select! {
            () = self.recheck.notified() => {}
            () = tokio::time::sleep(RECHECK_INTERVAL) => {}
        }
    }

    /// Judges what is quarantined again, if the pins are others by now.
    async fn judge_again(&self) {
        if let Some(pending) = self.pending.load_full() {
            let pins = self.ledger.read().await;
            let is_other = pins.as_ref().is_some_and(|pins| !pending.is_read || pins.version != pending.version);
            let before = self.served.load_full();
            let is_unwritten = before.refused().values().any(|one| !one.reason.is_for_review());
            if is_other || (is_unwritten && !self.ledger.is_failing()) {
                self.serve(pending.capture.clone()).await;
                // A new offer of a server that is not there says so, as the one before did.
                if let Some(reason) = &before.failure {
                    self.show(reason);
                }
            }
        }
        self.rechecked.send_modify(|count| *count += 1);
    }

    /// Has what is quarantined judged again, if the pins are others by now, and waits for that for a moment.
    pub(crate) async fn freshen_pins(&self) {
        let Some(pending) = self.pending.load_full() else { return };
        let pins = self.ledger.read().await;
        if pins.is_none_or(|pins| pending.is_read && pins.version == pending.version) {
            return;
        }
        let mut rechecked = self.rechecked.subscribe();
        self.recheck.notify_one();
        let _ = tokio::time::timeout(RECHECK_INTERVAL, rechecked.changed()).await;
    }

    fn show_failure(&self, failure: &Failure) {
        let is_said = self.served.load().failure.as_deref() == Some(reason_of(failure));
        match is_said || self.settings.is_watched {
            true => tracing::debug!("{}", describe_failure(failure)),
            false => tracing::warn!("{}", describe_failure(failure)),
        }
        if !is_said {
            self.show(reason_of(failure));
        }
    }

    fn show(&self, reason: &str) {
        let before = self.served.load_full();
        let served = if before.is_known { before.again() } else { Served::unknown(&self.settings, &self.sanitizer) };
        self.served.store(Arc::new(served.failed(reason)));
        self.changes.send_modify(|count| *count += 1);
    }

    /// Where the offer comes from, how old it is, and what of it is withheld.
    pub(crate) fn status(&self) -> SourceStatus {
        let served = self.served.load();
        let is_up = self.link.load().as_ref().is_some_and(|link| link.is_alive());
        let state = match served.origin {
            Origin::Server if is_up => CatalogState::Live,
            Origin::Nothing => CatalogState::Unavailable,
            _ if served.failure.is_some() => CatalogState::Unavailable,
            _ => CatalogState::Cached,
        };
        let age = served.listed_at.map(|at| self.clock.now().duration_since(at));
        SourceStatus {
            state,
            catalog_age: age.map(|age| age.try_into().unwrap_or_default()),
            quarantined: served.refused().len(),
            left_out: served.left_out.count(),
            notes: served.notes.clone(),
        }
    }

    /// Waits for the live connection for a moment, unless it was late already. Says whether it came.
    pub(crate) async fn live_within(&self, timeout: Duration) -> bool {
        if self.is_late.load(Ordering::Relaxed) {
            return false;
        }
        let came = tokio::time::timeout(timeout, self.live()).await.is_ok();
        if !came {
            self.is_late.store(true, Ordering::Relaxed);
        }
        came
    }

    /// The live connection, started if need be, with its tools listed. Waits for the next state, not for ever.
    pub(crate) async fn live(&self) -> Result<Arc<Link>, Failure> {
        let usable = |link: &Link| link.is_alive() && link.is_fresh();
        if let Some(link) = self.link.load_full().filter(|link| usable(link)) {
            return Ok(link);
        }
        let mut states = self.state.subscribe();
        self.wanted.notify_one();
        let next = async {
            loop {
                match &*states.borrow_and_update() {
                    State::Up(link) if usable(link) => return Ok(link.clone()),
                    State::Down(failure) => return Err(failure.clone()),
                    _ => {}
                }
                if states.changed().await.is_err() {
                    return Err(crate::error::unavailable(&self.settings.name, "it was stopped"));
                }
            }
        };
        let timeout = self.settings.start_timeout * 2 + HOLD_OFF;
        tokio::time::timeout(timeout, next).await.unwrap_or_else(|_| {
            Err(crate::error::unavailable(&self.settings.name, "it did not finish starting in time"))
        })
    }
}

fn reason_of(failure: &Failure) -> &str {
    let message = failure.message();
    message.split_once(": ").map_or(message, |(_, reason)| reason)
}
