//! Results held for later pages. They are bounded in bytes, number and time, and dropped with their session.
//!
//! A held result is found only through a sealed cursor, or through the same call of its owner. Losing one costs one
//! call to the source, so the least recently used is dropped first.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Settings;
use crate::clock::SharedClock;
use crate::store::StateStore;

/// The content of a held result.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum HeldContent {
    Rows(HeldRows),
    Text(String),
}

/// Rows of a result, and where the list continues at its source.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
pub(super) struct HeldRows {
    pub(super) rows: Vec<Value>,
    pub(super) next_page: Option<Value>,
    /// Whether the source may have more rows, which cannot be fetched.
    #[serde(default)]
    pub(super) is_partial: bool,
    /// Whether rows may contain numbers that are held as text, so that they keep all digits.
    #[serde(default)]
    pub(super) may_hold_exact: bool,
    /// Digests of the positions at the source that were fetched.
    #[serde(default)]
    pub(super) fetched: Vec<u64>,
}

impl HeldContent {
    /// The approximate size in memory.
    fn bytes(&self) -> usize {
        match self {
            HeldContent::Rows(held) => held.rows.iter().map(aquifer_query::value::memory_size).sum(),
            HeldContent::Text(text) => text.len(),
        }
    }
}

struct Entry {
    content: Arc<HeldContent>,
    bytes: usize,
    until: Timestamp,
    used: u64,
    session: Option<Arc<str>>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<String, Entry>,
    bytes: usize,
    clock: u64,
}

impl Inner {
    fn remove(&mut self, id: &str) {
        if let Some(entry) = self.entries.remove(id) {
            self.bytes -= entry.bytes;
        }
    }

    fn remove_where(&mut self, is_removed: impl Fn(&Entry) -> bool) {
        let ids: Vec<String> =
            self.entries.iter().filter(|(_, entry)| is_removed(entry)).map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.remove(id));
    }
}

/// Results held for later pages.
pub(super) struct HeldResults {
    clock: SharedClock,
    store: Arc<dyn StateStore>,
    settings: Settings,
    inner: Mutex<Inner>,
}

impl HeldResults {
    pub(super) fn new(clock: SharedClock, store: Arc<dyn StateStore>, settings: Settings) -> Self {
        Self { clock, store, settings, inner: Mutex::default() }
    }

    fn with_inner<T>(&self, act: impl FnOnce(&mut Inner, Timestamp) -> T) -> T {
        let now = self.clock.now();
        // Entries are inserted and removed as a whole. After a panic the byte count may be off by one entry.
        let mut inner = self.inner.lock();
        act(&mut inner, now)
    }

    /// Whether the rows are small enough to be held.
    pub(super) fn has_room_for(&self, rows: &[Value]) -> bool {
        self.has_room(rows.iter().map(aquifer_query::value::memory_size).sum())
    }

    /// Whether the text is short enough to be held.
    pub(super) fn has_room_for_text(&self, text: &str) -> bool {
        self.has_room(text.len())
    }

    fn has_room(&self, bytes: usize) -> bool {
        bytes <= self.settings.max_result_bytes.min(self.settings.max_held_bytes) && self.settings.max_held > 0
    }

