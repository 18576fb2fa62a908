//! State that outlives a request: in SQLite, in Redis (R-SAF-6).
//!
//! Versions are drawn by chance instead of counted. A counter would begin anew with a file that was made anew, or go
//! back with a Redis that was restored, and a version from before would then fit a record from after.

mod redis;
mod sqlite;

pub use redis::{RedisSettings, RedisStore};
pub use sqlite::SqliteStore;

use aquifer_engine::store::StoreError;

/// A version that was not there before: 63 bits of chance, since SQLite's integers have a sign.
fn new_version() -> Result<u64, StoreError> {
    let bits = getrandom::u64().map_err(|_| StoreError("the operating system has no randomness to give".into()))?;
    Ok(bits >> 1)
}
