//! What came of an operation that is on record.

use std::sync::Arc;

use aquifer_engine::gate::Receipt;
use aquifer_engine::{Caller, Outcome};
use aquifer_protocol::operation::Operation;
use futures::future::{BoxFuture, FutureExt};

use super::Passing;
use crate::audit::{Audit, Ended, Entry, Event, Noted};

/// Puts the outcome beside the intent; if nobody says what it was, it is unknown.
pub(super) struct OnRecord {
    audit: Audit,
    operation: Arc<Operation>,
    caller: Caller,
    request_id: Arc<str>,
    intent: Noted,
    settled: bool,
}

impl OnRecord {
    pub(super) fn new(audit: Audit, passing: Passing<'_>, intent: Noted) -> Self {
        Self {
            audit,
            operation: passing.operation().clone(),
            caller: passing.caller().clone(),
            request_id: passing.context.request_id.clone(),
            intent,
            settled: false,
        }
    }

    pub(super) fn boxed(self) -> Box<dyn Receipt> {
        Box::new(self)
    }

    fn entry(&self, ended: Ended) -> Entry {
        Entry::about(Event::Outcome(ended), &self.operation)
            .by(&self.caller)
            .request(&self.request_id)
            .of_intent(&self.intent)
    }
}

impl Receipt for OnRecord {
    fn settle<'a>(mut self: Box<Self>, outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        async move {
            let entry = match outcome {
                Outcome::Done(_) => self.entry(Ended::Done),
                Outcome::Failed(failure) => self.entry(Ended::Failed).code(failure.code().as_str()),
                Outcome::NeedsInput(_) => self.entry(Ended::Failed).reason("the source asks a person first"),
            };
            // Given up from here on, the entry is still on its way, or unknown is written beside it.
            if let Err(error) = self.audit.record(entry).await {
                tracing::error!(%error, operation = &*self.operation.name, "an outcome is not on record");
            }
            self.settled = true;
        }
        .boxed()
    }
}

impl Drop for OnRecord {
    fn drop(&mut self) {
        if !self.settled
            && let Err(error) = self.audit.note(self.entry(Ended::Unknown))
        {
            tracing::error!(%error, operation = &*self.operation.name, "an outcome is not on record");
        }
    }
}
