//! Connection settings for Redis.

use std::fmt;

/// Connection settings for Redis.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://[USER:PASSWORD@]HOST:PORT/DATABASE`, or `rediss://` for TLS.
    pub url: String,
    /// The prefix of every key, so that other applications can use the same Redis.
    pub prefix: String,
    /// Certificate authorities in PEM, instead of the system's.
    pub authorities: Option<Vec<u8>>,
}

impl RedisSettings {
    /// Settings for the Redis at this URL, with the key prefix `aquifer:`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), prefix: "aquifer:".into(), authorities: None }
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may contain a password.
        f.debug_struct("RedisSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
