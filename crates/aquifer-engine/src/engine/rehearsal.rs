//! Rehearses calls with the sources of a snapshot.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::validate::Checked;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::Engine;
use super::source_call::{panic_message, validity};
use crate::call::rehearsal::{Rehearsal, RehearsalResult};
use crate::snapshot::Snapshot;
use crate::source::{Call, Context, PageRequest, TargetCheck};

/// How long a rehearsal may take. Sources keep to shorter limits of their own.
const REHEARSAL_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a call can be rehearsed: its source guarantees that trying it changes nothing. A claim of an upstream is no
/// guarantee.
pub(super) fn can_rehearse(request: &Checked) -> bool {
    request.operation().safety.has_safe_dry_run && request.operation().origin.native
}

impl Engine {
    /// Tries a checked request and undoes it, if its source can do that.
    pub async fn rehearse(&self, request: &Checked, context: &Context) -> RehearsalResult {
        SnapshotRehearsal { snapshot: &self.snapshot.load_full() }.rehearse(request, context).await
    }
}

/// Rehearses calls with the sources of a snapshot.
pub(super) struct SnapshotRehearsal<'s> {
    pub(super) snapshot: &'s Snapshot,
}

impl Rehearsal for SnapshotRehearsal<'_> {
    fn rehearse<'a>(&'a self, request: &'a Checked, context: &'a Context) -> BoxFuture<'a, RehearsalResult> {
        let operation = request.operation();
        // The parameters of a concealed operation were not checked.
        let route = self.snapshot.route(&operation.name).filter(|route| !route.is_denied && can_rehearse(request));
        let Some(route) = route else { return std::future::ready(RehearsalResult::Unknown).boxed() };
        let context_of_call = Arc::new(context.clone());
        let call = Call {
            targets: TargetCheck::new(None, operation.clone(), context_of_call.clone()),
            page: PageRequest::default(),
            max_tokens: None,
            name: route.name.clone(),
            operation: operation.clone(),
            params: request.params().clone(),
            context: context_of_call,
            uri_prefix: route.uri_prefix.clone(),
            validity: validity(self.snapshot, operation.category),
        };
        async move {
            let running = AssertUnwindSafe(async { route.source.rehearse(call).await }).catch_unwind();
            let finished = tokio::select! {
                biased;
                () = context.cancelled.cancelled() => return RehearsalResult::Unknown,
                finished = tokio::time::timeout(REHEARSAL_TIMEOUT, running) => finished,
            };
            match finished {
                Ok(Ok(result)) => result,
                Ok(Err(panic)) => {
                    tracing::error!(operation = &*operation.name, "a rehearsal panicked: {}", panic_message(&*panic));
                    RehearsalResult::Unknown
                }
                Err(_) => RehearsalResult::Unknown,
            }
        }
        .boxed()
    }
}
