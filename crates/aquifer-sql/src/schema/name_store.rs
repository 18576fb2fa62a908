//! Stores the names of tables across restarts. If the store fails, only stored names are lost.

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::store::{StateStore, StoreError};
use aquifer_protocol::hex::hex_prefix;
use sha2::{Digest, Sha256};

use crate::schema::name_book::NameBook;
use crate::settings::Settings;

/// Timeout of a call to the store, because names must not delay anything.
const STORE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long names are stored. They are written only when they change, so this has to be long.
const RECORD_TTL: Duration = Duration::from_secs(10 * 365 * 24 * 60 * 60);

/// How often a write is attempted if others write at the same time.
const MAX_ATTEMPTS: usize = 4;

/// The stored names of one database.
pub(crate) struct NameStore {
    store: Arc<dyn StateStore>,
    key: String,
    /// Whether the database ignores case in names.
    ignores_case: bool,
}

impl NameStore {
    /// The record for a source's database. `location` identifies the database, without secrets.
    pub(crate) fn new(store: Arc<dyn StateStore>, settings: &Settings, location: &str) -> Self {
        let digest = Sha256::digest(location.as_bytes());
        let hash = hex_prefix(&digest, 16);
        let key = format!("names/database/{}/{hash}", settings.name);
        Self { store, key, ignores_case: settings.ignores_case() }
    }

    /// The stored names; empty if there are none or the store fails.
    pub(crate) async fn load(&self) -> NameBook {
        match self.read().await {
            Ok((book, _)) => book,
            Err(error) => {
                tracing::warn!(%error, "the remembered table names cannot be read");
                NameBook::default()
            }
        }
    }

    /// Stores these names together with those that others have stored.
    pub(crate) async fn save(&self, book: &NameBook) {
        if let Err(error) = self.try_save(book).await {
            tracing::warn!(%error, "the table names cannot be stored for the next start");
        }
    }

    async fn try_save(&self, book: &NameBook) -> Result<(), StoreError> {
        for _ in 0..MAX_ATTEMPTS {
            let (kept, version) = self.read().await?;
            let mut merged = book.clone();
            merged.merge(kept);
            let writing = self.store.compare_and_set(&self.key, version, merged.to_json(), RECORD_TTL);
            if bounded(writing).await? {
                return Ok(());
            }
        }
        Err(StoreError("others keep writing the same record".to_owned()))
    }

    async fn read(&self) -> Result<(NameBook, Option<u64>), StoreError> {
        let Some(record) = bounded(self.store.get(&self.key)).await? else { return Ok((NameBook::default(), None)) };
        let book = NameBook::from_json(&record.value).unwrap_or_default();
        Ok((if self.ignores_case { book.ignoring_case() } else { book }, Some(record.version)))
    }
}

async fn bounded<T>(call: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let late = || StoreError("the store did not answer in time".to_owned());
    tokio::time::timeout(STORE_TIMEOUT, call).await.unwrap_or_else(|_| Err(late()))
}
