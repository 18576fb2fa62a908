//! The gate of every engine this program builds: policy from the configuration, state in a store, and an audit.

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
use aquifer_gate::store::{RedisSettings, RedisStore, SqliteStore};
use aquifer_gate::{GateSettingsError, SafetyGate, keep_time};
use tokio_util::task::AbortOnDropHandle;

use crate::config::{Config, StateConfig};
use crate::state::{self, Kept};

pub(crate) use config::{AuditConfig, AuditPlace, GateConfig, TrustSaid};
pub(crate) use declared::SourceFacts;
pub(crate) use unused::{UnusedReporter, find_unused, report_unused, unknown_sources};

/// Records that a memory holds before it forgets the oldest.
const REMEMBERED: usize = 100_000;

/// Where state is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// In this process.
    Memory,
    /// In a file, which every process on this machine shares.
    File(PathBuf),
    /// In a Redis, under this URL.
    Redis(String),
}

/// What `state.store` says.
pub(crate) enum StoreSetting {
    Memory,
    /// This file, or the one of the state directory.
    File(Option<PathBuf>),
    Redis(String),
}

impl StoreSetting {
    /// Reads it, without looking for what it names.
    pub(crate) fn parse(state: &StateConfig) -> anyhow::Result<Option<Self>> {
        let Some(store) = state.store.as_deref().map(|store| state.variables.expand(store)).transpose()? else {
            return Ok(None);
        };
        Ok(Some(match store.as_str() {
            "memory" => StoreSetting::Memory,
            "sqlite" => StoreSetting::File(None),
            url if url.starts_with("redis://") || url.starts_with("rediss://") => StoreSetting::Redis(url.to_owned()),
            file => match file.strip_prefix("sqlite:").filter(|file| !file.is_empty()) {
                Some(file) => StoreSetting::File(Some(file.into())),
                None => {
                    bail!("state.store must be \"memory\", \"sqlite\", \"sqlite:PATH\", or a redis:// or rediss:// URL")
                }
            },
        }))
    }
}

/// The gate and what it stands on.
pub(crate) struct Safety {
    pub(crate) gate: Arc<SafetyGate>,
    /// Where the engine keeps what is not the gate's: shared where several machines are to behave as one.
    pub(crate) shared: Option<Arc<dyn StateStore>>,
    /// By which everything expires.
    pub(crate) clock: Arc<SteadyClock>,
    store: Arc<dyn StateStore>,
    audit: Audit,
    /// Keeps the time in the store.
    _timekeeper: Option<AbortOnDropHandle<()>>,
}

impl Safety {
    /// The gate that the configuration describes.
    pub(crate) fn new(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        let (place, clock) = (Place::of(&config.state)?, steady_clock());
        let store = place.open(&config.state, &clock)?;
        let audit = audit(config, store.clone(), &clock)?;
        crate::sources::pins::record_in(&audit);
        let shared = matches!(place, Place::Redis(_)).then(|| store.clone());
        let gate = gate(config, sources, &audit, &store, &clock)?;
        let timekeeper = AbortOnDropHandle::new(tokio::spawn(keep_time(clock.clone(), store.clone())));
        Ok(Self { gate, shared, clock, store, audit, _timekeeper: Some(timekeeper) })
    }

    /// The same for looking only: nothing is kept, nothing is written down.
    pub(crate) fn looking(config: &Config, sources: &SourceFacts) -> anyhow::Result<Self> {
        let clock = steady_clock();
        let store: Arc<dyn StateStore> = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        let audit = Audit::off(clock.clone());
        let gate = gate(config, sources, &audit, &store, &clock)?;
        Ok(Self { gate, shared: None, clock, store, audit, _timekeeper: None })
    }

    /// Another gate, which a changed configuration describes, over the same store, clock and audit: what was counted,
    /// issued and used up under the old one is known to the new one.
    pub(crate) fn gate_of(&self, config: &Config, sources: &SourceFacts) -> anyhow::Result<Arc<SafetyGate>> {
        gate(config, sources, &self.audit, &self.store, &self.clock)
    }

    /// Everything that makes no sense in `[gate]`, whatever the sources are.
    pub(crate) fn problems(config: &Config) -> Vec<String> {
        let clock = steady_clock();
        let store = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        match SafetyGate::new(&config.gate.settings(&SourceFacts::default()), Audit::off(clock.clone()), store, clock) {
            Ok(_) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        }
    }

