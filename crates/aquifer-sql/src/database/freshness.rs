//! Keeps the offer current: detects changes of the schema where a request does not fit the offer or a statement fails.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use futures::FutureExt;
use serde_json::{Map, Value};

use super::backend::Backend;
use super::source::Database;
use crate::error::SqlError;
use crate::offer::Offer;
use crate::work::session::WorkError;

impl Database {
    /// Whether this is the current offer.
    pub(super) fn is_current(&self, offer: &Arc<Offer>) -> bool {
        Arc::ptr_eq(&self.offer.load(), offer)
    }

    /// Reflects again. If that fails, the offer stays.
    pub(super) async fn reflect_or_log(&self) {
        if let Err(failure) = self.reflect().await {
            tracing::debug!(source = self.settings.name, cause = failure.cause(), "{}", failure.message());
        }
    }

    /// Reflects again if the schema has changed.
    pub(super) async fn refresh_if_outdated(&self) {
        let is_outdated = match &self.backend {
            Backend::Sqlite(sqlite) => sqlite.detect_schema_change().await,
            Backend::Postgres(postgres) => postgres.detect_schema_change(&self.settings).await,
        };
        if is_outdated {
            self.reflect_or_log().await;
        }
    }

    /// The current offer, for a request that an older one does not accept. Fails as the request did if the schema has
    /// not changed, or if the request now needs operations that policy has not decided about: the next attempt goes
    /// through policy again.
    pub(super) async fn newer_offer(
        &self,
        offer: &Arc<Offer>,
        operation: &str,
        params: &Map<String, Value>,
        failure: Failure,
    ) -> Result<Arc<Offer>, Failure> {
        let is_refusal = matches!(
            failure.code(),
            Code::ValidationInvalidType | Code::ValidationInvalidValue | Code::ValidationUnknownField
        );
        if !is_refusal {
            return Err(failure);
        }
        if self.is_current(offer) {
            self.refresh_if_outdated().await;
        }
        let newer = self.offer.load_full();
        let needs = |offer: &Offer| offer.resolve(operation, params.clone()).map(|resolved| resolved.also_needs);
        let (Ok(before), Ok(now)) = (needs(offer), needs(&newer)) else { return Err(failure) };
        match !Arc::ptr_eq(&newer, offer) && now.iter().all(|needed| before.contains(needed)) {
            true => Ok(newer),
            false => Err(failure),
        }
    }

    /// Says what is wrong if a statement failed because a table or column is missing although the schema is still the
    /// one that the statement was made for: a trigger or view refers to it. Otherwise reflects again.
    pub(super) async fn explain_schema_error(&self, error: WorkError, offer: &Arc<Offer>) -> WorkError {
        let WorkError::Sql(SqlError::SchemaChanged { message: Some(message), cause }) = error else { return error };
        if self.is_current(offer) {
            self.refresh_if_outdated().boxed().await;
        }
        match self.is_current(offer) {
            true => SqlError::BrokenSchema { message, cause }.into(),
            false => SqlError::SchemaChanged { message: Some(message), cause }.into(),
        }
    }
}
