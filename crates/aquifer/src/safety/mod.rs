//! Builds the gate of every engine in this program: policy from the configuration, state in a store, and an audit log.

pub(crate) mod admin;
mod declared;
mod popup;
mod unused;
#[cfg(feature = "webhook")]
mod webhook;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::audit::{Audit, AuditSettings, Sink};
use aquifer_gate::confirm::approvals::Approval;
use aquifer_gate::confirm::{ApprovalNotifier, ApprovalPages};
use aquifer_gate::policy::Policy;
use aquifer_gate::{GateSettingsError, SafetyGate, persist_time};
use arc_swap::ArcSwap;
use futures::future::BoxFuture;
use tokio_util::task::AbortOnDropHandle;

use crate::config::{AuditSink, Config, StateConfig};
use crate::sources::gateway;
use crate::state::{self, MAX_MEMORY_RECORDS, StateFiles, StoreLocation, steady_clock};

pub(crate) use declared::SourceFacts;
pub(crate) use popup::ApprovalPopup;
pub(crate) use unused::{UnusedReporter, find_unused, report_unused, unknown_sources};

/// The gate with its store, clock and audit log.
pub(crate) struct Safety {
    pub(crate) gate: Arc<SafetyGate>,
    /// The store for the engine's own state, if it is shared between machines.
    pub(crate) shared: Option<Arc<dyn StateStore>>,
    /// The clock that decides when things expire.
    pub(crate) clock: Arc<SteadyClock>,
    /// The store of tokens, approvals and counts.
    pub(crate) store: Arc<dyn StateStore>,
    pub(crate) audit: Audit,
    /// The gate of the configuration in force, which a reload replaces.
    gate_in_force: ArcSwap<SafetyGate>,
    /// Is told about approvals.
    notifier: Option<Arc<dyn ApprovalNotifier>>,
    /// Where people decide about approvals.
    pub(crate) approval_pages: ApprovalPages,
    /// Opens the pages of approvals.
    pub(crate) popup: Option<Arc<ApprovalPopup>>,
    /// Writes the time to the store periodically.
    _timekeeper: Option<AbortOnDropHandle<()>>,
}

impl Safety {
    /// Builds the gate that the configuration describes.
    pub(crate) fn new(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        if let Some(problem) = config.approvals.problems().into_iter().next() {
            anyhow::bail!(problem.message);
        }
        let (place, clock) = (StoreLocation::new(&config.state)?, steady_clock());
        let store = place.open(&config.state, &clock)?;
        let audit = audit(config, store.clone(), &clock)?;
        gateway::record_in(&audit);
        let shared = matches!(place, StoreLocation::Redis(_)).then(|| store.clone());
        let popup = ApprovalPopup::new(config);
        let notifier = both(approval_notifier(config)?, popup.clone());
        let approval_pages = approval_pages(config);
        let gate = notifying(gate(config, sources, &audit, &store, &clock)?, notifier.as_ref(), &approval_pages);
        let timekeeper = AbortOnDropHandle::new(tokio::spawn(persist_time(clock.clone(), store.clone())));
        let gate_in_force = ArcSwap::new(gate.clone());
        Ok(Self {
            gate,
            shared,
            clock,
            store,
            audit,
            gate_in_force,
            notifier,
            approval_pages,
            popup,
            _timekeeper: Some(timekeeper),
        })
    }

