//! Puts every write on record before it runs.

use aquifer_engine::gate::Receipt;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;

use super::receipt::OnRecord;
use super::{Evaluation, SafetyGate, Stopped, refused};
use crate::audit::Event;

/// Whether an operation may change something: everything but reads, and reads that are said to be more than that.
pub(super) fn is_write(operation: &Operation) -> bool {
    operation.category != Category::Read || operation.danger > Danger::Safe
}

impl SafetyGate {
    /// Puts on record what is about to happen. Where that must be on record and cannot be, it does not happen.
    ///
    /// What is destructive or was confirmed waits until its intent is on disk. What can be undone only hands it to the
    /// writer, unless the writer is failing.
    pub(super) async fn intend(
        &self,
        passing: Evaluation<'_>,
        is_confirmed: bool,
    ) -> Result<Box<dyn Receipt>, Stopped> {
        let (operation, params) = (passing.operation(), passing.request.params());
        let is_destructive = operation.danger >= Danger::Destructive;
        if is_destructive && !is_confirmed {
            self.note(|| passing.entry(Event::Allowed).reason(&passing.ruling.why()));
        }
        let entry = passing.entry(Event::Intent).reason(&passing.ruling.why()).fields(operation, params).parameters(
            operation,
            Some(passing.request.types()),
            params,
        );
        let is_synced = is_destructive || is_confirmed;
        let mut receipt = OnRecord::new(self.audit.clone(), passing, is_synced);
        match receipt.intend(entry, is_synced || self.audit.is_failing()).await {
            Ok(()) => Ok(receipt.begin()),
            Err(error) if self.audit.is_required() => Err(refused(
                Failure::new(
                    Code::InternalError,
                    "Internal error: the audit cannot be written, so operations with effects are refused. Nothing was \
                     done. Tell the operator",
                )
                .detail("danger_level", operation.danger.as_str())
                .because(error),
            )),
            Err(error) => {
                tracing::error!(%error, operation = &*operation.name, "an operation is not on record");
                Ok(receipt.begin())
            }
        }
    }
}
