//! What came of an operation that is on record.

use std::sync::Arc;

use aquifer_engine::gate::Receipt;
use aquifer_engine::{Caller, Outcome, is_configuration_changed};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use futures::future::{BoxFuture, FutureExt};

use super::Evaluation;
use crate::audit::{Audit, AuditError, Entry, EntryHandle, Event, OperationOutcome};

/// Records exactly one outcome for an intent: that it was not run until [`begin`](AuditReceipt::begin), then that its outcome
/// is unknown until the source tells another.
pub(super) struct AuditReceipt {
    audit: Audit,
    operation: Arc<Operation>,
    caller: Caller,
    request_id: Arc<str>,
    intent: EntryHandle,
    /// Whether the outcome is to be on disk before the caller learns of it.
    is_synced: bool,
    outcome: OutcomeDetails,
    /// Whether the outcome was handed in, or there is nothing to hand in.
    is_settled: bool,
}

/// How the operation ended, as far as is known by now.
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
    /// Of an intent that is not handed in yet.
    pub(super) fn new(audit: Audit, evaluation: Evaluation<'_>, is_synced: bool) -> Self {
        Self {
            audit,
            operation: evaluation.operation().clone(),
            caller: evaluation.caller().clone(),
            request_id: evaluation.context.request_id.clone(),
            intent: EntryHandle::default(),
            is_synced,
            outcome: OutcomeDetails::NOT_RUN,
            is_settled: true,
        }
    }

    /// Puts the intent on record, and waits until it is there if `waits`. If this fails or is given up half-way,
    /// an intent that is written all the same is followed by the outcome that it was not run.
    pub(super) async fn record_intent(&mut self, entry: Entry, waits: bool) -> Result<(), AuditError> {
        // A full queue is waited for: many writes at once are no reason to refuse one.
        let pending = self.audit.enqueue(entry, Some(self.intent.clone())).await?;
        self.is_settled = false;
        if !waits {
            return Ok(());
        }
        let written = pending.written().await;
        // After any other error the writer has answered: if it does not know a position by now, there is no intent.
        let may_come_later = matches!(written, Ok(_) | Err(AuditError::Busy));
        self.is_settled = !may_come_later && self.intent.position().is_none();
        written.map(|_| ())
    }

    /// The operation runs from now on.
    pub(super) fn begin(mut self) -> Box<dyn Receipt> {
        self.outcome = OutcomeDetails::UNKNOWN;
        self.is_settled = false;
        Box::new(self)
    }

    fn entry(&self) -> Entry {
        let OutcomeDetails { outcome, code, reason } = self.outcome;
        let mut entry = Entry::for_operation(Event::Outcome(outcome), &self.operation)
            .caller(&self.caller)
            .request(&self.request_id)
            .intent(&self.intent);
        if let Some(code) = code {
            entry = entry.code(code);
        }
        if let Some(reason) = reason {
            entry = entry.reason(reason);
        }
        entry
    }

    fn report(&self, error: &AuditError) {
        tracing::error!(%error, operation = &*self.operation.name, "an outcome is not on record");
    }
}

impl Receipt for AuditReceipt {
    fn settle<'a>(mut self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        // From here on this is the outcome, also if the caller gives up while it is being recorded.
        self.outcome = OutcomeDetails::from_outcome(outcome);
        if !self.is_synced {
            drop(self);
            return std::future::ready(()).boxed();
        }
        async move {
            match self.audit.enqueue(self.entry(), None).await {
                Ok(pending) => {
                    self.is_settled = true;
                    if let Err(error) = pending.written().await {
                        self.report(&error);
                    }
                }
                // Dropping tries once more.
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
