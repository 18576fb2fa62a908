//! Pinned definitions of MCP servers in the state store. The store is opened once per process, with the first server.
//! Commands that only inspect do not write to it.

use std::path::Path;
use std::sync::Arc;

use aquifer_gate::audit::{Audit, Entry, Event};
use aquifer_upstream::{DefinitionObserver, PinStore, QuarantinePolicy};
use parking_lot::Mutex;

use super::super::{Kind, OnUnreachable, Plans, store};
use crate::config::{Config, QuarantineConfig, StateConfig};

/// Maximum number of entries that wait until the audit log is opened.
const MAX_WAITING: usize = 1_000;

impl From<QuarantineConfig> for QuarantinePolicy {
    fn from(quarantine: QuarantineConfig) -> Self {
        match quarantine {
            QuarantineConfig::Changed => QuarantinePolicy::Changed,
            QuarantineConfig::New => QuarantinePolicy::New,
            QuarantineConfig::Off => QuarantinePolicy::Off,
        }
    }
}

impl Plans {
    /// Sets for every MCP server where its pins are stored and which definitions are quarantined. The setting of a
    /// source takes precedence over that of `[gate]`.
    pub(in crate::sources) fn pin_definitions(&mut self, config: &Config) {
        for plan in &mut self.plans {
            let Kind::Upstream(settings) = &mut plan.kind else { continue };
            let quarantine = plan.origin.config.quarantine.or(config.gate.quarantine());
            // A changed policy makes it a different source.
            plan.origin.config.quarantine = quarantine;
            // If only a number distinguishes sources, it is unknown which record belongs to which.
            let is_shared = self.numbered.contains(settings.pinned_as.as_ref().unwrap_or(&settings.name));
            settings.inherits_pins = self.is_configured && !is_shared;
            // Servers in a client's file are named by that file.
            if plan.origin.server.is_none() {
                let is_named = self.is_configured && plan.origin.has_chosen_name();
                settings.named_in = is_named.then(|| identify(config.path.as_deref()));
            }
            settings.quarantine = quarantine.map(Into::into).unwrap_or_default();
        }
    }
}

/// Identifies a file that names sources, however its path is written. Links are not resolved, because a deployment that
/// changes a link publishes the same configuration again.
pub(super) fn identify(file: Option<&Path>) -> String {
    let Some(file) = file else { return String::new() };
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).display().to_string()
}

/// The pin store for this use of the definitions.
pub(super) fn pinning(state: &StateConfig, on_unreachable: OnUnreachable) -> PinStore {
    match store::is_inspection(on_unreachable) {
        true => PinStore::read_only(store::open_for_inspection(state)),
        false => PinStore::new(store::open(state)).with_observer(Arc::new(QuarantineObserver)),
    }
}

/// The pin store in which a person accepts definitions.
pub(crate) fn for_review(state: &StateConfig) -> PinStore {
    PinStore::new(store::open(state))
}

/// The audit log that records quarantined definitions, and the entries from before it was opened.
#[derive(Default)]
struct QuarantineRecord {
    audit: Option<Audit>,
    waiting: Vec<Entry>,
}

static RECORD: Mutex<Option<QuarantineRecord>> = Mutex::new(None);

/// Records quarantined definitions in this audit log from now on, including earlier ones.
pub(crate) fn record_in(audit: &Audit) {
    let mut record = RECORD.lock();
    let record = record.get_or_insert_default();
    record.audit = Some(audit.clone());
    record.waiting.drain(..).for_each(|entry| note(audit, entry));
}

fn note(audit: &Audit, entry: Entry) {
    if let Err(error) = audit.submit(entry) {
        tracing::error!(%error, "a quarantined definition could not be written to the audit log");
    }
}

struct QuarantineObserver;

impl DefinitionObserver for QuarantineObserver {
    fn quarantined(&self, source: &str, tool: &str, operation: &str, reason: &str) {
        let tool = aquifer_discovery::text::presentable(tool);
        let entry = Entry::new(Event::DefinitionQuarantined).operation(source, operation);
        let entry = entry.reason(&format!("tool '{tool}': {reason}"));
        let mut record = RECORD.lock();
        let record = record.get_or_insert_default();
        match &record.audit {
            Some(audit) => note(audit, entry),
            None if record.waiting.len() < MAX_WAITING => record.waiting.push(entry),
            None => {}
        }
    }
}
