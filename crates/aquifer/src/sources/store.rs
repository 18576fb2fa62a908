//! The state store that sources use: one per process, opened when the first source needs it. It contains the pinned
//! definitions of MCP servers and the names of tables.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use aquifer_engine::clock::SystemClock;
use aquifer_engine::store::{MemoryStore, StateStore};

use super::OnUnreachable;
use crate::config::StateConfig;
use crate::state::{self, StoreLocation};

/// Set for a server that is started only for measurements. It pins nothing.
pub(crate) const INSPECT_ONLY: &str = "AQUIFER_LOOK_ONLY";

/// Maximum number of records without a persistent store.
const MAX_IN_MEMORY: usize = 10_000;

/// Whether the process only inspects sources and serves nobody.
pub(super) fn is_inspection(on_unreachable: OnUnreachable) -> bool {
    matches!(on_unreachable, OnUnreachable::Fail | OnUnreachable::ShowCached)
        || std::env::var_os(INSPECT_ONLY).is_some()
}

/// Whether a cache in the state directory may be written. Inspecting sources does not create the directory.
pub(super) fn may_write(cache: &Path, on_unreachable: OnUnreachable) -> bool {
    !is_inspection(on_unreachable) || cache.parent().is_some_and(Path::exists)
}

/// The store of this process. Its location does not change while the process runs.
pub(super) fn open(state: &StateConfig) -> Arc<dyn StateStore> {
    static STORE: OnceLock<Arc<dyn StateStore>> = OnceLock::new();
    STORE.get_or_init(|| open_configured(state)).clone()
}

/// The store for inspection. A missing store is not created.
pub(super) fn open_for_inspection(state: &StateConfig) -> Arc<dyn StateStore> {
    let is_missing = |file: &Path| !file.exists();
    match StoreLocation::find(state) {
        Ok(StoreLocation::File(file)) if is_missing(&file) => in_memory(),
        _ => open(state),
    }
}

fn open_configured(state: &StateConfig) -> Arc<dyn StateStore> {
    StoreLocation::new(state).and_then(|location| location.open(state, &state::steady_clock())).unwrap_or_else(
        |error| {
            tracing::error!("accepted definitions and table names are kept in memory and lost on exit: {error:#}");
            in_memory()
        },
    )
}

fn in_memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::new(Arc::new(SystemClock), MAX_IN_MEMORY))
}
