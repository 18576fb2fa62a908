//! The one who starts an upstream when it is wanted, watches over it, and takes over what it offers.
//!
//! One task for each upstream. Calls never start anything themselves: they say that the upstream is wanted and wait for
//! the next state, so one start serves all who wait, and a caller who gives up does not end it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_discovery::Bundle;
use aquifer_discovery::digest::Drift;
use aquifer_discovery::text::presentable;
use aquifer_engine::clock::SharedClock;
use aquifer_engine::source::Shelves;
use aquifer_protocol::error::Failure;
use arc_swap::{ArcSwap, ArcSwapOption};
use tokio::sync::{Notify, Semaphore, watch};

use crate::cache::Kept;
use crate::interrogate::{Interrogation, list};
use crate::library;
use crate::link::{Era, Link};
use crate::served::Served;
use crate::settings::Settings;
use crate::trouble::Trouble;
use crate::words::Words;

/// The first pause after a failed start, and the longest.
const PAUSE: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));

/// Somebody who wants the upstream after this long may have it tried again, whatever the pause.
const HOLD_OFF: Duration = Duration::from_secs(2);

/// How often tools are listed that change while they are.
const MOST_LOOKS: u32 = 5;

/// How an upstream is.
#[derive(Clone)]
pub(crate) enum State {
    /// Nobody wanted it yet, or it is gone and nobody wants it.
    Idle,
    /// It is being started.
    Starting,
    /// It is there.
    Up(Arc<Link>),
    /// It could not be started just now.
    Down(Failure),
}

/// Everything about one upstream that calls and keeper share.
pub(crate) struct Upkeep {
    pub(crate) settings: Settings,
    pub(crate) words: Words,
    pub(crate) clock: SharedClock,
    pub(crate) state: watch::Sender<State>,
    /// The live connection, for calls in a hurry.
    pub(crate) link: ArcSwapOption<Link>,
    pub(crate) wanted: Notify,
    pub(crate) served: ArcSwap<Served>,
    pub(crate) changes: watch::Sender<u64>,
    pub(crate) permits: Semaphore,
    /// What it has beside tools.
    pub(crate) shelves: ArcSwap<Shelves>,
}

impl Upkeep {
    /// With what was cached, and the era to greet in.
    pub(crate) fn new(settings: Settings, clock: SharedClock) -> (Arc<Self>, Era) {
        let kept = Kept::read(&settings);
        let words = Words::new(&settings);
        let served = match &kept {
            Some(kept) => {
                let bundle = bundle(&settings, &kept.said(), kept.captured_at.parse().unwrap_or_default());
                Served::of(&settings, &words, Some(&bundle), &[])
            }
            None => Served::unknown(&settings, &words, "it has not been started yet"),
        };
        let shelves = kept.as_ref().map_or(library::UNKNOWN, |kept| library::shelves(&kept.said().capabilities));
        let upkeep = Self {
            shelves: ArcSwap::from_pointee(shelves),
            words,
            permits: Semaphore::new(settings.concurrency.max(1)),
            settings,
            clock,
            state: watch::Sender::new(State::Idle),
            link: ArcSwapOption::empty(),
            wanted: Notify::new(),
            served: ArcSwap::from_pointee(served),
            changes: watch::Sender::new(0),
        };
        (Arc::new(upkeep), kept.map(|kept| kept.era).unwrap_or_default())
    }

    /// Keeps the upstream. Never ends by itself; dropping it ends the upstream.
    pub(crate) async fn keep(self: Arc<Self>, mut era: Era) {
        let (mut pause, longest) = PAUSE;
        let mut first = true;
        loop {
            // What nobody knows yet is looked into at once, and again and again until it is known.
            if self.served.load().is_known {
                self.wanted.notified().await;
            } else if !std::mem::take(&mut first) {
                let _ = tokio::time::timeout(pause, self.wanted.notified()).await;
            }
            self.state.send_replace(State::Starting);
            match Box::pin(self.start(era)).await {
                Ok(link) => {
                    (pause, era) = (PAUSE.0, link.era);
                    self.stay(Arc::new(link)).await;
                    self.state.send_replace(State::Idle);
                }
                Err(failure) => {
                    tracing::warn!(source = self.settings.name, cause = failure.cause(), "{}", failure.message());
                    self.show_failure(&failure);
                    self.state.send_replace(State::Down(failure));
                    tokio::time::sleep(pause.min(HOLD_OFF)).await;
                    pause = (pause * 2).min(longest);
                    self.state.send_replace(State::Idle);
                }
            }
        }
    }

