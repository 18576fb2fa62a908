//! Replaces the served snapshot after new tool lists, accepted definitions and failures.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aquifer_discovery::text::presentable;
use aquifer_engine::store::milliseconds;
use aquifer_protocol::error::Failure;
use jiff::Timestamp;

use super::accepted_definitions;
use super::cache::CachedCatalog;
use super::capabilities;
use super::lifecycle::Supervisor;
use super::pins::{PinSnapshot, WriteOutcome};
use crate::catalog::capture::{Capture, Origin};
use crate::catalog::draft::SnapshotDraft;
use crate::catalog::snapshot::CatalogSnapshot;
use crate::client::connection::Connection;
use crate::client::interrogation::{Interrogation, ToolList};
use crate::error::describe_failure;
use crate::settings::QuarantinePolicy;

/// How often pins are read again while something is quarantined.
const RECHECK_INTERVAL: Duration = Duration::from_secs(2);

/// Maximum number of attempts to write pins, because other processes write them as well.
const MAX_WRITE_ATTEMPTS: u32 = 5;

/// Maximum number of quarantined definitions that are reported individually, for servers that keep changing them.
const MAX_REPORTED: usize = 1_000;

/// A capture with quarantined definitions, and the version of the pins it was compared with.
pub(super) struct PendingReview {
    capture: Arc<Capture>,
    version: Option<u64>,
    is_read: bool,
}

/// What a snapshot was built from. Equal inputs build an equal snapshot, so building it again is skipped.
#[derive(PartialEq, Eq)]
pub(super) struct SnapshotInputs {
    interrogation_digest: [u8; 32],
    pins_version: u64,
}

impl Supervisor {
    /// Applies a new tool list. The connection becomes fresh only when the list is served: no call may use an accepted
    /// definition while a changed one waits to be compared.
    pub(super) async fn apply_listing(&self, connection: &Connection, tool_list: ToolList) {
        let ToolList { capture, left_out, changes } = tool_list;
        let interrogation = Interrogation::from_connection(connection, capture, left_out);
        let now = self.clock.now();
        self.source_capabilities.store(Arc::new(capabilities::source_capabilities(&interrogation.capabilities)));
        if self.settings.writes_cache() {
            let (cached, settings) =
                (CachedCatalog::new(&interrogation, connection.mode, now.to_string()), self.settings.clone());
            tokio::task::spawn_blocking(move || cached.write(&settings));
        }
        if self.is_current(&interrogation).await {
            self.confirm(now);
        } else {
            self.update_snapshot(Arc::new(Capture::new(interrogation, Origin::Server, now))).await;
        }
        connection.mark_fresh(changes);
        self.is_listing_late.store(false, Ordering::Relaxed);
    }

    /// Whether the served snapshot was built from this interrogation and the current pins.
    async fn is_current(&self, interrogation: &Interrogation) -> bool {
        let Some(pins_version) = self.ledger.read(&self.settings).await.and_then(|pins| pins.version) else {
            return false;
        };
        let now = SnapshotInputs { interrogation_digest: interrogation.digest(), pins_version };
        self.snapshot_inputs.lock().as_ref() == Some(&now)
    }