    /// Builds a gate for commands that only inspect. It stores and audits nothing.
    pub(crate) fn for_inspection(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        let clock = steady_clock();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), MAX_MEMORY_RECORDS));
        let audit = Audit::disabled(clock.clone());
        let gate = Arc::new(gate(config, sources, &audit, &store, &clock)?);
        let gate_in_force = ArcSwap::new(gate.clone());
        Ok(Self {
            gate,
            shared: None,
            clock,
            store,
            audit,
            gate_in_force,
            notifier: None,
            approval_pages: ApprovalPages::default(),
            popup: None,
            _timekeeper: None,
        })
    }

    /// Builds the gate of a changed configuration with the same store, clock and audit log, so that counts and tokens
    /// are kept.
    pub(crate) fn gate_of(&self, config: &Config, sources: &SourceFacts) -> anyhow::Result<Arc<SafetyGate>> {
        let gate = gate(config, sources, &self.audit, &self.store, &self.clock)?;
        Ok(notifying(gate, self.notifier.as_ref(), &self.approval_pages))
    }

    /// The gate in force: the first one until a reload replaces it.
    pub(crate) fn gate_in_force(&self) -> Arc<SafetyGate> {
        self.gate_in_force.load_full()
    }

    /// Remembers the gate that a reload has put in force.
    pub(crate) fn set_gate_in_force(&self, gate: Arc<SafetyGate>) {
        self.gate_in_force.store(gate);
    }

    /// What the operator should know about the rules, and about who confirms calls.
    pub(crate) fn notices(config: &Config, has_file: bool) -> Vec<String> {
        let settings = SourceFacts::of_config(config).gate_settings(&config.gate);
        let mut notices = settings.destinations.warnings();
        if let Ok(policy) = Policy::new(&settings.policy) {
            notices.extend(policy.warnings().into_iter().map(|warning| format!("[gate] {warning}")));
            if policy.lets_model_confirm() {
                notices.push("the model confirms its own calls where a token is enough".to_owned());
            }
        }
        notices.extend(has_file.then(|| config.changes_since_its_version()).flatten());
        notices
    }

    /// The errors in `[gate]` that do not depend on the sources.
    pub(crate) fn problems(config: &Config) -> Vec<String> {
        let clock = steady_clock();
        let store = Arc::new(MemoryStore::new(clock.clone(), MAX_MEMORY_RECORDS));
        match SafetyGate::new(
            &SourceFacts::of_config(config).gate_settings(&config.gate),
            Audit::disabled(clock.clone()),
            store,
            clock,
        ) {
            Ok(_) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        }
    }

    /// Waits until the audit log is written, and everybody was told about approvals.
    pub(crate) async fn close(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.flush().await;
        }
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "the audit log may be incomplete");
        }
    }
}

fn gate(
    config: &Config,
    sources: &SourceFacts,
    audit: &Audit,
    store: &Arc<dyn StateStore>,
    clock: &Arc<SteadyClock>,
) -> anyhow::Result<SafetyGate> {
    let gate = SafetyGate::new(&sources.gate_settings(&config.gate), audit.clone(), store.clone(), clock.clone());
    gate.map_err(|error| anyhow::anyhow!("[gate] {}", problem(&error)))
}

/// The pages at the address in the configuration, or at one that is known later.
fn approval_pages(config: &Config) -> ApprovalPages {
    let pages = ApprovalPages::default();
    if let Some(url) = &config.approvals.explorer_url {
        pages.set_base_url(url);
    }
    pages
}

/// A gate that tells the notifier about approvals, and callers where they are decided.
fn notifying(gate: SafetyGate, notifier: Option<&Arc<dyn ApprovalNotifier>>, pages: &ApprovalPages) -> Arc<SafetyGate> {
    let gate = gate.with_approval_pages(pages.clone());
    Arc::new(match notifier {
        Some(notifier) => gate.with_approval_notifier(notifier.clone()),
        None => gate,
    })
}

/// Tells the webhook and the popup, as far as there are any.
fn both(
    webhook: Option<Arc<dyn ApprovalNotifier>>,
    popup: Option<Arc<ApprovalPopup>>,
) -> Option<Arc<dyn ApprovalNotifier>> {
    match (webhook, popup) {
        (Some(webhook), Some(popup)) => Some(Arc::new(BothNotifiers(webhook, popup))),
        (webhook, popup) => webhook.or(popup.map(|popup| -> Arc<dyn ApprovalNotifier> { popup })),
    }
}