    /// Waits until everything is written down.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "the audit log may be incomplete");
        }
    }
}

/// The clock by which everything expires.
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

impl Place {
    /// Where the configuration wants it; else in a file of the state directory, if there is one.
    pub(crate) fn of(state: &StateConfig) -> anyhow::Result<Self> {
        let kept = Kept::of(state)?;
        match StoreSetting::parse(state)? {
            Some(StoreSetting::Memory) => Ok(Place::Memory),
            Some(StoreSetting::Redis(url)) => Ok(Place::Redis(url)),
            Some(StoreSetting::File(Some(file))) => {
                // Its folder is the operator's business, and may hold other things.
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder {
                    let made = state::create_private_directory(folder);
                    made.with_context(|| format!("cannot create {}", folder.display()))?;
                }
                Ok(Place::File(file))
            }
            Some(StoreSetting::File(None)) => Ok(Place::File(kept.store()?)),
            // A directory that was asked for is used or missed: limits in memory would begin anew with every process.
            None if state.dir.is_some() => Ok(Place::File(kept.store()?)),
            None => Ok(kept.store().map_or_else(
                |error| {
                    tracing::warn!(
                        "confirmations and quotas are kept in memory, so 'aquifer approvals' cannot reach them: {error:#}"
                    );
                    Place::Memory
                },
                Place::File,
            )),
        }
    }

    /// The store there. Nothing is connected yet.
    pub(crate) fn open(&self, state: &StateConfig, clock: &Arc<SteadyClock>) -> anyhow::Result<Arc<dyn StateStore>> {
        let clock = clock.clone();
        Ok(match self {
            Place::Memory => Arc::new(MemoryStore::new(clock, REMEMBERED)),
            Place::File(file) => Arc::new(SqliteStore::new(file, clock)?),
            Place::Redis(url) => {
                let mut settings = RedisSettings::new(url);
                if let Some(prefix) = &state.redis_prefix {
                    settings.prefix.clone_from(prefix);
                }
                if let Some(file) = &state.redis_authorities {
                    let read = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
                    settings.authorities = Some(read);
                }
                Arc::new(RedisStore::new(&settings)?.with_clock(clock))
            }
        })
    }
}

/// The audit that the configuration describes; else files in the state directory.
pub(crate) fn audit(config: &Config, store: Arc<dyn StateStore>, clock: &Arc<SteadyClock>) -> anyhow::Result<Audit> {
    let (said, clock) = (&config.audit, clock.clone());
    let directory = audit_directory(config);
    // A directory that the operator chose may be open to whoever reads logs.
    if let (None, Some(own)) = (&said.dir, &directory) {
        state::close_to_others(own);
    }
    let file = |directory: &PathBuf| Sink::File {
        directory: directory.clone(),
        size: said.max_file_bytes,
        keep: said.max_files,
    };
    let settings = |sinks: Vec<Sink>| AuditSettings { sinks, required: said.required, ..AuditSettings::default() };
    let Some(places) = &said.to else {
        let opened = match &directory {
            Some(directory) => {
                let opened = Audit::open(settings(vec![file(directory)]), clock.clone(), store.clone());
                opened.with_context(|| format!("cannot write the audit log to {}", directory.display()))
            }
            None => Err(anyhow::anyhow!("there is no home directory")),
        };
        // A directory that was asked for, or that everything else is kept in, is used or missed: nobody would look for the
        // audit anywhere else, and writes would go on.
        let is_expected = || said.dir.is_some() || config.state.dir.is_some() || has_directory(&config.state);
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
            AuditPlace::Store => Sink::Store { keep: said.kept_in_store() },
        });
    }
    Ok(Audit::open(settings(sinks), clock, store)?)
}

/// Whether state can be kept in files.
fn has_directory(state: &StateConfig) -> bool {
    Kept::of(state).is_ok_and(|kept| kept.store().is_ok())
}

/// Where the audit's files are.
pub(crate) fn audit_directory(config: &Config) -> Option<PathBuf> {
    config.audit.dir.clone().or_else(|| Some(state::directory_of(&config.state)?.join("audit")))
}
