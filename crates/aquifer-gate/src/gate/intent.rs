//! Records every write before it runs.

use aquifer_engine::gate::Receipt;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;

use super::receipt::AuditReceipt;
use super::{EarlyDecision, Evaluation, SafetyGate, refuse_with};
use crate::audit::Event;
use crate::confirm::Redemption;

/// Whether an operation may change data: every operation except safe reads.
pub(super) fn is_write(operation: &Operation) -> bool {
    operation.category != Category::Read || operation.safety.danger > Danger::Safe
}

impl SafetyGate {
    /// Records the intent of a call. If the audit is required and recording fails, the call is refused.
    ///
    /// A destructive or confirmed call waits until its intent is on disk. A reversible call only queues it, unless the
    /// audit is failing.
    pub(super) async fn record_intent(
        &self,
        evaluation: Evaluation<'_>,
        confirmed: Option<&Redemption>,
    ) -> Result<Box<dyn Receipt>, EarlyDecision> {
        let (operation, params) = (evaluation.operation(), evaluation.request.params());
        let confirmer = confirmed.map(|confirmed| &confirmed.confirmer);
        let is_destructive = operation.safety.danger >= Danger::Destructive;
        if is_destructive && confirmer.is_none() {
            self.submit(|| evaluation.entry(Event::Allowed).reason(&evaluation.decision.explanation()));
        }
        let mut entry = evaluation
            .entry(Event::Intent)
            .reason(&evaluation.decision.explanation())
            .fields(operation, params)
            .parameters(operation, Some(evaluation.request.types()), params);
        if let Some(confirmer) = confirmer {
            entry = entry.confirmed_by(confirmer);
        }
        let is_synced = is_destructive || confirmer.is_some();
        let mut receipt = AuditReceipt::new(self.audit.clone(), evaluation, confirmer.cloned(), is_synced);
        match receipt.record_intent(entry, is_synced || self.audit.is_failing()).await {
            Ok(()) => Ok(receipt.begin()),
            Err(error) if self.audit.is_required() => Err(refuse_with(
                Failure::new(
                    Code::InternalError,
                    "Internal error: the audit cannot be written, so operations with effects are refused. Nothing was \
                     done. Tell the operator",
                )
                .detail("danger_level", operation.safety.danger.as_str())
                .because(error),
            )),
            Err(error) => {
                tracing::error!(%error, operation = &*operation.name, "the intent of an operation was not recorded");
                Ok(receipt.begin())
            }
        }
    }
}
