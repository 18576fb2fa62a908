//! Reads entries from a state store.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use aquifer_engine::store::{StateStore, StoreError};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use jiff::Timestamp;

use super::EntryQuery;
use super::cursor::Cursor;
use super::page::{EntryPage, PageBuilder, Progress, time};
use crate::audit::head::{Head, Heads};
use crate::audit::store_sink;
use crate::timeout::with_timeout;

/// How many chains are looked up at the same time.
const CONCURRENT_CHAINS: usize = 16;

/// Maximum number of entries that are examined for a page.
const MAX_EXAMINED: usize = 20_000;

/// The newest entries in a store, as far as the heads of their chains reach.
pub async fn read_store(store: &dyn StateStore, query: &EntryQuery) -> Result<EntryPage, StoreError> {
    let end = query.end();
    let heads = Heads::load(store).await?;
    let chains =
        stream::iter(heads.known).map(|head| Chain::open(store, head, &end)).buffer_unordered(CONCURRENT_CHAINS);
    let chains: Vec<Option<Chain>> = chains.try_collect().await?;
    let mut chains: BinaryHeap<Chain> = chains.into_iter().flatten().collect();
    let mut page = PageBuilder::new(query);
    let mut examined = 0;
    while let Some(mut chain) = chains.pop() {
        let progress = page.add(chain.position.time, &chain.line);
        if progress == Progress::Over {
            break;
        }
        examined += 1;
        let position = chain.position.clone();
        if chain.advance(store).await? {
            chains.push(chain);
        }
        if progress == Progress::Full || examined >= MAX_EXAMINED {
            return Ok(page.finish((!chains.is_empty()).then_some(position)));
        }
    }
    Ok(page.finish(None))
}

/// A chain and its newest entry that was not read yet.
struct Chain {
    position: Cursor,
    line: Vec<u8>,
}

impl Chain {
    /// Opens a chain at its newest entry before `end`. `None` if there is none, or if all have expired.
    async fn open(store: &dyn StateStore, head: Head, end: &Cursor) -> Result<Option<Self>, StoreError> {
        let is_same = head.chain == end.place;
        let (time, index) = match is_same {
            true => (end.time, end.index.min(head.sequence.saturating_add(1))),
            false => (Timestamp::MAX, head.sequence.saturating_add(1)),
        };
        let mut chain = Self { position: Cursor { time, place: head.chain, index }, line: Vec::new() };
        while chain.advance(store).await? {
            if chain.position < *end {
                return Ok(Some(chain));
            }
        }
        Ok(None)
    }

    /// Goes to the entry before this one. Returns whether there is one. As in files, an entry never counts as newer than
    /// those after it.
    async fn advance(&mut self, store: &dyn StateStore) -> Result<bool, StoreError> {
        while self.position.index > 1 {
            self.position.index -= 1;
            let key = store_sink::key(&self.position.place, self.position.index);
            // Entries expire in order, so those before a missing one are gone, too.
            let Some(record) = with_timeout(store.get(&key)).await? else { return Ok(false) };
            if let Some(time) = time(&record.value) {
                self.position.time = time.min(self.position.time);
                self.line = record.value;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl PartialEq for Chain {
    fn eq(&self, other: &Self) -> bool {
        self.position == other.position
    }
}

impl Eq for Chain {}

impl PartialOrd for Chain {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Chain {
    fn cmp(&self, other: &Self) -> Ordering {
        self.position.cmp(&other.position)
    }
}
