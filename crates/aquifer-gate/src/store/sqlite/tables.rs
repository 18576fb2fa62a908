//! The tables of the state file, and the statements that read and change them.

use std::time::Duration;

use aquifer_engine::store::{HIGH_WATER, HighWater, Record, SpendResult, Window};
use rusqlite::{Connection, OptionalExtension, Result, Transaction, TransactionBehavior, params};

/// SQLite's application id of our files ("Aqst"), which distinguishes them from other databases.
pub(super) const APPLICATION_ID: i64 = 0x4171_7374;
/// The version of the tables.
pub(super) const SCHEMA_VERSION: i64 = 1;

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS records (
        key TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, version INTEGER NOT NULL, until INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS records_until ON records (until);
    CREATE TABLE IF NOT EXISTS spent (
        key TEXT NOT NULL, width INTEGER NOT NULL, bucket INTEGER NOT NULL, amount INTEGER NOT NULL,
        until INTEGER NOT NULL, PRIMARY KEY (key, width, bucket)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS spent_until ON spent (until);
";

/// Maximum number of expired rows removed at once, so that no call waits long.
const SWEEP_BATCH: usize = 1000;
/// How long expired rows are kept, in milliseconds, because the clocks of other processes may be behind.
const SWEEP_GRACE_MS: u64 = 600_000;

/// The start of the year 2200 in milliseconds. A later time comes from a broken clock and is overwritten.
const MAX_TIME_MS: u64 = 7_258_118_400_000;

/// Which application created the file.
pub(super) enum Owner {
    Ours,
    /// The file is empty.
    Empty,
    /// A newer version of Aquifer.
    NewerVersion,
    Other,
}

pub(super) fn owner(connection: &Connection) -> Result<Owner> {
    // One transaction, because another process may be creating the tables.
    let transaction = connection.unchecked_transaction()?;
    let number = |pragma: &str| transaction.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let objects: i64 = transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(match (number("application_id")?, number("user_version")?) {
        (APPLICATION_ID, SCHEMA_VERSION) => Owner::Ours,
        (APPLICATION_ID, _) => Owner::NewerVersion,
        (0, 0) if objects == 0 => Owner::Empty,
        _ => Owner::Other,
    })
}

/// Creates the tables. Several processes may do this at once.
pub(super) fn create(connection: &mut Connection) -> Result<()> {
    let change = begin(connection)?;
    change.execute_batch(TABLES)?;
    change.pragma_update(None, "application_id", APPLICATION_ID)?;
    change.pragma_update(None, "user_version", SCHEMA_VERSION)?;
    change.commit()
}

/// Takes the write lock immediately: a transaction that starts with a read could fail to get it later.
fn begin(connection: &mut Connection) -> Result<Transaction<'_>> {
    connection.transaction_with_behavior(TransactionBehavior::Immediate)
}

/// The latest time at which the file was used; zero if there is none.
pub(super) fn high_water(connection: &Connection) -> Result<u64> {
    let mut statement = connection.prepare_cached("SELECT value FROM records WHERE key = ?1")?;
    let value: Option<Vec<u8>> = statement.query_row([HIGH_WATER], |row| row.get(0)).optional()?;
    Ok(value.map_or(0, |value| HighWater::parse(&value)))
}

/// Writes the time, unless another process has written a later one. The time also serves as the record's version, so
/// versions never repeat.
pub(super) fn write_high_water(connection: &Connection, now: u64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (key, value, version, until) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE \
             SET value = excluded.value, version = excluded.version, until = excluded.until \
             WHERE version < excluded.version OR version >= ?5",
        )?
        .execute(params![HIGH_WATER, now.to_string().into_bytes(), now, i64::MAX, MAX_TIME_MS])?;
    Ok(())
}

pub(super) fn get(connection: &Connection, now: u64, key: &str) -> Result<Option<Record>> {
    let mut statement =
        connection.prepare_cached("SELECT value, version FROM records WHERE key = ?1 AND until > ?2")?;
    statement.query_row(params![key, now], |row| Ok(Record { value: row.get(0)?, version: row.get(1)? })).optional()
}

