//! Builds the gate of every engine in this program: policy from the configuration, state in a store, and an audit log.

pub(crate) mod admin;
mod config;
mod declared;
pub(crate) mod pager;
pub(crate) mod terminal;
mod unused;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::clock::{SteadyClock, SystemClock};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::audit::{Audit, AuditSettings, Sink};
use aquifer_gate::store::{RedisSettings, SqliteStore, open_redis};
use aquifer_gate::{GateSettingsError, SafetyGate, persist_time};
use tokio_util::task::AbortOnDropHandle;

use crate::config::{Config, StateConfig};
use crate::feature;
use crate::state::{self, StateFiles};

pub(crate) use config::{AuditConfig, AuditPlace, GateConfig, TrustSetting};
pub(crate) use declared::SourceFacts;
pub(crate) use unused::{UnusedReporter, find_unused, report_unused, unknown_sources};

/// How many records a memory store holds before it drops the oldest.
const REMEMBERED: usize = 100_000;

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// In this process.
    Memory,
    /// In a file, which every process on this machine shares.
    File(PathBuf),
    /// In a Redis, under this URL.
    Redis(String),
}

/// The value of `state.store`.
pub(crate) enum StoreSetting {
    Memory,
    /// This file, or the default file in the state directory.
    File(Option<PathBuf>),
    Redis(String),
}

impl StoreSetting {
    /// Parses the setting without opening the store.
    pub(crate) fn parse(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        let Some(store) = state.store.as_deref().map(|store| state.variables.expand(store)).transpose()? else {
            return Ok(None);
        };
        Ok(Some(match store.as_str() {
            "memory" => StoreSetting::Memory,
            "sqlite" => StoreSetting::File(None),
            url if url.starts_with("redis://") || url.starts_with("rediss://") => {
                if !cfg!(feature = "redis") {
                    return Err(feature::missing("Redis support", "redis").context("state.store cannot be used"));
                }
                StoreSetting::Redis(url.to_owned())
            }
            file => match file.strip_prefix("sqlite:").filter(|file| !file.is_empty()) {
                Some(file) => StoreSetting::File(Some(file.into())),
                None => {
                    bail!("state.store must be \"memory\", \"sqlite\", \"sqlite:PATH\", or a redis:// or rediss:// URL")
                }
            },
        }))
    }
}

/// The gate with its store, clock and audit log.
pub(crate) struct Safety {
    pub(crate) gate: Arc<SafetyGate>,
    /// The store for the engine's own state, if it is shared between machines.
    pub(crate) shared: Option<Arc<dyn StateStore>>,
    /// The clock that decides when things expire.
    pub(crate) clock: Arc<SteadyClock>,
    store: Arc<dyn StateStore>,
    audit: Audit,
    /// Writes the time to the store regularly.
    _timekeeper: Option<AbortOnDropHandle<()>>,
}

impl Safety {
    /// Builds the gate that the configuration describes.
    pub(crate) fn new(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        let (place, clock) = (StoreLocation::new(&config.state)?, steady_clock());
        let store = place.open(&config.state, &clock)?;
        let audit = audit(config, store.clone(), &clock)?;
        crate::sources::gateway::record_in(&audit);
        let shared = matches!(place, StoreLocation::Redis(_)).then(|| store.clone());
        let gate = gate(config, sources, &audit, &store, &clock)?;
        let timekeeper = AbortOnDropHandle::new(tokio::spawn(persist_time(clock.clone(), store.clone())));
        Ok(Self { gate, shared, clock, store, audit, _timekeeper: Some(timekeeper) })
    }

    /// Builds a gate for commands that only look: it stores and audits nothing.
    pub(crate) fn looking(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        let clock = steady_clock();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        let audit = Audit::disabled(clock.clone());
        let gate = gate(config, sources, &audit, &store, &clock)?;
        Ok(Self { gate, shared: None, clock, store, audit, _timekeeper: None })
    }

    /// Builds the gate of a changed configuration over the same store, clock and audit log, so that it knows the counts
    /// and tokens of the old one.
    pub(crate) fn gate_of(&self, config: &Config, sources: &SourceFacts) -> anyhow::Result<Arc<SafetyGate>> {
        gate(config, sources, &self.audit, &self.store, &self.clock)
    }

    /// The errors in `[gate]` that do not depend on the sources.
    pub(crate) fn problems(config: &Config) -> Vec<String> {
        let clock = steady_clock();
        let store = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        match SafetyGate::new(
            &config.gate.settings(&SourceFacts::default()),
            Audit::disabled(clock.clone()),
            store,
            clock,
        ) {
            Ok(_) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        }
    }