struct BothNotifiers(Arc<dyn ApprovalNotifier>, Arc<ApprovalPopup>);

impl ApprovalNotifier for BothNotifiers {
    fn on_created(&self, approval: &Approval) {
        self.0.on_created(approval);
        self.1.on_created(approval);
    }

    fn flush(&self) -> BoxFuture<'_, ()> {
        self.0.flush()
    }
}

/// The webhook that the configuration describes.
#[cfg(feature = "webhook")]
fn approval_notifier(config: &Config) -> anyhow::Result<Option<Arc<dyn ApprovalNotifier>>> {
    let webhook = webhook::ApprovalWebhook::start(&config.approvals)?;
    Ok(webhook.map(|webhook| -> Arc<dyn ApprovalNotifier> { webhook }))
}

#[cfg(not(feature = "webhook"))]
fn approval_notifier(config: &Config) -> anyhow::Result<Option<Arc<dyn ApprovalNotifier>>> {
    match config.approvals.webhook {
        Some(_) => Err(anyhow::anyhow!("approvals.webhook cannot be used: this program was built without it")),
        None => Ok(None),
    }
}

fn problem(error: &GateSettingsError) -> String {
    error.to_string().replace('\n', "\n[gate] ")
}

/// Opens the audit log that the configuration describes, by default files in the state directory.
pub(crate) fn audit(config: &Config, store: Arc<dyn StateStore>, clock: &Arc<SteadyClock>) -> anyhow::Result<Audit> {
    let (audit_config, clock) = (&config.audit, clock.clone());
    let directory = audit_directory(config);
    // A directory that the operator chose may be readable by others on purpose.
    if let (None, Some(own)) = (&audit_config.dir, &directory) {
        crate::system::close_to_others(own);
    }
    let file = |directory: &PathBuf| Sink::File {
        directory: directory.clone(),
        size: audit_config.max_file_bytes,
        keep: audit_config.max_files,
    };
    let settings =
        |sinks: Vec<Sink>| AuditSettings { sinks, required: audit_config.required, ..AuditSettings::default() };
    let Some(places) = &audit_config.to else {
        let opened = match &directory {
            Some(directory) => {
                let opened = Audit::open(settings(vec![file(directory)]), clock.clone(), store.clone());
                opened.with_context(|| format!("cannot write the audit log to {}", directory.display()))
            }
            None => Err(anyhow::anyhow!("there is no home directory")),
        };
        // If a directory was configured, or the state directory is usable, falling back to stderr would hide the audit
        // log while writes continue. So the command fails.
        let is_expected = || audit_config.dir.is_some() || config.state.dir.is_some() || has_directory(&config.state);
        return opened.or_else(|error| match is_expected() {
            true => Err(error
                .context("no operation can be audited. Set audit.dir or audit.to to write the audit log elsewhere")),
            false => {
                tracing::warn!("writing the audit log to stderr: {error:#}");
                Ok(Audit::open(settings(vec![Sink::Stderr]), clock, store)?)
            }
        });
    };
    let mut sinks = Vec::new();
    for place in places {
        sinks.push(match place {
            AuditSink::File => file(directory.as_ref().context("the audit log needs a directory. Set audit.dir")?),
            AuditSink::Stderr => Sink::Stderr,
            AuditSink::Store => Sink::Store { keep: audit_config.kept_in_store() },
        });
    }
    Ok(Audit::open(settings(sinks), clock, store)?)
}

/// Whether the state directory can be used.
fn has_directory(state: &StateConfig) -> bool {
    StateFiles::new(state).is_ok_and(|files| files.store().is_ok())
}

/// The directory of the audit files.
pub(crate) fn audit_directory(config: &Config) -> Option<PathBuf> {
    config.audit.dir.clone().or_else(|| Some(state::directory_of(&config.state)?.join("audit")))
}
