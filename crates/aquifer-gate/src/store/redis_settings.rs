//! How to connect to Redis.

use std::fmt;

/// How to connect to Redis.
#[derive(Clone)]
pub struct RedisSettings {
    /// `redis://[USER:PASSWORD@]HOST:PORT/DATABASE`, or `rediss://` for TLS.
    pub url: String,
    /// The prefix of every key, so that others can use the same Redis.
    pub prefix: String,
    /// Certificate authorities in PEM, instead of the system's.
    pub authorities: Option<Vec<u8>>,
}

impl RedisSettings {
    /// The Redis at this URL, with keys that begin with `aquifer:`.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), prefix: "aquifer:".into(), authorities: None }
    }
}

impl fmt::Debug for RedisSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The URL may have a password in it.
        f.debug_struct("RedisSettings").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
