//! State in Redis, shared by several processes on several machines.
//!
//! Every atomic step is a script. The time is the latest that any process has reported, so the machines' clocks need
//! not agree; Redis's own clock only removes expired keys. Durability is up to the operator of Redis: without
//! `appendonly yes` a crash may make a redeemed token valid again, and with an eviction policy that covers these keys,
//! records may be lost before they expire.

mod connection;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{SteadyClock, SystemClock};
use aquifer_engine::store::{
    HIGH_WATER, HighWater, MAX_VALUE_BYTES, Record, SpendResult, StateStore, StoreError, Window,
};
use futures::future::{BoxFuture, FutureExt};
use redis::aio::MultiplexedConnection;
use redis::{Client, IntoConnectionInfo, RedisResult, Script, TlsCertificates};

use connection::RedisConnection;

use super::{RedisSettings, new_version};

/// The number of keys per `SCAN` step.
const SCAN_COUNT: usize = 1000;
/// Maximum time to live: a hundred years.
const MAX_TTL_MS: u64 = 100 * 365 * 24 * 3600 * 1000;

/// A script that starts by reading the time.
macro_rules! script {
    ($file:literal) => {
        Script::new(concat!(include_str!("redis/high_water.lua"), include_str!($file)))
    };
}

/// State in Redis.
pub struct RedisStore {
    connection: RedisConnection,
    prefix: String,
    time: HighWater,
    get: Script,
    compare_and_set: Script,
    spend: Script,
}

impl RedisStore {
    /// Creates a store at this address. Connects on the first call, which reports errors.
    pub fn new(settings: &RedisSettings) -> Result<Self, StoreError> {
        let unusable = |_| {
            StoreError(
                "this is not a Redis URL: redis://[USER:PASSWORD@]HOST:PORT/DATABASE, or rediss:// for TLS".into(),
            )
        };
        let info = settings.url.as_str().into_connection_info().map_err(unusable)?;
        aquifer_net::install_tls_provider();
        let client = match &settings.authorities {
            None => Client::open(info).map_err(unusable)?,
            Some(pem) => {
                let certificates = TlsCertificates { client_tls: None, root_cert: Some(pem.clone()) };
                Client::build_with_tls(info, certificates).map_err(|_| {
                    StoreError(
                        "the certificates for Redis cannot be read, or the URL does not begin with rediss://".into(),
                    )
                })?
            }
        };
        Ok(Self {
            connection: RedisConnection::new(client),
            prefix: settings.prefix.clone(),
            time: HighWater::new(Arc::new(SteadyClock::new(Arc::new(SystemClock)))),
            get: script!("redis/get.lua"),
            compare_and_set: script!("redis/compare_and_set.lua"),
            spend: script!("redis/spend.lua"),
        })
    }

    /// Uses this shared clock instead of its own.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<SteadyClock>) -> Self {
        self.time = HighWater::new(clock);
        self
    }

    fn record_key(&self, key: &str) -> String {
        format!("{}record:{key}", self.prefix)
    }

    fn spent_key(&self, key: &str, window: Window) -> String {
        format!("{}spent:{}:{key}", self.prefix, window.width())
    }
}

/// Opens a store in Redis. It connects on the first call.
pub fn open_redis(settings: &RedisSettings, clock: Arc<SteadyClock>) -> Result<Arc<dyn StateStore>, StoreError> {
    Ok(Arc::new(RedisStore::new(settings)?.with_clock(clock)))
}

impl StateStore for RedisStore {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Record>, StoreError>> {
        async move {
            let mut script = self.get.key(self.record_key(key));
            script.key(self.record_key(HIGH_WATER)).arg(self.time.now());
            let reply: (Option<Vec<u8>>, Option<u64>, u64) = self
                .connection
                .run(async |connection: &mut MultiplexedConnection| script.invoke_async(connection).await)
                .await?;
            let (value, version, now) = reply;
            self.time.now_after(now);
            Ok(value.zip(version).map(|(value, version)| Record { value, version }))
        }
        .boxed()
    }

