//! Records the outcome of an operation.

use std::sync::Arc;

use aquifer_engine::gate::Receipt;
use aquifer_engine::{Caller, Outcome, is_configuration_changed};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use futures::future::{BoxFuture, FutureExt};

use super::Evaluation;
use crate::audit::{Audit, AuditError, Entry, EntryHandle, Event, OperationOutcome};
use crate::confirm::Confirmer;

/// Records exactly one outcome for an intent: "not run" before [`begin`](AuditReceipt::begin), then "unknown" until the
/// source returns an outcome.
pub(super) struct AuditReceipt {
    audit: Audit,
    operation: Arc<Operation>,
    caller: Caller,
    client_name: Option<Arc<str>>,
    request_id: Arc<str>,
    confirmer: Option<Confirmer>,
    intent: EntryHandle,
    /// Whether the outcome has to be on disk before the caller gets its response.
    is_synced: bool,
    outcome: OutcomeDetails,
    /// Whether the outcome was queued, or none is needed.
    is_settled: bool,
}

/// The outcome as far as it is known.
struct OutcomeDetails {
    outcome: OperationOutcome,
    code: Option<&'static str>,
    reason: Option<&'static str>,
}

impl OutcomeDetails {
    const NOT_RUN: Self = Self { outcome: OperationOutcome::Failed, code: None, reason: Some("it was not run") };
    const UNKNOWN: Self = Self { outcome: OperationOutcome::Unknown, code: None, reason: None };

    fn from_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done(_) => Self { outcome: OperationOutcome::Done, code: None, reason: None },
            Outcome::Failed(failure) => Self::from_failure(failure),
            Outcome::NeedsInput(_) => {
                Self { outcome: OperationOutcome::Failed, code: None, reason: Some("the source asks a person first") }
            }
        }
    }

    fn from_failure(failure: &Failure) -> Self {
        let outcome = if failure.is_outcome_unknown() { OperationOutcome::Unknown } else { OperationOutcome::Failed };
        let reason = if is_configuration_changed(failure) { Self::NOT_RUN.reason } else { None };
        Self { outcome, code: Some(failure.code().as_str()), reason }
    }
}

impl AuditReceipt {
    /// Creates a receipt for an intent that is not queued yet.
    pub(super) fn new(audit: Audit, evaluation: Evaluation<'_>, confirmer: Option<Confirmer>, is_synced: bool) -> Self {
        Self {
            audit,
            operation: evaluation.operation().clone(),
            caller: evaluation.caller().clone(),
            client_name: evaluation.context.client_name.clone(),
            request_id: evaluation.context.request_id.clone(),
            confirmer,
            intent: EntryHandle::default(),
            is_synced,
            outcome: OutcomeDetails::NOT_RUN,
            is_settled: true,
        }
    }

    /// Records the intent. If `waits`, returns once it is written. If this fails or is cancelled and the intent is
    /// written nevertheless, the outcome "not run" follows it.
    pub(super) async fn record_intent(&mut self, entry: Entry, waits: bool) -> Result<(), AuditError> {
        // Waits for room in the queue: a burst of concurrent writes is no reason to refuse one.
        let pending = self.audit.enqueue(entry, Some(self.intent.clone())).await?;
        self.is_settled = false;
        if !waits {
            return Ok(());
        }
        let written = pending.wait_until_written().await;
        // After any other error the writer has replied. Without a position, the intent was not written.
        let may_come_later = matches!(written, Ok(_) | Err(AuditError::Busy));
        self.is_settled = !may_come_later && self.intent.position().is_none();
        written.map(|_| ())
    }

    /// Marks the operation as running.
    pub(super) fn begin(mut self) -> Box<dyn Receipt> {
        self.outcome = OutcomeDetails::UNKNOWN;
        self.is_settled = false;
        Box::new(self)
    }

    fn entry(&self) -> Entry {
        let OutcomeDetails { outcome, code, reason } = self.outcome;
        let mut entry = Entry::for_operation(Event::Outcome(outcome), &self.operation)
            .caller(&self.caller)
            .client(self.client_name.as_deref())
            .request(&self.request_id)
            .intent(&self.intent);
        if let Some(confirmer) = &self.confirmer {
            entry = entry.confirmed_by(confirmer);
        }
        if let Some(code) = code {
            entry = entry.code(code);
        }
        if let Some(reason) = reason {
            entry = entry.reason(reason);
        }
        entry
    }

    fn report(&self, error: &AuditError) {
        tracing::error!(%error, operation = &*self.operation.name, "an outcome was not recorded");
    }
}

impl Receipt for AuditReceipt {
    fn settle<'a>(mut self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        // From here on, the outcome is settled, even if the caller is cancelled while it is being recorded.
        self.outcome = OutcomeDetails::from_outcome(outcome);
        if !self.is_synced {
            drop(self);
            return std::future::ready(()).boxed();
        }
        async move {
            match self.audit.enqueue(self.entry(), None).await {
                Ok(pending) => {
                    self.is_settled = true;
                    if let Err(error) = pending.wait_until_written().await {
                        self.report(&error);
                    }
                }
                // `drop` tries again.
                Err(error) => self.report(&error),
            }
        }
        .boxed()
    }
}

impl Drop for AuditReceipt {
    fn drop(&mut self) {
        if !self.is_settled
            && let Err(error) = self.audit.submit_final(self.entry())
        {
            self.report(&error);
        }
    }
}
