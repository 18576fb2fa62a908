//! The accepted definitions of MCP servers, kept in the state store. The store is opened once per process, with the
//! first server. Commands that only look read from it and write nothing.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use aquifer_gate::audit::{Audit, Entry, Event};
use aquifer_upstream::{DefinitionObserver, PinStore, QuarantinePolicy};

use super::super::{Absence, Kind, Plans, store};
use crate::config::{Config, QuarantineConfig, StateConfig};

/// Entries that wait for the audit to be opened.
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
    /// Says of every MCP server where its accepted definitions are and what happens to others. What a source says of
    /// itself beats what `[gate]` says of all.
    pub(in crate::sources) fn pin_definitions(&mut self, config: &Config) {
        for plan in &mut self.plans {
            let Kind::Upstream(settings) = &mut plan.kind else { continue };
            let quarantine = plan.origin.config.quarantine.or(config.gate.quarantine());
            // A changed policy makes another source of it.
            plan.origin.config.quarantine = quarantine;
            // Of sources that only a number tells apart nobody can say whose record one would continue.
            let is_shared = self.numbered.contains(settings.pinned_as.as_ref().unwrap_or(&settings.name));
            settings.inherits_pins = self.is_configured && !is_shared;
            // The servers of a client's file have their names from that file.
            if plan.origin.server.is_none() {
                let is_named = self.is_configured && plan.origin.has_chosen_name();
                settings.named_in = is_named.then(|| identify(config.path.as_deref()));
            }
            settings.quarantine = quarantine.map(Into::into).unwrap_or_default();
        }
    }
}

/// A file that gives sources their names, wherever it is named from. Links in its path stay: a deployment that repoints
/// one publishes the same configuration anew.
pub(super) fn identify(file: Option<&Path>) -> String {
    let Some(file) = file else { return String::new() };
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned()).display().to_string()
}

/// Where definitions are pinned for what is about to be done with them.
pub(super) fn pinning(state: &StateConfig, absence: Absence) -> PinStore {
    match store::is_looking(absence) {
        true => PinStore::read_only(store::looked_into(state)),
        false => PinStore::new(store::opened(state)).with_observer(Arc::new(QuarantineObserver)),
    }
}

/// Where a person accepts definitions.
pub(crate) fn for_review(state: &StateConfig) -> PinStore {
    PinStore::new(store::opened(state))
}

/// The audit that hears of quarantined definitions, and what happened before it was opened.
#[derive(Default)]
struct QuarantineRecord {
    audit: Option<Audit>,
    waiting: Vec<Entry>,
}

static RECORD: Mutex<Option<QuarantineRecord>> = Mutex::new(None);

/// Puts quarantined definitions on record there from now on, and those from before.
pub(crate) fn record_in(audit: &Audit) {
    let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
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
        let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
        let record = record.get_or_insert_default();
        match &record.audit {
            Some(audit) => note(audit, entry),
            None if record.waiting.len() < MAX_WAITING => record.waiting.push(entry),
            None => {}
        }
    }
}
