//! Results held for later pages: bounded in bytes, in number and in time, and gone with their connection.
//!
//! What is held here is only ever found through a sealed cursor, or through the owner's own call. Losing it costs one
//! call to the source, so whatever is needed least goes first.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Settings;
use crate::clock::SharedClock;
use crate::store::StateStore;

/// What a held result is made of.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Content {
    Rows(Vec<Value>),
    Text(String),
}

impl Content {
    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        match self {
            Content::Rows(rows) => rows.iter().map(aquifer_query::shape::weight).sum(),
            Content::Text(text) => text.len(),
        }
    }
}

struct Entry {
    content: Arc<Content>,
    weight: usize,
    until: Timestamp,
    used: u64,
    session: Option<Arc<str>>,
}

#[derive(Default)]
struct Inner {
    entries: HashMap<String, Entry>,
    weight: usize,
    clock: u64,
}

impl Inner {
    fn remove(&mut self, id: &str) {
        if let Some(entry) = self.entries.remove(id) {
            self.weight -= entry.weight;
        }
    }

    fn remove_where(&mut self, goes: impl Fn(&Entry) -> bool) {
        let ids: Vec<String> = self.entries.iter().filter(|(_, entry)| goes(entry)).map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.remove(id));
    }
}

/// Results held for later pages.
pub(super) struct Held {
    clock: SharedClock,
    store: Arc<dyn StateStore>,
    settings: Settings,
    inner: Mutex<Inner>,
}

impl Held {
    pub(super) fn new(clock: SharedClock, store: Arc<dyn StateStore>, settings: Settings) -> Self {
        Self { clock, store, settings, inner: Mutex::default() }
    }

    fn with<T>(&self, act: impl FnOnce(&mut Inner, Timestamp) -> T) -> T {
        let now = self.clock.now();
        // Entries are inserted and removed whole; at worst the count of bytes is off by one of them.
        let mut inner = self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        act(&mut inner, now)
    }

    /// Whether rows are few and small enough to be held.
    pub(super) fn has_room_for(&self, rows: &[Value]) -> bool {
        self.has_room(rows.iter().map(aquifer_query::shape::weight).sum())
    }

    /// Whether a text is short enough to be held.
    pub(super) fn has_room_for_text(&self, text: &str) -> bool {
        self.has_room(text.len())
    }

    fn has_room(&self, weight: usize) -> bool {
        weight <= self.settings.max_result_bytes.min(self.settings.held_bytes) && self.settings.max_held > 0
    }

    /// Holds a result. Others make room for it.
    pub(super) async fn put(&self, id: &str, content: Arc<Content>, session: Option<Arc<str>>) {
        if self.store.outlives_process() {
            self.write_down(id, &content).await;
        }
        let weight = content.weight();
        self.with(|inner, now| {
            inner.remove(id);
            inner.remove_where(|entry| entry.until <= now);
            while inner.entries.len() >= self.settings.max_held
                || inner.weight.saturating_add(weight) > self.settings.held_bytes
            {
                let Some(first) = inner.entries.iter().min_by_key(|(_, entry)| entry.used).map(|(id, _)| id.clone())
                else {
                    return;
                };
                inner.remove(&first);
            }
            inner.clock += 1;
            inner.weight += weight;
            let until = now.saturating_add(self.settings.keep).unwrap_or(Timestamp::MAX);
            let entry = Entry { content, weight, until, used: inner.clock, session };
            inner.entries.insert(id.to_owned(), entry);
        });
    }

    /// A held result, if it still is.
    pub(super) async fn get(&self, id: &str) -> Option<Arc<Content>> {
        let here = self.with(|inner, now| {
            inner.clock += 1;
            let clock = inner.clock;
            let entry = inner.entries.get_mut(id).filter(|entry| entry.until > now)?;
            entry.used = clock;
            Some(entry.content.clone())
        });
        if here.is_some() || !self.store.outlives_process() {
            return here;
        }
        let record = self.store.get(&key(id)).await.ok()??;
        let written: Written = serde_json::from_slice(&record.value).ok()?;
        (written.until > self.clock.now()).then(|| Arc::new(written.content))
    }

    /// Writes a small result where other processes find it. If that fails, this one still has it.
    async fn write_down(&self, id: &str, content: &Content) {
        if content.weight() > self.settings.max_stored_bytes {
            return;
        }
        let until = self.clock.now().saturating_add(self.settings.keep).unwrap_or(Timestamp::MAX);
        let Ok(bytes) = serde_json::to_vec(&WrittenRef { until, content }) else { return };
        // The store forgets a little later than the record says.
        let keep = self.settings.keep.saturating_add(Duration::from_secs(60));
        let key = key(id);
        let known = self.store.get(&key).await.ok().flatten().map(|record| record.version);
        if let Err(error) = self.store.compare_and_set(&key, known, bytes, keep).await {
            tracing::warn!(%error, "a result is held in this process only");
        }
    }

    /// A connection is gone, and with it what was held for it (R-END-6).
    pub(super) fn session_ended(&self, session: &str) {
        self.with(|inner, _| inner.remove_where(|entry| entry.session.as_deref() == Some(session)));
    }
}

fn key(id: &str) -> String {
    format!("held/{id}")
}

#[derive(Serialize)]
struct WrittenRef<'a> {
    until: Timestamp,
    content: &'a Content,
}

#[derive(Deserialize)]
struct Written {
    until: Timestamp,
    content: Content,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SystemClock;
    use crate::store::MemoryStore;
    use serde_json::json;

    fn held(settings: Settings) -> Held {
        let clock: SharedClock = Arc::new(SystemClock);
        Held::new(clock.clone(), Arc::new(MemoryStore::new(clock, 10)), settings)
    }

    fn rows(count: usize) -> Arc<Content> {
        Arc::new(Content::Rows(vec![json!({ "text": "x".repeat(100) }); count]))
    }

    #[test]
    fn r_dis_8_bytes_and_number_stay_within_bounds_whatever_is_put() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().map_err(|error| error.to_string());
        let settings = Settings { held_bytes: 100_000, max_held: 20, ..Settings::default() };
        let held = held(settings);
        let all = runtime.map(|runtime| {
            runtime.block_on(async {
                for round in 0..500_usize {
                    held.put(&format!("{}", round % 37), rows(round * 7 % 300), None).await;
                    let (count, weight, counted) = held.with(|inner, _| {
                        let counted: usize = inner.entries.values().map(|entry| entry.weight).sum();
                        (inner.entries.len(), inner.weight, counted)
                    });
                    assert!(count <= 20 && weight <= 100_000, "{count} {weight}");
                    assert_eq!(weight, counted);
                }
            });
        });
        assert_eq!(all, Ok(()));
    }

    #[test]
    fn r_dis_8_what_weighs_too_much_has_no_room() {
        let held = held(Settings { max_result_bytes: 1_000, ..Settings::default() });
        assert!(held.has_room_for(&[json!({ "a": 1 })]));
        assert!(!held.has_room_for(&vec![json!({ "a": 1 }); 100]));
        assert!(held.has_room_for_text(&"x".repeat(1_000)));
        assert!(!held.has_room_for_text(&"x".repeat(1_001)));
    }
}