    fn compare_and_set<'a>(
        &'a self,
        key: &'a str,
        expected: Option<u64>,
        value: Vec<u8>,
        keep: Duration,
    ) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            if value.len() > MAX_VALUE_BYTES {
                return Err(StoreError::too_large(value.len()));
            }
            let keep = u64::try_from(keep.as_millis()).unwrap_or(MAX_TTL_MS).clamp(1, MAX_TTL_MS);
            let expected = expected.map(|version| version.to_string()).unwrap_or_default();
            let mut script = self.compare_and_set.key(self.record_key(key));
            script.key(self.record_key(HIGH_WATER));
            script.arg(expected).arg(new_version()?).arg(value).arg(keep).arg(self.time.now());
            let (written, now): (bool, u64) = self
                .connection
                .run(async |connection: &mut MultiplexedConnection| script.invoke_async(connection).await)
                .await?;
            self.time.now_after(now);
            Ok(written)
        }
        .boxed()
    }

    fn list<'a>(&'a self, prefix: &'a str, limit: usize) -> BoxFuture<'a, Result<Vec<(String, Record)>, StoreError>> {
        async move {
            let begin = self.record_key(prefix);
            let records = self.connection.run(async |connection: &mut MultiplexedConnection| {
                let mut records = Vec::new();
                for key in scan_keys(connection, &begin, limit).await? {
                    // Skip records that have expired meanwhile.
                    if let Some(record) = read_record(connection, &key).await? {
                        records.push((key, record));
                    }
                }
                Ok(records)
            });
            let own = self.record_key("");
            let records = records.await?.into_iter();
            Ok(records.filter_map(|(key, record)| Some((key.strip_prefix(&own)?.to_owned(), record))).collect())
        }
        .boxed()
    }

    fn spend<'a>(
        &'a self,
        key: &'a str,
        amount: u64,
        limit: u64,
        window: Duration,
    ) -> BoxFuture<'a, Result<SpendResult, StoreError>> {
        async move {
            let window = Window::new(window);
            // The script can represent the maximum plus one, which is refused like any larger amount.
            let (amount, limit) = (amount.min(Window::MAX_AMOUNT + 1), limit.min(Window::MAX_AMOUNT));
            let mut script = self.spend.key(self.spent_key(key, window));
            script.key(self.record_key(HIGH_WATER));
            script.arg(window.width()).arg(amount).arg(limit).arg(self.time.now());
            let reply: (bool, u64, i64, u64) = self
                .connection
                .run(async |connection: &mut MultiplexedConnection| script.invoke_async(connection).await)
                .await?;
            let (accepted, total, retry_after, now) = reply;
            self.time.now_after(now);
            let retry_after = u64::try_from(retry_after).map_or(Duration::MAX, Duration::from_millis);
            Ok(SpendResult { accepted, total, retry_after })
        }
        .boxed()
    }
}

async fn read_record(connection: &mut MultiplexedConnection, key: &str) -> RedisResult<Option<Record>> {
    let mut command = redis::cmd("HMGET");
    command.arg(key).arg("value").arg("version");
    let (value, version): (Option<Vec<u8>>, Option<u64>) = command.query_async(connection).await?;
    Ok(value.zip(version).map(|(value, version)| Record { value, version }))
}

/// The first keys with this prefix. Scans the whole database, so it is only for administration, not for calls.
async fn scan_keys(connection: &mut MultiplexedConnection, begin: &str, limit: usize) -> RedisResult<BTreeSet<String>> {
    let pattern = format!("{}*", escape_pattern(begin));
    let mut first = BTreeSet::new();
    let mut cursor = 0_u64;
    loop {
        let mut command = redis::cmd("SCAN");
        command.arg(cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(SCAN_COUNT);
        let (next, keys): (u64, Vec<String>) = command.query_async(connection).await?;
        for key in keys {
            first.insert(key);
            if first.len() > limit {
                first.pop_last();
            }
        }
        cursor = next;
        if cursor == 0 {
            return Ok(first);
        }
    }
}

/// Escapes a glob pattern so that it matches only itself.
fn escape_pattern(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '*' | '?' | '[' | ']' | '\\' | '^' | '-') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}
