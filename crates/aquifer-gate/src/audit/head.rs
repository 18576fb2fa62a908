//! The head of a chain: its last line, kept where whoever can write the files need not be able to write.

use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};
use serde::{Deserialize, Serialize};

/// Heads read at once: as many as files are.
const MAX_HEADS: usize = 100_000;
/// Heads stand under this and their chain's id.
pub(super) const PREFIX: &str = "audit/head/";
/// How long a head is kept: longer than anybody keeps files.
pub(super) const HEAD_TTL: Duration = Duration::from_secs(10 * 366 * 24 * 60 * 60);
/// How long it is remembered that a chain was dropped on purpose.
const DROPPED_HEAD_TTL: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Others write a head only when they drop a chain's files, so this many attempts are plenty.
const MAX_ATTEMPTS: usize = 8;

/// The last line of a chain, and where the chain begins by now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The chain.
    pub chain: String,
    /// The number of its last line.
    pub sequence: u64,
    /// The hash of its last line.
    pub hash: String,
    /// The file that line is in, where there are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Where the chain begins, once its oldest files were dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beginning: Option<Beginning>,
}

/// Where a chain begins since files of it were dropped to save space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Beginning {
    /// The chain.
    pub chain: String,
    /// The number of the first line that is kept; the one after the last if none is.
    pub sequence: u64,
    /// The hash of the line before.
    #[serde(default)]
    pub previous: String,
    /// Whether nothing of the chain is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub gone: bool,
}

/// All heads that a store knows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heads {
    /// Those that can be read.
    pub known: Vec<Head>,
    /// The chains whose heads cannot.
    pub unreadable: Vec<String>,
}

impl Heads {
    /// Adds what stands in the store under a head's key.
    fn add(&mut self, key: &str, value: &[u8]) {
        let chain = key.strip_prefix(PREFIX).unwrap_or(key);
        match serde_json::from_slice::<Head>(value) {
            Ok(head) if head.chain == chain => self.known.push(head),
            _ => self.unreadable.push(chain.to_owned()),
        }
    }

    /// All heads, as the store has them now.
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

/// Moves the head on. Never back: a head that is further already was not written by this chain's only writer.
pub(super) async fn advance(store: &dyn StateStore, head: &Head, keep: Duration) -> Result<(), StoreError> {
    update(store, &head.chain, keep, |old| {
        let Some(old) = old else { return Ok(Some(head.clone())) };
        if old.sequence > head.sequence {
            return Err(StoreError(format!("the head of audit chain {} is not ours", head.chain)));
        }
        let beginning = later_of(old.beginning, head.beginning.clone());
        Ok(Some(Head { beginning, ..head.clone() }))
    })
    .await
}

/// Notes that a chain begins later from now on. A chain without a head has none to note it in.
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
        // What cannot be read is written over: the verification of this moment on is better than none.
        let old = record.as_ref().and_then(|record| serde_json::from_slice::<Head>(&record.value).ok());
        let Some(new) = next(old)? else { return Ok(()) };
        let value = serde_json::to_vec(&new).map_err(|error| StoreError(error.to_string()))?;
        if store.compare_and_set(&key, record.map(|record| record.version), value, keep).await? {
            return Ok(());
        }
    }
    Err(StoreError(format!("the head of audit chain {chain} is being changed by others")))
}