    /// Marks the served snapshot as confirmed by the server.
    fn confirm(&self, now: Timestamp) {
        let before = self.snapshot.load_full();
        self.snapshot.store(Arc::new(before.confirmed(now)));
        // The operation that reported the failure disappears.
        if before.failure.is_some() {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    /// Compares a capture with the pins, pins new definitions and serves the result.
    pub(super) async fn update_snapshot(&self, capture: Arc<Capture>) {
        let now = milliseconds(self.clock.now());
        let mut attempt = 0;
        let (snapshot, pins, snapshot_inputs) = loop {
            attempt += 1;
            let pins = self.ledger.read(&self.settings).await;
            let book = pins.as_ref().and_then(|pins| pins.book.as_deref());
            let draft = SnapshotDraft::new(&self.settings, &self.sanitizer, &capture, book);
            let known = pins.as_ref().map(|pins| pins.book.as_deref()).ok_or(());
            let mut judgement = draft.evaluate(known, self.ledger.may_pin(), now);
            let version = pins.as_ref().and_then(|pins| pins.version);
            let snapshot_inputs = version.filter(|_| judgement.is_settled(draft.operations().len()));
            let follows = self.settings.quarantine == QuarantinePolicy::Off;
            if let (Some(book), Some(read)) = (judgement.book.take(), &pins) {
                match self.ledger.write(&book, read.version).await {
                    WriteOutcome::Done => {
                        self.save_accepted(&capture, book).await;
                        self.log_followed(&judgement.followed);
                    }
                    WriteOutcome::Conflict if attempt < MAX_WRITE_ATTEMPTS => continue,
                    WriteOutcome::Conflict | WriteOutcome::Failed if follows => {}
                    WriteOutcome::Conflict | WriteOutcome::Failed => judgement = judgement.without_writing(),
                }
            }
            break (draft.finish(&judgement, book), pins, snapshot_inputs);
        };
        let snapshot_inputs = snapshot_inputs
            .map(|pins_version| SnapshotInputs { interrogation_digest: capture.interrogation.digest(), pins_version });
        *self.snapshot_inputs.lock() = snapshot_inputs;
        self.publish(snapshot, capture, pins);
    }

    fn publish(&self, snapshot: CatalogSnapshot, capture: Arc<Capture>, pins: Option<PinSnapshot>) {
        let before = self.snapshot.load_full();
        for note in snapshot.notes.iter().filter(|note| !before.notes.contains(note)) {
            tracing::warn!(source = self.settings.name, "{note}");
        }
        self.report(&snapshot);
        let pending_review = (!snapshot.quarantined().is_empty()).then(|| PendingReview {
            version: pins.as_ref().and_then(|pins| pins.version),
            is_read: pins.is_some(),
            capture,
        });
        self.pending_review.store(pending_review.map(Arc::new));
        self.snapshot.store(Arc::new(snapshot));
        self.changes.send_modify(|count| *count += 1);
    }

    /// Reports quarantined definitions, each one once.
    fn report(&self, snapshot: &CatalogSnapshot) {
        let mut names = Vec::new();
        for (operation, quarantined) in
            snapshot.quarantined().iter().filter(|(_, quarantined)| quarantined.reason.is_for_review())
        {
            let is_new = {
                let mut reported = self.reported.lock();
                reported.len() < MAX_REPORTED && reported.insert((quarantined.tool.clone(), quarantined.digest.clone()))
            };
            if is_new {
                names.push(operation.to_string());
                if let Some(observer) = self.ledger.pin_store().observer() {
                    observer.quarantined(
                        &self.settings.name,
                        &quarantined.tool,
                        operation,
                        &quarantined.reason.message(),
                    );
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
                "operations are quarantined until their definitions are accepted: see aquifer review"
            );
        }
    }

    fn log_followed(&self, followed: &[String]) {
        if !followed.is_empty() {
            let source = self.settings.name.as_str();
            let tools: Vec<String> = followed.iter().map(|tool| presentable(tool)).collect();
            tracing::warn!(source, ?tools, "accepted changed definitions, because quarantine is off");
        }
    }

    /// Stores the pinned definitions for later comparison. Waits for completion, because a command that makes one call
    /// would otherwise exit earlier.
    async fn save_accepted(&self, capture: &Arc<Capture>, book: aquifer_discovery::PinBook) {
        if self.settings.writes_cache() {
            let (capture, settings) = (capture.clone(), self.settings.clone());
            let save = move || accepted_definitions::save(&settings, &book, capture.listing.tools.iter());
            // If saving panics, only the comparison with the earlier definition is lost.
            let _ = tokio::task::spawn_blocking(save).await;
        }
    }

    /// Resolves when quarantined definitions should be compared again: on request, or periodically. Never resolves if
    /// nothing is quarantined.
    pub(super) async fn recheck_due(&self) {
        if self.pending_review.load().is_none() {
            return std::future::pending().await;
        }
        tokio::select! {
            () = self.recheck.notified() => {}
            () = tokio::time::sleep(RECHECK_INTERVAL) => {}
        }
    }

    /// Compares quarantined definitions again if the pins have changed.
    pub(super) async fn recheck_quarantine(&self) {
        if let Some(pending_review) = self.pending_review.load_full() {
            let pins = self.ledger.read(&self.settings).await;
            let is_other =
                pins.as_ref().is_some_and(|pins| !pending_review.is_read || pins.version != pending_review.version);
            let before = self.snapshot.load_full();
            let is_unwritten = before.quarantined().values().any(|one| !one.reason.is_for_review());
            if is_other || (is_unwritten && !self.ledger.is_failing()) {
                self.update_snapshot(pending_review.capture.clone()).await;
                // The server is still unavailable, so the new snapshot reports that as well.
                if let Some(reason) = &before.failure {
                    self.publish_failure(reason);
                }
            }
        }
        self.rechecked.send_modify(|count| *count += 1);
    }

    /// Triggers a new comparison if the pins have changed, and waits for it briefly.
    pub(crate) async fn refresh_pins(&self) {
        let Some(pending_review) = self.pending_review.load_full() else { return };
        let pins = self.ledger.read(&self.settings).await;
        if pins.is_none_or(|pins| pending_review.is_read && pins.version == pending_review.version) {
            return;
        }
        let mut rechecked = self.rechecked.subscribe();
        self.recheck.notify_one();
        let _ = tokio::time::timeout(RECHECK_INTERVAL, rechecked.changed()).await;
    }

    pub(super) fn handle_start_failure(&self, failure: &Failure) {
        let is_logged = self.snapshot.load().failure.as_deref() == Some(failure.explanation());
        match is_logged || self.settings.is_watched {
            true => tracing::debug!("{}", describe_failure(failure)),
            false => tracing::warn!("{}", describe_failure(failure)),
        }
        if !is_logged {
            self.publish_failure(failure.explanation());
        }
    }

    fn publish_failure(&self, reason: &str) {
        let before = self.snapshot.load_full();
        let snapshot = if before.is_known {
            before.without_status()
        } else {
            CatalogSnapshot::unknown(&self.settings, &self.sanitizer)
        };
        self.snapshot.store(Arc::new(snapshot.with_failure(reason)));
        self.changes.send_modify(|count| *count += 1);
    }
}
