//! Where the accepted definitions of MCP servers are: in the state store, one for the whole process, opened when a server
//! is. Commands that only look read it and write nothing.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::audit::{Audit, Entry, Event};
use aquifer_upstream::{DefinitionObserver, Pinning, QuarantinePolicy};

use super::{Absence, Kind, Plans};
use crate::config::{Config, QuarantineConfig, StateConfig};
use crate::safety::{self, Place};

/// Set for a server that is started only to be measured: it pins nothing.
pub(crate) const LOOK_ONLY: &str = "AQUIFER_LOOK_ONLY";

/// Servers whose pins a process without a store remembers.
const MAX_IN_MEMORY: usize = 10_000;

/// Entries that wait for the audit to be opened.
const MAX_WAITING: usize = 1_000;

impl From<QuarantineConfig> for QuarantinePolicy {
    fn from(said: QuarantineConfig) -> Self {
        match said {
            QuarantineConfig::Changed => QuarantinePolicy::Changed,
            QuarantineConfig::New => QuarantinePolicy::New,
            QuarantineConfig::Off => QuarantinePolicy::Off,
        }
    }
}

impl Plans {
    /// Says of every MCP server where its accepted definitions are and what happens to others. What a source says of itself
    /// beats what `[gate]` says of all.
    pub(crate) fn pin(&mut self, config: &Config) {
        for plan in &mut self.plans {
            let Kind::Upstream(settings) = &mut plan.kind else { continue };
            let said = plan.origin.config.quarantine.or(config.gate.quarantine());
            // A changed policy makes another source of it.
            plan.origin.config.quarantine = said;
            settings.quarantine = said.map(Into::into).unwrap_or_default();
            plan.state = config.state.clone();
        }
    }
}

/// Where definitions are pinned for what is about to be done with them.
pub(super) fn pinning(state: &StateConfig, absence: Absence) -> Pinning {
    let is_looking = matches!(absence, Absence::Fails | Absence::IsShown) || std::env::var_os(LOOK_ONLY).is_some();
    match is_looking {
        true => Pinning::read_only(looked_into(state)),
        false => Pinning::new(opened(state)).observed_by(Arc::new(Observed)),
    }
}

/// Where a person accepts definitions.
pub(crate) fn for_review(state: &StateConfig) -> Pinning {
    Pinning::new(opened(state))
}

/// The store of this process. Its place does not change while the process runs.
fn opened(state: &StateConfig) -> Arc<dyn StateStore> {
    static STORE: OnceLock<Arc<dyn StateStore>> = OnceLock::new();
    STORE.get_or_init(|| open(state)).clone()
}

/// The same for looking: a store that is not there is not made.
fn looked_into(state: &StateConfig) -> Arc<dyn StateStore> {
    let is_missing = |file: &Path| !file.exists();
    match Place::of(state) {
        Ok(Place::File(file)) if is_missing(&file) => in_memory(),
        _ => opened(state),
    }
}

fn open(state: &StateConfig) -> Arc<dyn StateStore> {
    Place::of(state).and_then(|place| place.open(state, &safety::steady_clock())).unwrap_or_else(|error| {
        tracing::error!("accepted definitions are kept in memory and forgotten with this process: {error:#}");
        in_memory()
    })
}

fn in_memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock), MAX_IN_MEMORY))
}

/// The audit that hears of quarantined definitions, and what happened before it was opened.
#[derive(Default)]
struct Record {
    audit: Option<Audit>,
    waiting: Vec<Entry>,
}

static RECORD: Mutex<Option<Record>> = Mutex::new(None);

/// Puts quarantined definitions on record there from now on, and those from before.
pub(crate) fn record_in(audit: &Audit) {
    let mut record = RECORD.lock().unwrap_or_else(PoisonError::into_inner);
    let record = record.get_or_insert_default();
    record.audit = Some(audit.clone());
    record.waiting.drain(..).for_each(|entry| note(audit, entry));
}

fn note(audit: &Audit, entry: Entry) {
    if let Err(error) = audit.note(entry) {
        tracing::error!(%error, "a quarantined definition is not on record");
    }
}

struct Observed;

impl DefinitionObserver for Observed {
    fn quarantined(&self, source: &str, tool: &str, operation: &str, reason: &str) {
        let tool = aquifer_discovery::text::presentable(tool);
        let entry = Entry::new(Event::DefinitionQuarantined).named(source, operation);
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
