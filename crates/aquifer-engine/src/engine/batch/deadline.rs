//! How long a batch may take. Changes that have begun are never cut short by it: their outcome would be unknown.

use std::pin::pin;
use std::time::Duration;

use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::introspect::OperationClass;
use aquifer_protocol::response::Response;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::pipeline::{Engine, failure_response};
use crate::source::Context;

/// When a batch has used up its time.
#[derive(Clone, Copy)]
pub(super) struct Deadline {
    instant: Instant,
    timeout: Duration,
}

impl Deadline {
    pub(super) fn after(timeout: Duration) -> Self {
        Self { instant: Instant::now() + timeout, timeout }
    }

    pub(super) fn has_passed(self) -> bool {
        Instant::now() >= self.instant
    }

    /// Waits for reads, which are cancelled when the time is used up.
    pub(super) async fn cancel_when_passed<T>(
        self,
        reads: impl Future<Output = T>,
        cancelled: &CancellationToken,
    ) -> T {
        let mut reads = pin!(reads);
        tokio::select! {
            biased;
            output = &mut reads => return output,
            () = tokio::time::sleep_until(self.instant) => cancelled.cancel(),
        }
        reads.await
    }

    /// The failure of an operation that was not started.
    pub(super) fn not_run(self) -> Failure {
        self.failure("this operation was not run")
    }

    /// The response of a read that is not started.
    pub(super) fn skip(self, engine: &Engine, context: &Context, operation: &str) -> Response {
        let failure = self.not_run();
        engine.observe_failure(context, operation, &failure);
        failure_response(OperationClass::from_name(operation), failure)
    }

    /// The response of a read, which may have been cancelled because the time is used up.
    pub(super) fn explain(self, response: Response) -> Response {
        match response {
            Response::Failure(failure) if failure.reason() == Some(&FailureReason::Cancelled) && self.has_passed() => {
                Response::Failure(self.failure("this read was cancelled"))
            }
            other => other,
        }
    }

    fn failure(self, what: &str) -> Failure {
        let message = match self.timeout.as_secs() {
            1 => "The batch has used up its second".to_owned(),
            seconds => format!("The batch has used up its {seconds} seconds"),
        };
        let message = format!("{message}: {what}. Send it again in a smaller batch");
        Failure::new(Code::UpstreamTimeout, message)
    }
}
