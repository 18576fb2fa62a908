//! The sources of an engine: what they offer becomes the catalog, and the catalog keeps up with them.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use aquifer_protocol::error::Failure;
use futures::FutureExt as _;
use tokio::sync::watch;

use super::Engine;
use super::builder::{BuildError, check_names, facts};
use crate::event::Event;
use crate::gate::Gate;
use crate::snapshot::{Mount, Snapshot};

/// How long a request waits for sources to find out whether they offer something else. They have limits of their own;
/// what is late for this request is there for a later one.
const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

impl Engine {
    /// Has all sources look at the same time whether they offer something else, and takes that over.
    pub(super) async fn check_sources_for_changes(&self, snapshot: &Snapshot) {
        let mut all = futures::future::join_all(snapshot.mounts().iter().map(|mount| mount.source.check_for_changes()));
        // Most often nothing has changed, and all say so at once: then there is no need for a timer.
        if (&mut all).now_or_never().is_none() && tokio::time::timeout(CHECK_TIMEOUT, all).await.is_err() {
            tracing::debug!("a source takes long to find out whether it offers something else");
        }
        self.refresh_if_changed();
    }

    /// Asks the sources again what they offer, and replaces the catalog. Says whether callers can notice a difference.
    ///
    /// The catalog is replaced in any case: it holds more than callers can see, such as how values are compared and
    /// whether a rehearsal is safe, and policy decides by that.
    /// Requests under way finish with the catalog they began with. If the new catalog is not valid, the old one stays.
    pub fn refresh(&self) -> Result<bool, BuildError> {
        let _building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot.load_full();
        self.generation.store(total_generation(before.mounts()), Ordering::Relaxed);
        let snapshot = self.build(before.mounts().clone(), before.gate().clone(), &before)?;
        Ok(self.publish(snapshot))
    }

    /// Serves these sources from now on. If their catalog is not valid, nothing changes.
    ///
    /// Requests under way finish with the sources they began with; a source that is no longer mounted ends with the last
    /// of them.
    pub fn remount(&self, mounts: Vec<Mount>) -> Result<(), BuildError> {
        let gate = self.snapshot.load().gate().clone();
        self.reconfigure(mounts, gate)
    }

    /// Serves these sources behind this gate from now on, both from the same moment. If their catalog is not valid,
    /// nothing changes.
    pub fn reconfigure(&self, mounts: Vec<Mount>, gate: Arc<dyn Gate>) -> Result<(), BuildError> {
        check_names(&mounts)?;
        let building = self.building.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.snapshot.load_full();
        let snapshot = match self.build(mounts.into(), gate, &before) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                // Sources that are served by both were told what the new gate denies.
                let _ = self.build(before.mounts().clone(), before.gate().clone(), &before);
                return Err(error);
            }
        };
        self.generation.store(total_generation(snapshot.mounts()), Ordering::Relaxed);
        // Changes that were decided under the old configuration and wait inside their sources are refused from here on.
        before.configuration().retire();
        // The same operations may be answered by other sources now: the routes count, not only the words.
        self.publish(snapshot);
        drop(building);
        self.mount_changes.send_modify(|count| *count = count.wrapping_add(1));
        Ok(())
    }

    fn build(&self, mounts: Arc<[Mount]>, gate: Arc<dyn Gate>, before: &Snapshot) -> Result<Snapshot, BuildError> {
        let facts = facts(&self.settings, &*gate);
        Ok(Snapshot::build(mounts, self.surface.clone(), gate, facts, Some(before))?)
    }

    /// Says whether it differs from the one before.
    fn publish(&self, snapshot: Snapshot) -> bool {
        let digest = snapshot.digest();
        let is_different = digest != self.snapshot.load().digest();
        if is_different {
            self.observer.observe(Event::CatalogChanged { operations: snapshot.catalog().operations().len() });
        }
        self.snapshot.store(Arc::new(snapshot));
        if is_different {
            self.changes.send_replace(digest);
        }
        is_different
    }

    /// Has every source look again, then replaces the catalog. A source that cannot look keeps what it offered; its
    /// failure is the answer.
    pub async fn reload(&self) -> Vec<(String, Failure)> {
        let mut failures = Vec::new();
        for mount in self.snapshot.load_full().mounts().iter() {
            if let Err(failure) = mount.source.reload().await {
                failures.push((mount.source.name().to_owned(), failure));
            }
        }
        self.refresh_or_log();
        failures
    }

    /// Replaces the catalog whenever a source says that it offers something else. Never ends by itself.
    pub async fn watch_sources(&self) {
        let mut mount_changes = self.mount_changes.subscribe();
        loop {
            let mut sources: Vec<watch::Receiver<u64>> =
                self.snapshot.load().mounts().iter().filter_map(|mount| mount.source.changes()).collect();
            // What has changed before anybody listened is in the catalog now.
            self.refresh_if_changed();
            loop {
                let other = async {
                    if sources.is_empty() {
                        return std::future::pending().await;
                    }
                    let any = sources.iter_mut().map(|source| Box::pin(source.changed()));
                    let (changed, index, _) = futures::future::select_all(any).await;
                    (changed.is_err(), index)
                };
                tokio::select! {
                    again = mount_changes.changed() => match again {
                        Ok(()) => break,
                        // The engine itself holds the sender.
                        Err(_) => return,
                    },
                    (is_gone, index) = other => {
                        if is_gone {
                            sources.remove(index);
                        }
                        self.refresh_or_log();
                    }
                }
            }
        }
    }

    /// A connection is gone, and with it what was bound to it.
    pub fn session_ended(&self, session: &str) {
        for mount in self.snapshot.load().mounts().iter() {
            mount.source.session_ended(session);
        }
        self.shaper.session_ended(session);
    }

    /// Replaces the catalog if a source offers something else by now.
    pub(super) fn refresh_if_changed(&self) {
        if total_generation(self.snapshot.load().mounts()) != self.generation.load(Ordering::Relaxed) {
            self.refresh_or_log();
        }
    }

    fn refresh_or_log(&self) {
        if let Err(error) = self.refresh() {
            tracing::error!(%error, "the catalog cannot be built; the old one stays");
        }
    }
}

pub(super) fn total_generation(mounts: &[Mount]) -> u64 {
    mounts.iter().fold(0, |sum, mount| sum.wrapping_add(mount.source.generation()))
}
