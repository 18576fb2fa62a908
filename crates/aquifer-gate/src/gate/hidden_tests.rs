//! Limits tries against values that callers cannot see: whether a change succeeds reveals something about them.
//!
//! A dry run and a rehearsal before a confirmation count whether they succeed or not, because a caller learns as much from
//! a success. A real change counts if it fails: one that succeeds changes data, is recorded, and cannot be repeated
//! unnoticed.

use aquifer_engine::Outcome;
use aquifer_engine::gate::Receipt;
use futures::future::{BoxFuture, FutureExt};

use super::{EarlyDecision, Evaluation, SafetyGate};
use crate::audit::Event;
use crate::policy::Effect;
use crate::quota::HiddenTest;

impl SafetyGate {
    /// Counts a try. Returns a change that counts only if it fails.
    pub(super) async fn admit_hidden_test(
        &self,
        evaluation: Evaluation<'_>,
        is_dry_run: bool,
    ) -> Result<Option<HiddenTest>, EarlyDecision> {
        let (operation, caller) = (evaluation.operation(), evaluation.caller());
        // Without a token or an answer, the call is rehearsed, and nothing else would record it if that fails.
        let is_rehearsed = !is_dry_run
            && matches!(evaluation.decision.effect, Effect::Confirm(_))
            && evaluation.rehearsal.is_some()
            && evaluation.request.metadata().confirmation.is_none();
        let admitted = match is_dry_run || is_rehearsed {
            true => self.quotas.count_hidden_test(operation, caller).await.map(|()| None),
            false => self.quotas.begin_hidden_test(operation, caller).await.map(Some),
        };
        if is_rehearsed && admitted.is_ok() {
            let (request, reason) = (evaluation.request, "a rehearsal whose success depends on hidden values");
            self.submit(|| {
                let entry = evaluation.entry(Event::ConfirmationRequired).reason(reason);
                entry.parameters(operation, Some(request.types()), request.params())
            });
        }
        admitted.or_else(|quota_error| self.apply_quota_error(evaluation, quota_error).map(|()| None))
    }
}

/// Counts a change that fails.
pub(super) struct HiddenTestReceipt {
    pub(super) test: HiddenTest,
    pub(super) inner: Option<Box<dyn Receipt>>,
}

impl Receipt for HiddenTestReceipt {
    fn settle<'a>(self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        async move {
            if matches!(outcome, Outcome::Failed(_)) {
                self.test.count_failure().await;
            }
            if let Some(inner) = self.inner {
                inner.settle(outcome).await;
            }
        }
        .boxed()
    }
}
