//! Calls the source of an operation: its pages, what goes wrong with it, and shaping of its answer.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure, FailureReason};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use futures::FutureExt;

use super::cancellation::run_unless_cancelled;
use super::introspection;
use super::pipeline::Engine;
use crate::call::configuration::Validity;
use crate::event::Event;
use crate::shape::{ResultShape, Shaping, ShapingEnd, ShapingStart};
use crate::snapshot::{Route, Snapshot};
use crate::source::{Answer, Call, Context, Outcome, TargetCheck, TargetJudge};
use crate::trace::Stage;

/// The result of calling a source.
pub(super) enum SourceResult {
    /// The source answered.
    Answered(Outcome),
    /// The source did not answer. It may have carried out the call.
    Unknown(Failure),
}

impl Engine {
    /// Calls the source, page after page if the query needs it, and shapes what it answers.
    pub(super) async fn ask_source(
        &self,
        snapshot: &Snapshot,
        route: Option<&Route>,
        request: Checked,
        more_warnings: Vec<Warning>,
        context: &Arc<Context>,
    ) -> SourceResult {
        let (operation, mut params, mut warnings) = request.into_parts();
        warnings.extend(more_warnings);
        let Some(route) = route else {
            return match introspection::answer(snapshot, &self.shaper, &params, context).boxed().await {
                Ok(data) => SourceResult::Answered(Outcome::Done(Answer::new(data))),
                Err(failure) => SourceResult::Answered(Outcome::Failed(failure)),
            };
        };
        let max_tokens = match self.shaper.take_budget(&operation, &mut params) {
            Ok(max_tokens) => max_tokens,
            Err(failure) => return SourceResult::Answered(Outcome::Failed(failure)),
        };
        let collection = operation.capabilities.shaping.as_ref().and_then(|_| route.source.collection(&route.name));
        let mut shaping = match self.shaper.begin(&operation, &mut params, context, collection, max_tokens).await {
            None => None,
            Some(ShapingStart::CallSource(shaping)) => Some(shaping),
            Some(ShapingStart::Answered(outcome)) => {
                return SourceResult::Answered(with_warnings(outcome, warnings));
            }
        };
        if let Err(failure) = count_first_read(snapshot, &operation, context).await {
            return SourceResult::Answered(Outcome::Failed(failure));
        }
        let (name, category, is_idempotent) =
            (operation.name.clone(), operation.category, operation.safety.is_idempotent);
        let (own_name, uri_prefix) = (route.name.clone(), route.uri_prefix.clone());
        let validity = validity(snapshot, category);
        let is_paged = operation.capabilities.shaping.as_ref().is_some_and(|shaping| shaping.is_paged);
        let repeated_params = is_paged.then(|| params.clone());
        let snapshot_now: Arc<dyn TargetJudge> = self.snapshot.load_full();
        let targets = TargetCheck::new(Some(snapshot_now), operation.clone(), context.clone());
        let on_observed = |shape: &ResultShape| {
            let before = route.source.generation();
            let has_new_controls = route.source.record_observation(&route.name, shape);
            // The next call can use them. A catalog that another task is building may not be in use yet.
            if route.source.generation() != before {
                self.refresh_or_log();
            }
            has_new_controls
        };
        loop {
            let page = shaping.as_ref().map(Shaping::page_request).unwrap_or_default();
            let call = Call {
                name: own_name.clone(),
                operation: operation.clone(),
                params: std::mem::take(&mut params),
                context: context.clone(),
                uri_prefix: uri_prefix.clone(),
                max_tokens,
                page,
                validity: validity.clone(),
                targets: targets.clone(),
            };
            let running = AssertUnwindSafe(async { route.source.call(call).await }).catch_unwind();
            let Some(outcome) = run_unless_cancelled(running, &context.cancelled).await else {
                return self.cancelled(&name, category, context);
            };
            context.trace.end(Stage::Source);
            self.refresh_if_changed();
            return match outcome {
                Ok(Outcome::Failed(failure)) if is_idempotent && failure.is_outcome_unknown() => {
                    SourceResult::Answered(Outcome::Failed(repeatable(failure)))
                }
                Ok(Outcome::Done(mut answer)) => {
                    if !warnings.is_empty() {
                        warnings.append(&mut answer.warnings);
                        answer.warnings = std::mem::take(&mut warnings);
                    }
                    answer.next_page = answer.next_page.filter(|_| is_paged);
                    SourceResult::Answered(match (shaping.take(), max_tokens) {
                        (Some(begun), _) => match self.shaper.finish(begun, answer, &on_observed).boxed().await {
                            ShapingEnd::Finished(outcome) => outcome,
                            ShapingEnd::NeedsNextPage(more) => {
                                if snapshot.gate().count_page(&operation, context).await.is_ok() {
                                    shaping = Some(more);
                                    params = repeated_params.clone().unwrap_or_default();
                                    continue;
                                }
                                self.shaper.finish_early(more).boxed().await
                            }
                        },
                        (None, Some(max_tokens)) => self.shaper.keep_budget(&operation, answer, max_tokens),
                        (None, None) => Outcome::Done(answer),
                    })
                }
                Ok(other) => SourceResult::Answered(other),
                Err(panic) => self.panicked(panic_message(&*panic), &name, category, is_idempotent, context),
            };
        }
    }

