//! The gate of every engine this program builds: policy from the configuration, state in a store, and an audit.

pub(crate) mod admin;
mod config;
pub(crate) mod terminal;

use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::audit::{Audit, AuditSettings, Sink};
use aquifer_gate::store::{RedisSettings, RedisStore, SqliteStore};
use aquifer_gate::{GateSettingsError, SafetyGate};

use crate::config::{Config, StateConfig, expand};
use crate::state::Kept;

pub(crate) use config::{AuditConfig, AuditPlace, GateConfig, TrustSaid};

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

/// The gate and what it stands on.
pub(crate) struct Safety {
    pub(crate) gate: Arc<SafetyGate>,
    /// Where the engine keeps what is not the gate's: shared where several machines are to behave as one.
    pub(crate) shared: Option<Arc<dyn StateStore>>,
    audit: Audit,
}

impl Safety {
    /// The gate that the configuration describes.
    pub(crate) fn new(config: &Config) -> anyhow::Result<Self> {
        let place = Place::of(&config.state)?;
        let store = place.open(&config.state)?;
        let audit = audit(config, store.clone())?;
        crate::sources::pins::record_in(&audit);
        let shared = matches!(place, Place::Redis(_)).then(|| store.clone());
        let gate = SafetyGate::new(&config.gate.settings(), audit.clone(), store, Arc::new(SystemClock));
        Ok(Self { gate: Arc::new(gate.map_err(|error| anyhow::anyhow!("[gate] {}", problem(&error)))?), shared, audit })
    }

    /// The same for looking only: nothing is kept, nothing is written down.
    pub(crate) fn looking(config: &Config) -> anyhow::Result<Self> {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        let audit = Audit::off(clock.clone());
        let gate = SafetyGate::new(&config.gate.settings(), audit.clone(), store, clock);
        let gate = gate.map_err(|error| anyhow::anyhow!("[gate] {}", problem(&error)))?;
        Ok(Self { gate: Arc::new(gate), shared: None, audit })
    }

    /// Everything that makes no sense in `[gate]`.
    pub(crate) fn problems(config: &Config) -> Vec<String> {
        let clock = Arc::new(SystemClock);
        let store = Arc::new(MemoryStore::new(clock.clone(), REMEMBERED));
        match SafetyGate::new(&config.gate.settings(), Audit::off(clock.clone()), store, clock) {
            Ok(_) => Vec::new(),
            Err(error) => error.to_string().lines().map(str::to_owned).collect(),
        }
    }

    /// Waits until everything is written down.
    pub(crate) async fn close(&self) {
        if let Err(error) = self.audit.flush().await {
            tracing::error!(%error, "the audit may be incomplete");
        }
    }
}

fn problem(error: &GateSettingsError) -> String {
    error.to_string().replace('\n', "\n[gate] ")
}

impl Place {
    /// Where the configuration wants it; else in a file of the state directory, if there is one.
    pub(crate) fn of(state: &StateConfig) -> anyhow::Result<Self> {
        let wanted = state.store.as_deref().map(expand).transpose()?;
        match wanted.as_deref() {
            Some("memory") => Ok(Place::Memory),
            Some("sqlite") => match Kept::of(state).store() {
                Some(file) => {
                    make_folder(&file)?;
                    Ok(Place::File(file))
                }
                None => bail!("state.store = \"sqlite\" needs a directory: set state.dir"),
            },
            Some(file) if file.strip_prefix("sqlite:").is_some_and(|file| !file.is_empty()) => {
                let file = PathBuf::from(file.strip_prefix("sqlite:").unwrap_or_default());
                make_folder(&file)?;
                Ok(Place::File(file))
            }
            Some(url) if url.starts_with("redis://") || url.starts_with("rediss://") => {
                Ok(Place::Redis(url.to_owned()))
            }
            Some(_) => bail!("state.store is \"memory\", \"sqlite\", \"sqlite:PATH\", or a redis:// or rediss:// URL"),
            None => {
                let made = Kept::of(state).store().context("there is no home directory").and_then(|file| {
                    make_folder(&file)?;
                    Ok(file)
                });
                match made {
                    Ok(file) => Ok(Place::File(file)),
                    Err(error) => {
                        tracing::warn!(
                            "confirmations and quotas are kept in memory, where approvals cannot be given from outside: \
                             {error:#}"
                        );
                        Ok(Place::Memory)
                    }
                }
            }
        }
    }

    /// The store there. Nothing is connected yet.
    pub(crate) fn open(&self, state: &StateConfig) -> anyhow::Result<Arc<dyn StateStore>> {
        let clock = Arc::new(SystemClock);
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
                Arc::new(RedisStore::new(&settings)?)
            }
        })
    }
}

/// The folder of a file, for its owner alone.
fn make_folder(file: &Path) -> anyhow::Result<()> {
    let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) else { return Ok(()) };
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.with_context(|| format!("cannot make {}", folder.display()))
}

/// The audit that the configuration describes; else files in the state directory.
pub(crate) fn audit(config: &Config, store: Arc<dyn StateStore>) -> anyhow::Result<Audit> {
    let said = &config.audit;
    let clock = Arc::new(SystemClock);
    let directory = audit_directory(config);
    let file =
        |directory: &PathBuf| Sink::File { directory: directory.clone(), size: said.file_bytes, keep: said.files };
    let settings = |sinks: Vec<Sink>| AuditSettings { sinks, required: said.required, ..AuditSettings::default() };
    let Some(places) = &said.to else {
        let opened = match &directory {
            Some(directory) => {
                Audit::open(settings(vec![file(directory)]), clock.clone(), store.clone()).map_err(anyhow::Error::from)
            }
            None => Err(anyhow::anyhow!("there is no home directory")),
        };
        return opened.or_else(|error| {
            tracing::warn!("the audit goes to stderr: {error:#}");
            Ok(Audit::open(settings(vec![Sink::Stderr]), clock, store)?)
        });
    };
    let mut sinks = Vec::new();
    for place in places {
        sinks.push(match place {
            AuditPlace::File => file(directory.as_ref().context("the audit needs a directory: set audit.dir")?),
            AuditPlace::Stderr => Sink::Stderr,
            AuditPlace::Store => Sink::Store { keep: said.kept_in_store() },
        });
    }
    Ok(Audit::open(settings(sinks), clock, store)?)
}

/// Where the audit's files are.
pub(crate) fn audit_directory(config: &Config) -> Option<PathBuf> {
    config.audit.dir.clone().or_else(|| Kept::of(&config.state).audit())
}