    /// Waits until the audit log is written.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "the audit log may be incomplete");
        }
    }
}

/// The clock that decides when things expire.
pub(crate) fn steady_clock() -> Arc<SteadyClock> {
    Arc::new(SteadyClock::new(Arc::new(SystemClock)))
}

fn gate(
    config: &Config,
    sources: &SourceFacts,
    audit: &Audit,
    store: &Arc<dyn StateStore>,
    clock: &Arc<SteadyClock>,
) -> anyhow::Result<Arc<SafetyGate>> {
    let gate = SafetyGate::new(&config.gate.settings(sources), audit.clone(), store.clone(), clock.clone());
    Ok(Arc::new(gate.map_err(|error| anyhow::anyhow!("[gate] {}", problem(&error)))?))
}

fn problem(error: &GateSettingsError) -> String {
    error.to_string().replace('\n', "\n[gate] ")
}

impl StoreLocation {
    /// The location that the configuration names, or else a file in the state directory, if there is one.
    pub(crate) fn new(state: &StateConfig) -> anyhow::Result<Self> {
        let kept = StateFiles::new(state)?;
        match StoreSetting::parse(state)? {
            Some(StoreSetting::Memory) => Ok(StoreLocation::Memory),
            Some(StoreSetting::Redis(url)) => Ok(StoreLocation::Redis(url)),
            Some(StoreSetting::File(Some(file))) => {
                // Its folder is the operator's business, and may hold other things.
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder {
                    let made = state::create_private_directory(folder);
                    made.with_context(|| format!("cannot create {}", folder.display()))?;
                }
                Ok(StoreLocation::File(file))
            }
            Some(StoreSetting::File(None)) => Ok(StoreLocation::File(kept.store()?)),
            // A directory that was asked for is used or missed: limits in memory would begin anew with every process.
            None if state.dir.is_some() => Ok(StoreLocation::File(kept.store()?)),
            None => Ok(kept.store().map_or_else(
                |error| {
                    tracing::warn!(
                        "confirmations and quotas are kept in memory, so 'aquifer approvals' cannot reach them: {error:#}"
                    );
                    StoreLocation::Memory
                },
                StoreLocation::File,
            )),
        }
    }

    /// Opens the store. Connections are made later.
    pub(crate) fn open(&self, state: &StateConfig, clock: &Arc<SteadyClock>) -> anyhow::Result<Arc<dyn StateStore>> {
        let clock = clock.clone();
        Ok(match self {
            StoreLocation::Memory => Arc::new(MemoryStore::new(clock, REMEMBERED)),
            StoreLocation::File(file) => Arc::new(SqliteStore::new(file, clock)?),
            StoreLocation::Redis(url) => {
                let mut settings = RedisSettings::new(url);
                if let Some(prefix) = &state.redis_prefix {
                    settings.prefix.clone_from(prefix);
                }
                if let Some(file) = &state.redis_authorities {
                    let read = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
                    settings.authorities = Some(read);
                }
                open_redis(&settings, clock)?
            }
        })
    }
}

/// Opens the audit log that the configuration describes, or else files in the state directory.
pub(crate) fn audit(config: &Config, store: Arc<dyn StateStore>, clock: &Arc<SteadyClock>) -> anyhow::Result<Audit> {
    let (audit_config, clock) = (&config.audit, clock.clone());
    let directory = audit_directory(config);
    // A directory that the operator chose may be open to whoever reads logs.
    if let (None, Some(own)) = (&audit_config.dir, &directory) {
        state::close_to_others(own);
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
        // A directory that was asked for, or that everything else is kept in, is used or missed: nobody would look for
        // the audit anywhere else, and writes would go on.
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
            AuditPlace::File => file(directory.as_ref().context("the audit log needs a directory. Set audit.dir")?),
            AuditPlace::Stderr => Sink::Stderr,
            AuditPlace::Store => Sink::Store { keep: audit_config.kept_in_store() },
        });
    }
    Ok(Audit::open(settings(sinks), clock, store)?)
}

/// Whether the state directory can be used.
fn has_directory(state: &StateConfig) -> bool {
    StateFiles::new(state).is_ok_and(|kept| kept.store().is_ok())
}

/// The directory of the audit files.
pub(crate) fn audit_directory(config: &Config) -> Option<PathBuf> {
    config.audit.dir.clone().or_else(|| Some(state::directory_of(&config.state)?.join("audit")))
}
