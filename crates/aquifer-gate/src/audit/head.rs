//! The head of a chain: its last line, stored outside the files, so that write access to the files is not enough to
//! change it.

use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};
use serde::{Deserialize, Serialize};

/// Maximum number of heads read: as many as files.
const MAX_HEADS: usize = 100_000;
/// The key of a head is this prefix and the chain's id.
pub(super) const PREFIX: &str = "audit/head/";
/// How long a head is kept. Longer than the files.
pub(super) const HEAD_TTL: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);
/// How long the head of a dropped chain is kept.
const DROPPED_HEAD_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Maximum number of attempts to update a head. Other processes change it only when they drop files of the chain.
const MAX_ATTEMPTS: usize = 8;

/// The last line of a chain, and the chain's current beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The chain.
    pub chain: String,
    /// The number of its last line.
    pub sequence: u64,
    /// The hash of its last line.
    pub hash: String,
    /// The file that contains this line, if there are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The chain's beginning, if its oldest files were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<Beginning>,
}

/// The beginning of a chain whose oldest files were dropped to save space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// The chain.
    pub chain: String,
    /// The number of the first line that is kept, or the number after the last line if none is.
    pub sequence: u64,
    /// The hash of the line before it.
    #[serde(default)]
    pub previous: String,
    /// Whether all files of the chain were dropped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// All heads in a store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heads {
    /// The readable heads.
    pub known: Vec<Head>,
    /// The chains whose heads are unreadable.
    pub unreadable: Vec<String>,
}

impl Heads {
    /// Adds the record under this key.
    fn add(&mut self, key: &str, value: &[u8]) {
        let chain = key.strip_prefix(PREFIX).unwrap_or(key);
        match serde_json::from_slice::<Head>(value) {
            Ok(head) if head.chain == chain => self.known.push(head),
            _ => self.unreadable.push(chain.to_owned()),
        }
    }

    /// Reads all heads.
    pub async fn load(store: &dyn StateStore) -> Result<Self, StoreError> {
        let mut heads = Self::default();
        for (key, record) in store.list(PREFIX, MAX_HEADS).await? {
            heads.add(&key, &record.value);
        }
        Ok(heads)
    }
}

fn key(chain: &str) -> String {
    format!("{PREFIX}{chain}")
}

/// Advances the head. A chain has one writer, so a head that is already further ahead was written by someone else.
pub(super) async fn advance(store: &dyn StateStore, head: &Head, keep: Duration) -> Result<(), StoreError> {
    update(store, &head.chain, keep, |old| {
        let Some(old) = old else { return Ok(Some(head.clone())) };
        if old.sequence > head.sequence {
            return Err(StoreError(format!("another process wrote the head of audit chain {}", head.chain)));
        }
        let beginning = later_of(old.beginning, head.beginning.clone());
        Ok(Some(Head { beginning, ..head.clone() }))
    })
    .await
}

/// Sets the beginning of a chain. Does nothing if the chain has no head.
pub(super) async fn set_beginning(store: &dyn StateStore, beginning: &Beginning) -> Result<(), StoreError> {
    let keep = if beginning.gone { DROPPED_HEAD_TTL } else { HEAD_TTL };
    update(store, &beginning.chain, keep, |old| {
        Ok(old.map(|old| Head { beginning: later_of(old.beginning.clone(), Some(beginning.clone())), ..old }))
    })
    .await
}

fn later_of(one: Option<Beginning>, other: Option<Beginning>) -> Option<Beginning> {
    match (one, other) {
        (Some(one), Some(other)) if one.sequence > other.sequence => Some(one),
        (one, other) => other.or(one),
    }
}

async fn update(
    store: &dyn StateStore,
    chain: &str,
    keep: Duration,
    next: impl Fn(Option<Head>) -> Result<Option<Head>, StoreError>,
) -> Result<(), StoreError> {
    let key = key(chain);
    for _ in 0..MAX_ATTEMPTS {
        let record = store.get(&key).await?;
        // An unreadable head is replaced, so that at least later lines can be verified.
        let old = record.as_ref().and_then(|record| serde_json::from_slice::<Head>(&record.value).ok());
        let Some(new) = next(old)? else { return Ok(()) };
        let value = serde_json::to_vec(&new).map_err(|error| StoreError(error.to_string()))?;
        if store.compare_and_set(&key, record.map(|record| record.version), value, keep).await? {
            return Ok(());
        }
    }
    Err(StoreError(format!("other processes keep changing the head of audit chain {chain}")))
}