    fn cancelled(&self, operation: &str, category: Category, context: &Context) -> SourceResult {
        let (request_id, caller) = (&context.request_id, context.into());
        self.observer.observe(Event::Cancelled { request_id, operation, caller });
        SourceResult::Unknown(unknown_outcome_unless_read(category, cancelled_failure()))
    }

    fn panicked(
        &self,
        message: &str,
        operation: &str,
        category: Category,
        is_idempotent: bool,
        context: &Context,
    ) -> SourceResult {
        let (request_id, caller) = (&context.request_id, context.into());
        self.observer.observe(Event::Panicked { request_id, operation, message, caller });
        let failure = unknown_outcome_unless_read(category, Failure::internal(message));
        SourceResult::Unknown(if is_idempotent { repeatable(failure) } else { failure })
    }
}

/// Counts the request that reads before an operation writes. If a limit is reached, nothing is sent.
async fn count_first_read(snapshot: &Snapshot, operation: &Operation, context: &Context) -> Result<(), Failure> {
    let Some(own_name) = &operation.routing.reads_first else { return Ok(()) };
    match snapshot.operation_of(&operation.origin.source, own_name) {
        Some((reader, _)) => snapshot.gate().count_page(reader, context).await,
        None => Ok(()),
    }
}

fn with_warnings(outcome: Outcome, mut warnings: Vec<Warning>) -> Outcome {
    match outcome {
        Outcome::Done(answer) => {
            warnings.extend(answer.warnings);
            Outcome::Done(Answer { warnings, ..answer })
        }
        other => other,
    }
}

/// Whether a request of this category may still be carried out: a read always, a change under the same configuration.
pub(super) fn validity(snapshot: &Snapshot, category: Category) -> Validity {
    if category == Category::Read { Validity::default() } else { Validity::for_change(snapshot.configuration()) }
}

/// A call that did not finish may have been carried out, unless it only reads.
fn unknown_outcome_unless_read(category: Category, failure: Failure) -> Failure {
    if category == Category::Read { failure } else { failure.with_unknown_outcome() }
}

/// Tells the caller that the call can be repeated without further effect.
fn repeatable(failure: Failure) -> Failure {
    failure.detail("may_be_repeated", true)
}

/// Nobody waits for this response, but a batch needs an entry for it.
fn cancelled_failure() -> Failure {
    Failure::new(Code::InternalError, "The request was cancelled before it was finished")
        .with_reason(FailureReason::Cancelled)
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no panic message")
}
