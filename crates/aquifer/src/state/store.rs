//! The state store: its configured location, and opening it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use aquifer_engine::clock::{SteadyClock, SystemClock};
use aquifer_engine::store::{MemoryStore, StateStore};
use aquifer_gate::store::{RedisSettings, SqliteStore, open_redis};

use super::StateFiles;
use super::inspected_store::InspectedStore;
use crate::config::feature;
use crate::config::{StateAccess, StateConfig};
use crate::system::create_private_directory;

/// Maximum number of records in a memory store. The oldest are dropped beyond it.
pub(crate) const MAX_MEMORY_RECORDS: usize = 100_000;

/// The location of the state store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreLocation {
    /// In the memory of this process.
    Memory,
    /// In a file shared by all processes on this machine.
    File(PathBuf),
    /// In Redis, at this URL.
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

impl StoreLocation {
    /// The location in the configuration, otherwise a file in the state directory, if there is one.
    pub(crate) fn new(state: &StateConfig) -> anyhow::Result<Self> {
        match state.access {
            StateAccess::Use => Self::resolve(state, StateFiles::store, create_private_directory),
            StateAccess::Inspect => Self::find(state),
        }
    }

    /// Like `new`, for commands that only read: creates nothing, so a file may not exist.
    pub(crate) fn find(state: &StateConfig) -> anyhow::Result<Self> {
        Self::resolve(state, StateFiles::store_path, |_| Ok(()))
    }

    fn resolve(
        state: &StateConfig,
        default_file: fn(&StateFiles) -> anyhow::Result<PathBuf>,
        make_folder: fn(&Path) -> io::Result<()>,
    ) -> anyhow::Result<Self> {
        let files = StateFiles::new(state)?;
        match StoreSetting::parse(state)? {
            Some(StoreSetting::Memory) => Ok(StoreLocation::Memory),
            Some(StoreSetting::Redis(url)) => Ok(StoreLocation::Redis(url)),
            Some(StoreSetting::File(Some(file))) => {
                // The operator chose the folder, which may contain other files.
                let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
                if let Some(folder) = folder {
                    let made = make_folder(folder);
                    made.with_context(|| format!("cannot create {}", folder.display()))?;
                }
                Ok(StoreLocation::File(file))
            }
            Some(StoreSetting::File(None)) => Ok(StoreLocation::File(default_file(&files)?)),
            // If a directory is configured, it has to be used: limits in memory would start again in every process.
            None if state.dir.is_some() => Ok(StoreLocation::File(default_file(&files)?)),
            None => Ok(default_file(&files).map_or_else(
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

    /// Opens the store for a command that only reads. A missing file is not created: it is like an empty store.
    pub(crate) fn open_existing(&self, state: &StateConfig) -> anyhow::Result<Arc<dyn StateStore>> {
        let clock = steady_clock();
        match self {
            StoreLocation::File(file) if !file.exists() => Ok(Arc::new(MemoryStore::new(clock, MAX_MEMORY_RECORDS))),
            location => location.open(state, &clock),
        }
    }

    /// Opens the store. Connections are made later.
    pub(crate) fn open(&self, state: &StateConfig, clock: &Arc<SteadyClock>) -> anyhow::Result<Arc<dyn StateStore>> {
        let store = self.connect(state, clock.clone())?;
        Ok(match state.access {
            StateAccess::Use => store,
            StateAccess::Inspect => Arc::new(InspectedStore(store)),
        })
    }

    fn connect(&self, state: &StateConfig, clock: Arc<SteadyClock>) -> anyhow::Result<Arc<dyn StateStore>> {
        Ok(match self {
            StoreLocation::Memory => Arc::new(MemoryStore::new(clock, MAX_MEMORY_RECORDS)),
            StoreLocation::File(file) => Arc::new(match state.access {
                StateAccess::Use => SqliteStore::new(file, clock)?,
                StateAccess::Inspect => SqliteStore::read_only(file, clock)?,
            }),
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

/// The clock that decides when things expire.
pub(crate) fn steady_clock() -> Arc<SteadyClock> {
    Arc::new(SteadyClock::new(Arc::new(SystemClock)))
}
