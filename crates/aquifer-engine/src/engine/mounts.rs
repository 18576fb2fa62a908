//! The sources of an engine, and how the catalog follows their changes.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_protocol::error::Failure;
use futures::FutureExt as _;
use tokio::sync::watch;

use super::Engine;
use super::builder::{BuildError, check_names, facts};
use super::pipeline::OperationState;
use crate::event::Event;
use crate::gate::Gate;
use crate::snapshot::{Mount, Snapshot};

/// How long a request waits for sources to check for changes. Sources have limits of their own; a late change is
/// visible to later requests.
pub(super) const CHECK_TIMEOUT: Duration = Duration::from_secs(10);

impl Engine {
    /// Lets all sources check for changes concurrently, and updates the catalog. Before an unknown operation is refused,
    /// they check more thoroughly.
    pub(super) async fn check_sources_for_changes(&self, snapshot: &Snapshot, state: Option<OperationState>) {
        let mut all = futures::future::join_all(snapshot.mounts().iter().map(|mount| match state {
            Some(OperationState::Unknown) => mount.source.check_before_refusal(),
            _ => mount.source.check_for_changes(),
        }));
        // Usually nothing has changed and all futures are ready immediately. Then no timer is needed.
        if (&mut all).now_or_never().is_none() && tokio::time::timeout(CHECK_TIMEOUT, all).await.is_err() {
            tracing::debug!("a source did not check for changes in time");
        }
        self.refresh_if_changed();
    }

    /// Rebuilds the catalog from the sources. Returns whether callers can observe a difference.
    ///
    /// The catalog is replaced in any case: it contains more than callers can see, such as how values are compared and
    /// whether a dry run is safe, and policy depends on that. Running requests finish with the catalog they started
    /// with. If the new catalog is not valid, the previous one stays.
    pub fn refresh(&self) -> Result<bool, BuildError> {
        let _building = self.building.lock();
        let before = self.snapshot.load_full();
        self.generation.store(total_generation(before.mounts()), Ordering::Relaxed);
        let snapshot = self.build(before.mounts().clone(), before.gate().clone(), &before)?;
        Ok(self.publish(snapshot))
    }

    /// Replaces the sources. If the new catalog is not valid, nothing changes.
    ///
    /// Running requests finish with the sources they started with. An unmounted source is dropped with the last of
    /// them.
    pub fn remount(&self, mounts: Vec<Mount>) -> Result<(), BuildError> {
        let gate = self.snapshot.load().gate().clone();
        self.reconfigure(mounts, gate)
    }

    /// Replaces the sources and the gate in one step. If the new catalog is not valid, nothing changes.
    pub fn reconfigure(&self, mounts: Vec<Mount>, gate: Arc<dyn Gate>) -> Result<(), BuildError> {
        check_names(&mounts)?;
        let building = self.building.lock();
        let before = self.snapshot.load_full();
        let snapshot = match self.build(mounts.into(), gate, &before) {
            Ok(snapshot) => snapshot,
            Err(error) => {
                // Restores the concealed operations of sources that belong to both configurations.
                let _ = self.build(before.mounts().clone(), before.gate().clone(), &before);
                return Err(error);
            }
        };
        self.generation.store(total_generation(snapshot.mounts()), Ordering::Relaxed);
        // From here on, changes that were decided under the old configuration and wait in their sources are refused.
        before.configuration().retire();
        // The same operations may have other sources now, so the snapshot is replaced even with an equal catalog.
        self.publish(snapshot);
        drop(building);
        self.mount_changes.send_modify(|count| *count = count.wrapping_add(1));
        Ok(())
    }

    fn build(&self, mounts: Arc<[Mount]>, gate: Arc<dyn Gate>, before: &Snapshot) -> Result<Snapshot, BuildError> {
        let facts = facts(&self.settings, &*gate);
        Ok(Snapshot::build(mounts, self.surface.clone(), gate, facts, Some(before))?)
    }

    /// Replaces the snapshot. Returns whether callers can observe a difference.
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

    /// Reloads every source and rebuilds the catalog. A source that cannot be reloaded keeps its offering; its failure
    /// is returned.
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

    /// Rebuilds the catalog whenever a source announces a change. Never ends by itself.
    pub async fn watch_sources(&self) {
        let mut mount_changes = self.mount_changes.subscribe();
        loop {
            let mut sources: Vec<watch::Receiver<u64>> =
                self.snapshot.load().mounts().iter().filter_map(|mount| mount.source.changes()).collect();
            // Includes changes from before the subscription.
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
                        // Unreachable: the engine holds the sender.
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

    /// Releases everything that was bound to a session.
    pub fn session_ended(&self, session: &str) {
        for mount in self.snapshot.load().mounts().iter() {
            mount.source.session_ended(session);
        }
        self.shaper.session_ended(session);
    }

    /// Rebuilds the catalog if a generation has changed.
    pub(super) fn refresh_if_changed(&self) {
        if total_generation(self.snapshot.load().mounts()) != self.generation.load(Ordering::Relaxed) {
            self.refresh_or_log();
        }
    }

    pub(super) fn refresh_or_log(&self) {
        if let Err(error) = self.refresh() {
            tracing::error!(%error, "the catalog cannot be built; the previous one stays in use");
        }
    }
}

pub(super) fn total_generation(mounts: &[Mount]) -> u64 {
    mounts.iter().fold(0, |sum, mount| sum.wrapping_add(mount.source.generation()))
}
