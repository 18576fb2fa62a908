//! Definitions that a person has rejected. They stay in quarantine; the page shows that somebody has looked at them.

use std::collections::BTreeMap;
use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};

/// How long a rejection is kept.
const TTL: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// Rejected tools of one source. Older ones make room for newer ones.
const MAX_TOOLS: usize = 4_000;

/// Maximum number of attempts to write, because other processes write as well.
const MAX_WRITE_ATTEMPTS: u32 = 5;

/// The rejected definitions of a source: their digests by tool.
#[derive(Debug, Default)]
pub(super) struct Rejections(BTreeMap<String, String>);

impl Rejections {
    /// Loads the rejections of a source. If the store cannot be read, there are none: nothing depends on them.
    pub(super) async fn load(store: &dyn StateStore, source: &str) -> Self {
        let record = store.get(&key(source)).await.ok().flatten();
        Self(record.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default())
    }

    /// Whether this definition was rejected.
    pub(super) fn contains(&self, tool: &str, digest: &str) -> bool {
        self.0.get(tool).is_some_and(|rejected| rejected == digest)
    }

    /// Records that a definition was rejected.
    pub(super) async fn add(store: &dyn StateStore, source: &str, tool: &str, digest: &str) -> Result<(), StoreError> {
        let key = key(source);
        for _ in 0..MAX_WRITE_ATTEMPTS {
            let record = store.get(&key).await?;
            let version = record.as_ref().map(|record| record.version);
            let mut known: BTreeMap<String, String> =
                record.and_then(|record| serde_json::from_slice(&record.value).ok()).unwrap_or_default();
            if known.len() >= MAX_TOOLS {
                known.clear();
            }
            known.insert(tool.to_owned(), digest.to_owned());
            let value = serde_json::to_vec(&known).unwrap_or_default();
            if store.compare_and_set(&key, version, value, TTL).await? {
                return Ok(());
            }
        }
        // Others keep writing. The audit log has the decision.
        Ok(())
    }
}

fn key(source: &str) -> String {
    format!("explorer/rejected/{source}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use aquifer_engine::clock::SystemClock;
    use aquifer_engine::store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn a_rejection_applies_to_one_definition() {
        let store = MemoryStore::new(Arc::new(SystemClock), 10);
        Rejections::add(&store, "files", "read", "sha256:1").await.unwrap();
        Rejections::add(&store, "files", "write", "sha256:2").await.unwrap();
        let known = Rejections::load(&store, "files").await;
        assert!(known.contains("read", "sha256:1") && known.contains("write", "sha256:2"));
        assert!(!known.contains("read", "sha256:2") && !known.contains("other", "sha256:1"));
        assert!(!Rejections::load(&store, "other").await.contains("read", "sha256:1"));
    }
}
