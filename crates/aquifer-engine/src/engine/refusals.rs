//! Requests that the catalog refuses. A column may have been added since the catalog was built, so the source checks
//! whether it has changed before the request fails. Only requests that fail pay for this.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::Refused;

use super::Engine;
use super::mounts::CHECK_TIMEOUT;
use crate::snapshot::Snapshot;
use crate::source::{Context, Outcome};

impl Engine {
    /// Performs a request that this catalog refuses, if a newer one accepts it.
    pub(super) async fn perform_refused(
        &self,
        snapshot: &Snapshot,
        receiver: &Receiver,
        refused: Refused,
        context: &Arc<Context>,
    ) -> Outcome {
        let Refused { failure, request: Some(request) } = refused else { return Outcome::Failed(refused.failure) };
        let Some(newer) = self.newer_snapshot(snapshot, &request.operation, &failure).await else {
            return Outcome::Failed(failure);
        };
        match self.route_and_check(&newer, receiver, request) {
            Ok((checked, _)) => self.perform_checked(&newer, checked, None, context).await,
            Err(refused) => Outcome::Failed(refused.failure),
        }
    }

    /// Lets the source of an operation check for changes after a request was refused with this failure. Returns the new
    /// catalog, if there is one.
    pub(super) async fn newer_snapshot(
        &self,
        snapshot: &Snapshot,
        operation: &str,
        failure: &Failure,
    ) -> Option<Arc<Snapshot>> {
        if !depends_on_catalog(failure.code()) {
            return None;
        }
        let check = snapshot.route(operation)?.source.check_before_refusal();
        if tokio::time::timeout(CHECK_TIMEOUT, check).await.is_err() {
            tracing::debug!(operation, "the source did not check for changes in time");
        }
        self.refresh_if_changed();
        let newest = self.snapshot();
        (!std::ptr::eq(&*newest, snapshot)).then_some(newest)
    }
}

/// Whether a request that fails with this code may be valid in another catalog.
fn depends_on_catalog(code: Code) -> bool {
    matches!(
        code,
        Code::ValidationMissingParam
            | Code::ValidationInvalidType
            | Code::ValidationInvalidValue
            | Code::ValidationUnknownParam
            | Code::ValidationUnknownField
            | Code::NotFoundOperation
            | Code::NotFoundResource
    )
}
