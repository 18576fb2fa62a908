//! A store that is only read, for commands that change nothing.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::{Record, SpendResult, StateStore, StoreError};
use futures::future::{BoxFuture, FutureExt, ready};

/// Reads another store, and drops what is written to it: whoever writes there only remembers something for later.
pub(super) struct InspectedStore(pub(super) Arc<dyn StateStore>);

impl StateStore for InspectedStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        self.0.get(key)
    }

    fn compare_and_set<'a>(
        &'a self,
        _: &'a str,
        _: Option<u64>,
        _: Vec<u8>,
        _: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(Ok(true)).boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        self.0.list(prefix, limit)
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        _: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        self.0.spend(key, 0, limit, window)
    }

    fn outlives_process(&self) -> bool {
        self.0.outlives_process()
    }
}