pub(super) fn compare_and_set(
    connection: &mut Connection,
    now: u64,
    key: &str,
    expected: Option<u64>,
    record: &Record,
    keep: Duration,
) -> Result<bool> {
    let change = begin(connection)?;
    let present: Option<u64> = change
        .prepare_cached("SELECT version FROM records WHERE key = ?1 AND until > ?2")?
        .query_row(params![key, now], |row| row.get(0))
        .optional()?;
    if present != expected {
        return Ok(false);
    }
    change
        .prepare_cached(
            "INSERT INTO records (key, value, version, until) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO UPDATE \
             SET value = excluded.value, version = excluded.version, until = excluded.until",
        )?
        .execute(params![key, record.value, record.version, saturating_add(now, keep)])?;
    write_high_water(&change, now)?;
    change.commit()?;
    Ok(true)
}

pub(super) fn list(connection: &Connection, now: u64, prefix: &str, limit: usize) -> Result<Vec<(String, Record)>> {
    let mut statement = connection
        .prepare_cached("SELECT key, value, version FROM records WHERE key >= ?1 AND until > ?2 ORDER BY key")?;
    let mut rows = statement.query(params![prefix, now])?;
    let mut records = Vec::new();
    while records.len() < limit {
        let Some(row) = rows.next()? else { break };
        let key: String = row.get(0)?;
        if !key.starts_with(prefix) {
            break;
        }
        records.push((key, Record { value: row.get(1)?, version: row.get(2)? }));
    }
    Ok(records)
}

/// Reads the amount spent.
pub(super) fn spent(connection: &Connection, now: u64, key: &str, limit: u64, window: Window) -> Result<SpendResult> {
    Ok(window.check(&buckets(connection, now, key, window)?, now, 0, limit))
}

pub(super) fn spend(
    connection: &mut Connection,
    now: u64,
    key: &str,
    amount: u64,
    limit: u64,
    window: Window,
) -> Result<SpendResult> {
    let change = begin(connection)?;
    let judged = window.check(&buckets(&change, now, key, window)?, now, amount, limit);
    if judged.accepted {
        let (bucket, living) = (window.bucket(now), window.live_buckets(now));
        change
            .prepare_cached("DELETE FROM spent WHERE key = ?1 AND width = ?2 AND bucket NOT BETWEEN ?3 AND ?4")?
            .execute(params![key, window.width(), living.start(), living.end()])?;
        change
            .prepare_cached(
                "INSERT INTO spent (key, width, bucket, amount, until) VALUES (?1, ?2, ?3, ?4, ?5) \
                 ON CONFLICT (key, width, bucket) DO UPDATE SET amount = amount + excluded.amount",
            )?
            .execute(params![key, window.width(), bucket, amount, window.expiry(bucket)])?;
        write_high_water(&change, now)?;
        change.commit()?;
    }
    Ok(judged)
}

fn buckets(connection: &Connection, now: u64, key: &str, window: Window) -> Result<Vec<(u64, u64)>> {
    let living = window.live_buckets(now);
    connection
        .prepare_cached(
            "SELECT bucket, amount FROM spent WHERE key = ?1 AND width = ?2 AND bucket BETWEEN ?3 AND ?4 \
             ORDER BY bucket",
        )?
        .query_map(params![key, window.width(), living.start(), living.end()], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Removes a bounded number of expired rows. Returns whether none is left.
pub(super) fn sweep(connection: &mut Connection, now: u64) -> Result<bool> {
    let expired = now.saturating_sub(SWEEP_GRACE_MS);
    let change = begin(connection)?;
    let records = change.execute(
        "DELETE FROM records WHERE rowid IN (SELECT rowid FROM records WHERE until <= ?1 ORDER BY until LIMIT ?2)",
        params![expired, SWEEP_BATCH],
    )?;
    let spent = change.execute(
        "DELETE FROM spent WHERE (key, width, bucket) IN \
         (SELECT key, width, bucket FROM spent WHERE until <= ?1 ORDER BY until LIMIT ?2)",
        params![expired, SWEEP_BATCH],
    )?;
    change.commit()?;
    Ok(records < SWEEP_BATCH && spent < SWEEP_BATCH)
}

/// Adds a duration, saturating at SQLite's largest integer.
fn saturating_add(now: u64, keep: Duration) -> u64 {
    let keep = u64::try_from(keep.as_millis()).unwrap_or(u64::MAX);
    now.saturating_add(keep).min(i64::MAX.unsigned_abs())
}
