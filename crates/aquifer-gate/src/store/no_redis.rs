//! Replaces Redis support in builds without the feature `redis`.

use std::sync::Arc;

use aquifer_engine::clock::SteadyClock;
use aquifer_engine::store::{StateStore, StoreError};

use super::RedisSettings;

/// Fails: this build has no Redis support.
pub fn open_redis(_settings: &RedisSettings, _clock: Arc<SteadyClock>) -> Result<Arc<dyn StateStore>, StoreError> {
    Err(StoreError("this build has no Redis support: it was compiled without the feature 'redis'".into()))
}
