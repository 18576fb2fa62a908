//! The store that remembers what tables are called: the one that the gate keeps its state in. Opened when a database is,
//! and once for all of them.

use std::sync::{Arc, OnceLock};

use aquifer_engine::store::StateStore;

use super::{Kind, Plans};
use crate::config::StateConfig;
use crate::safety::Place;
use crate::state::Kept;

/// Where the store is, and the store once somebody has needed it.
#[derive(Clone)]
pub(super) struct NamesStore {
    state: StateConfig,
    opened: Arc<OnceLock<Option<Arc<dyn StateStore>>>>,
}

impl NamesStore {
    /// The store. Without one, names are given anew at every start.
    pub(super) fn open(&self) -> Option<Arc<dyn StateStore>> {
        self.opened.get_or_init(|| open(&self.state)).clone()
    }
}

fn open(state: &StateConfig) -> Option<Arc<dyn StateStore>> {
    if state.store.is_none() && Kept::of(state).store().is_none() {
        return None;
    }
    let opened = Place::of(state).and_then(|place| match place {
        Place::Memory => Ok(None),
        place => place.open(state).map(Some),
    });
    opened.unwrap_or_else(|error| {
        tracing::warn!("the names of tables are not remembered: {error:#}");
        None
    })
}

impl Plans {
    /// Has databases remember what their tables are called.
    pub(crate) fn remember_names(&mut self, state: &StateConfig) {
        let store = NamesStore { state: state.clone(), opened: Arc::default() };
        for plan in &mut self.plans {
            if let Kind::Database(_, names) = &mut plan.kind {
                *names = Some(store.clone());
            }
        }
    }
}
