//! What came of an operation that is on record.

use std::sync::Arc;

use aquifer_engine::gate::Receipt;
use aquifer_engine::{Caller, Outcome, is_configuration_changed};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use futures::future::{BoxFuture, FutureExt};

use super::Evaluation;
use crate::audit::{Audit, AuditError, Ended, Entry, EntryHandle, Event};

/// Records exactly one outcome for an intent: that it was not run until [`begin`](OnRecord::begin), then that its outcome
/// is unknown until the source tells another.
pub(super) struct OnRecord {
    audit: Audit,
    operation: Arc<Operation>,
    caller: Caller,
    request_id: Arc<str>,
    intent: EntryHandle,
    /// Whether the outcome is to be on disk before the caller learns of it.
    is_synced: bool,
    ending: Ending,
    /// Whether the outcome was handed in, or there is nothing to hand in.
    is_settled: bool,
}

/// How the operation ended, as far as is known by now.
struct Ending {
    ended: Ended,
    code: Option<&'static str>,
    reason: Option<&'static str>,
}

impl Ending {
    const NOT_RUN: Self = Self { ended: Ended::Failed, code: None, reason: Some("it was not run") };
    const UNKNOWN: Self = Self { ended: Ended::Unknown, code: None, reason: None };

    fn from_outcome(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Done(_) => Self { ended: Ended::Done, code: None, reason: None },
            Outcome::Failed(failure) => Self::from_failure(failure),
            Outcome::NeedsInput(_) => {
                Self { ended: Ended::Failed, code: None, reason: Some("the source asks a person first") }
            }
        }
    }

    fn from_failure(failure: &Failure) -> Self {
        let ended = if failure.is_outcome_unknown() { Ended::Unknown } else { Ended::Failed };
        let reason = if is_configuration_changed(failure) { Self::NOT_RUN.reason } else { None };
        Self { ended, code: Some(failure.code().as_str()), reason }
    }
}

impl OnRecord {
    /// Of an intent that is not handed in yet.
    pub(super) fn new(audit: Audit, passing: Evaluation<'_>, is_synced: bool) -> Self {
        Self {
            audit,
            operation: passing.operation().clone(),
            caller: passing.caller().clone(),
            request_id: passing.context.request_id.clone(),
            intent: EntryHandle::default(),
            is_synced,
            ending: Ending::NOT_RUN,
            is_settled: true,
        }
    }

    /// Puts the intent on record, and waits until it is there if `is_waited_for`. If this fails or is given up half-way,
    /// an intent that is written all the same is followed by the outcome that it was not run.
    pub(super) async fn intend(&mut self, entry: Entry, is_waited_for: bool) -> Result<(), AuditError> {
        // A full queue is waited for: many writes at once are no reason to refuse one.
        let pending = self.audit.enqueue(entry, Some(self.intent.clone())).await?;
        self.is_settled = false;
        if !is_waited_for {
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
        self.ending = Ending::UNKNOWN;
        self.is_settled = false;
        Box::new(self)
    }

    fn entry(&self) -> Entry {
        let Ending { ended, code, reason } = self.ending;
        let mut entry = Entry::about(Event::Outcome(ended), &self.operation)
            .by(&self.caller)
            .request(&self.request_id)
            .of_intent(&self.intent);
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

impl Receipt for OnRecord {
    fn settle<'a>(mut self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        // From here on this is the outcome, also if the caller gives up while it is being recorded.
        self.ending = Ending::from_outcome(outcome);
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

impl Drop for OnRecord {
    fn drop(&mut self) {
        if !self.is_settled
            && let Err(error) = self.audit.hand_in_eventually(self.entry())
        {
            self.report(&error);
        }
    }
}