    async fn start(&self, era: Era) -> Result<Link, Failure> {
        let starting = async {
            let link = Link::open(&self.settings, &self.words, era).await?;
            let capture = list(&link, &self.settings).await?;
            Ok((Interrogation::of(&link, capture), link))
        };
        let told = |trouble: Trouble| match trouble {
            Trouble::TimedOut => crate::trouble::unavailable(&self.settings.name, "it did not finish starting in time"),
            other => other.into_failure(&self.settings.name, &self.words, self.settings.largest_answer),
        };
        match tokio::time::timeout(self.settings.start_timeout, starting).await {
            Ok(Ok((said, link))) => {
                self.serve(&said, link.era);
                Ok(link)
            }
            Ok(Err(trouble)) => Err(told(trouble)),
            Err(_) => Err(told(Trouble::TimedOut)),
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
                if looked == MOST_LOOKS {
                    link.listed.store(*changed.borrow_and_update(), Ordering::Release);
                    tracing::warn!(source = self.settings.name, "the tools change whenever they are listed");
                    break;
                }
                self.list_again(&link).await;
                looked += 1;
            }
            self.state.send_replace(State::Up(link.clone()));
            if looked == MOST_LOOKS {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            tokio::select! {
                () = link.shared.ended.cancelled() => break,
                news = changed.changed() => if news.is_err() { break },
            }
        }
        self.link.store(None);
    }

    async fn list_again(&self, link: &Link) {
        let changes = *link.shared.tools_changed.borrow();
        match tokio::time::timeout(self.settings.start_timeout, list(link, &self.settings)).await {
            Ok(Ok(capture)) => self.serve(&Interrogation::of(link, capture), link.era),
            failed => {
                let cause = self.words.for_log(&format!("{:?}", failed.map(|failed| failed.map(|_| ()))));
                tracing::warn!(source = self.settings.name, cause, "the changed tools cannot be listed");
                link.listed.store(changes, Ordering::Release);
            }
        }
    }

    /// Takes over what the upstream said.
    fn serve(&self, said: &Interrogation, era: Era) {
        let now = self.clock.now();
        let before = self.served.load_full();
        let served = Served::of(&self.settings, &self.words, Some(&bundle(&self.settings, said, now)), &before.pins);
        if let Some(drift) = &served.drift {
            report(&self.settings.name, drift);
        }
        self.served.store(Arc::new(served));
        self.shelves.store(Arc::new(library::shelves(&said.capabilities)));
        self.changes.send_modify(|count| *count += 1);
        if self.settings.cache_dir.is_some() {
            let (kept, settings) = (Kept::new(said, era, now.to_string()), self.settings.clone());
            tokio::task::spawn_blocking(move || kept.write(&settings));
        }
    }

    fn show_failure(&self, failure: &Failure) {
        let message = failure.message();
        let reason = message.split_once(": ").map_or(message, |(_, reason)| reason);
        let before = self.served.load_full();
        let served = if before.is_known {
            before.again().with_status(reason)
        } else {
            Served::unknown(&self.settings, &self.words, reason)
        };
        self.served.store(Arc::new(served));
        self.changes.send_modify(|count| *count += 1);
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
                    return Err(crate::trouble::unavailable(&self.settings.name, "it was stopped"));
                }
            }
        };
        let patience = self.settings.start_timeout * 2 + HOLD_OFF;
        tokio::time::timeout(patience, next).await.unwrap_or_else(|_| {
            Err(crate::trouble::unavailable(&self.settings.name, "it did not finish starting in time"))
        })
    }
}

/// What is made of what an upstream said, with the reviewer's decisions in it.
fn bundle(settings: &Settings, said: &Interrogation, captured_at: jiff::Timestamp) -> Bundle {
    let mut bundle = said.bundle(settings, captured_at);
    if let Some(overrides) = &settings.overrides {
        overrides.apply(&mut bundle);
    }
    bundle
}

fn report(source: &str, drift: &Drift) {
    let clean = |tools: &[String]| tools.iter().map(|tool| presentable(tool)).collect::<Vec<_>>();
    let changed: Vec<String> = drift.changed.iter().map(|changed| presentable(&changed.tool)).collect();
    let (added, removed) = (clean(&drift.added), clean(&drift.removed));
    tracing::warn!(source, ?changed, ?added, ?removed, "the upstream's tools have changed");
}
