//! State across requests, in SQLite or Redis (R-SAF-6).
//!
//! Record versions are random rather than counted. A counter would restart with a new file, or go back with a restored
//! Redis, and an old version could then match a new record.

#[cfg_attr(not(feature = "redis"), path = "no_redis.rs")]
mod redis;
mod redis_settings;
mod sqlite;

#[cfg(feature = "redis")]
pub use redis::RedisStore;
pub use redis::open_redis;
pub use redis_settings::RedisSettings;
pub use sqlite::{SqliteStore, copy_state_file, find_damage};

use aquifer_engine::store::StoreError;

/// A new version: 63 random bits, because SQLite's integers are signed.
fn new_version() -> Result<u64, StoreError> {
    let bits = getrandom::u64().map_err(|_| StoreError("the operating system provides no random numbers".into()))?;
    Ok(bits >> 1)
}