    /// Holds a result and drops others to make room.
    pub(super) async fn insert(&self, id: &str, content: Arc<HeldContent>, session: Option<Arc<str>>) {
        if self.store.outlives_process() {
            self.store_result(id, &content).await;
        }
        let bytes = content.bytes();
        self.with_inner(|inner, now| {
            inner.remove(id);
            inner.remove_where(|entry| entry.until <= now);
            while inner.entries.len() >= self.settings.max_held
                || inner.bytes.saturating_add(bytes) > self.settings.max_held_bytes
            {
                let Some(first) = inner.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone())
                else {
                    return;
                };
                inner.remove(&first);
            }
            inner.clock += 1;
            inner.bytes += bytes;
            let until = now.saturating_add(self.settings.ttl).unwrap_or(Timestamp::MAX);
            let entry = Entry { content, bytes, until, used: inner.clock, session };
            inner.entries.insert(id.to_owned(), entry);
        });
    }

    /// A result that is still held.
    pub(super) async fn get(&self, id: &str) -> Option<Arc<HeldContent>> {
        let local = self.with_inner(|inner, now| {
            inner.clock += 1;
            let clock = inner.clock;
            let entry = inner.entries.get_mut(id).filter(|entry| entry.until > now)?;
            entry.used = clock;
            Some(entry.content.clone())
        });
        if local.is_some() || !self.store.outlives_process() {
            return local;
        }
        let record = self.store.get(&store_key(id)).await.ok()??;
        let stored: StoredResult = serde_json::from_slice(&record.value).ok()?;
        (stored.until > self.clock.now()).then(|| Arc::new(stored.content))
    }

    /// Writes a small result to the state store for other processes. If that fails, this process still has it.
    async fn store_result(&self, id: &str, content: &HeldContent) {
        if content.bytes() > self.settings.max_stored_bytes {
            return;
        }
        let until = self.clock.now().saturating_add(self.settings.ttl).unwrap_or(Timestamp::MAX);
        let Ok(bytes) = serde_json::to_vec(&StoredResultRef { until, content }) else { return };
        // The store keeps the record a little longer than its own expiry.
        let ttl = self.settings.ttl.saturating_add(Duration::from_secs(60));
        let key = store_key(id);
        let version = self.store.get(&key).await.ok().flatten().map(|record| record.version);
        if let Err(error) = self.store.compare_and_set(&key, version, bytes, ttl).await {
            tracing::warn!(%error, "cannot store a result: it is held in this process only");
        }
    }

    /// Drops the results of a session that has ended (R-END-6).
    pub(super) fn session_ended(&self, session: &str) {
        self.with_inner(|inner, _| inner.remove_where(|entry| entry.session.as_deref() == Some(session)));
    }
}

fn store_key(id: &str) -> String {
    format!("held/{id}")
}

#[derive(Serialize)]
struct StoredResultRef<'a> {
    until: Timestamp,
    content: &'a HeldContent,
}

#[derive(Deserialize)]
struct StoredResult {
    until: Timestamp,
    content: HeldContent,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::store::MemoryStore;
    use serde_json::json;

    fn held(settings: Settings) -> HeldResults {
        let clock: SharedClock = Arc::new(SystemClock);
        HeldResults::new(clock.clone(), Arc::new(MemoryStore::new(clock, 10)), settings)
    }

    fn rows(count: usize) -> Arc<HeldContent> {
        let rows = vec![json!({ "text": "x".repeat(100) }); count];
        Arc::new(HeldContent::Rows(HeldRows { rows, ..HeldRows::default() }))
    }

    #[test]
    fn r_dis_8_bytes_and_number_stay_within_bounds() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string());
        let settings = Settings { max_held_bytes: 100_000, max_held: 20, ..Settings::default() };
        let held = held(settings);
        let all = runtime.map(|runtime| {
            runtime.block_on(async {
                for round in 0..500_usize {
                    held.insert(&format!("{}", round % 37), rows(round * 7 % 300), None).await;
                    let (count, bytes, counted) = held.with_inner(|inner, _| {
                        let counted: usize = inner.entries.values().map(|entry| entry.bytes).sum();
                        (inner.entries.len(), inner.bytes, counted)
                    });
                    assert!(count <= 20 && bytes <= 100_000, "{count} {bytes}");
                    assert_eq!(bytes, counted);
                }
            });
        });
        assert_eq!(all, Ok(()));
    }

    #[test]
    fn r_dis_8_large_results_are_not_held() {
        let held = held(Settings { max_result_bytes: 1_000, ..Settings::default() });
        assert!(held.has_room_for(&[json!({ "a": 1 })]));
        assert!(!held.has_room_for(&vec![json!({ "a": 1 }); 100]));
        assert!(held.has_room_for_text(&"x".repeat(1_000)));
        assert!(!held.has_room_for_text(&"x".repeat(1_001)));
    }
}
