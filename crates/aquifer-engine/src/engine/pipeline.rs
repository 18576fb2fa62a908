//! The request pipeline: parse, route, check, gate, source, shape, envelope.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use aquifer_protocol::batch::refused;
use aquifer_protocol::category::Category;
use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::introspect::OperationClass;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::{ParsedRequest, Request, RequestError, parse};
use aquifer_protocol::response::{Meta, Response, Success};
use aquifer_protocol::surface::{Receiver, Surface};
use aquifer_protocol::validate::Checked;
use aquifer_protocol::warning::Warning;
use arc_swap::ArcSwap;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::builder::Settings;
use super::cancellation::run_unless_cancelled;
use super::introspection;
use super::rehearsal::{SnapshotRehearsal, can_rehearse};
use crate::clients::ClientRegistry;
use crate::clock::{SharedClock, random_id};
use crate::configuration::{Validity, configuration_changed};
use crate::event::{Event, Observer};
use crate::gate::{Cleared, Decision, Grant};
use crate::shape::{Shaper, Shaping, ShapingEnd, ShapingStart};
use crate::snapshot::{Route, Snapshot};
use crate::source::{Answer, Call, Context, InputRequest, Outcome};
use crate::store::StateStore;
use crate::trace::{CallLog, Stage};

/// Longer than any session, so that a once-per-session warning is not repeated.
const WARNING_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// The reply to a request.
#[derive(Debug)]
pub enum Reply {
    /// A response.
    Response(Response),
    /// A question to a person. The client sends the same request again with the answer.
    NeedsInput(InputRequest),
}

/// Answers requests from its sources.
pub struct Engine {
    /// Notifies when the mounts change.
    pub(super) mount_changes: watch::Sender<u64>,
    /// Held while a catalog is built, so that an older catalog never replaces a newer one.
    pub(super) building: Mutex<()>,
    pub(super) surface: Arc<Surface>,
    pub(super) store: Arc<dyn StateStore>,
    pub(super) clock: SharedClock,
    pub(super) observer: Arc<dyn Observer>,
    pub(super) settings: Settings,
    pub(super) shaper: Shaper,
    pub(super) snapshot: ArcSwap<Snapshot>,
    pub(super) changes: watch::Sender<u64>,
    pub(super) requests: AtomicU64,
    /// The sum of the sources' generations when the catalog was built.
    pub(super) generation: AtomicU64,
    pub(super) call_log: CallLog,
    pub(super) clients: Arc<ClientRegistry>,
}

impl Engine {
    /// The current snapshot.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The clock.
    pub fn clock(&self) -> &SharedClock {
        &self.clock
    }

    /// The clients that are connected.
    pub fn clients(&self) -> &Arc<ClientRegistry> {
        &self.clients
    }

    /// Notifies when the catalog has changed in a way that callers can observe.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// A new request id, unique in this process.
    pub fn next_request_id(&self) -> Arc<str> {
        format!("req_{:x}", self.requests.fetch_add(1, Ordering::Relaxed)).into()
    }

    /// A new session id that cannot be guessed.
    pub fn next_session_id(&self) -> Arc<str> {
        random_id("session_")
            // Without randomness the id is unique in this process, which is sufficient.
            .unwrap_or_else(|_| format!("session_{:x}", self.requests.fetch_add(1, Ordering::Relaxed)))
            .into()
    }

    /// Answers a request that arrived at `receiver`.
    pub fn handle<'a>(
        &'a self,
        receiver: &'a Receiver,
        arguments: Map<String, Value>,
        context: impl Into<Arc<Context>>,
    ) -> impl Future<Output = Reply> + Send {
        let context = context.into();
        async move {
            match self.call_log.trace_for(&context.trace) {
                None => self.handle_request(receiver, arguments, context).await,
                // Rare futures are boxed, here and below, to keep the size of the common future small.
                Some(trace) => {
                    let context = Arc::new(Context { trace, ..Context::clone(&context) });
                    self.handle_recorded(receiver, arguments, context).boxed().await
                }
            }
        }
    }

    pub(super) async fn handle_request(
        &self,
        receiver: &Receiver,
        arguments: Map<String, Value>,
        context: Arc<Context>,
    ) -> Reply {
        let mut snapshot = self.snapshot.load_full();
        let named = arguments.iter().find(|(name, _)| *name == "operation").and_then(|(_, named)| named.as_str());
        let class = OperationClass::from_name(named.unwrap_or_default());
        // Introspection and requests for unknown operations use the newest catalog.
        let mut state = named.map(|name| OperationState::from_snapshot(&snapshot, name));
        if class.describes_catalog() || state == Some(OperationState::Unknown) {
            self.check_sources_for_changes(&snapshot).boxed().await;
            snapshot = self.snapshot.load_full();
            state = named.map(|name| OperationState::from_snapshot(&snapshot, name));
        }
        if let Some(name) = named.filter(|_| state.is_some_and(|state| state != OperationState::Served)) {
            self.confirm_catalogs(&snapshot, name).boxed().await;
            snapshot = self.snapshot.load_full();
        }
        match parse(arguments, self.settings.max_batch_size) {
            Ok(ParsedRequest::One(request)) => self.handle_one(&snapshot, receiver, request, context).await,
            Ok(ParsedRequest::Batch(batch)) => self.handle_batch(receiver, batch, context).boxed().await,
            Err(error) => {
                self.observe_failure(&context, "", error.failure());
                Reply::Response(match error {
                    RequestError::One(failure) => failure_response(class, failure),
                    RequestError::Batch(failure) => refused(failure),
                })
            }
        }
    }

    /// Gives sources with an offering from an earlier run a moment to update it, before an operation is refused because
    /// it is unknown or quarantined. For an unknown operation this applies to all sources, otherwise to its own.
    pub(super) async fn confirm_catalogs(&self, snapshot: &Snapshot, operation: &str) {
        match snapshot.route(operation) {
            Some(route) => {
                route.source.check_for_changes().await;
                route.source.confirm_catalog().await;
            }
            None => {
                let all = snapshot.mounts().iter().map(|mount| mount.source.confirm_catalog());
                futures::future::join_all(all).await;
            }
        }
        self.refresh_if_changed();
    }

    async fn handle_one(
        &self,
        snapshot: &Snapshot,
        receiver: &Receiver,
        request: Request,
        context: Arc<Context>,
    ) -> Reply {
        let started = Instant::now();
        let operation = request.operation.clone();
        let mut outcome = match self.route_and_check(snapshot, receiver, request) {
            Ok((request, route)) => {
                context.trace.end(Stage::Check);
                let decision = self.decide(snapshot, &request, &context).await;
                context.trace.end(Stage::Gate);
                self.perform_decided(snapshot, route, request, decision, &context).await
            }
            Err(failure) => Outcome::Failed(failure),
        };
        let took = self.observe_outcome(&outcome, &operation, &context, started);
        if has_warnings(&outcome) {
            self.drop_repeated_warnings(&mut outcome, &context).boxed().await;
        }
        self.reply(outcome, &operation, &context, took)
    }

    /// Reports an outcome to the observer. Returns how long the request took.
    pub(super) fn observe_outcome(
        &self,
        outcome: &Outcome,
        operation: &str,
        context: &Context,
        started: Instant,
    ) -> Duration {
        let took = started.elapsed();
        match outcome {
            Outcome::Done(_) => {
                let caller = context.into();
                self.observer.observe(Event::Answered { request_id: &context.request_id, operation, took, caller });
            }
            // A cancelled request is observed as such, not as a failure.
            Outcome::Failed(failure) if !context.cancelled.is_cancelled() => {
                self.observe_failure(context, operation, failure);
            }
            Outcome::Failed(_) | Outcome::NeedsInput(_) => {}
        }
        took
    }

    /// The reply to a request with this outcome.
    pub(super) fn reply(&self, outcome: Outcome, operation: &str, context: &Context, took: Duration) -> Reply {
        match outcome {
            Outcome::Done(answer) => Reply::Response(Response::Success(self.success(answer, operation, context, took))),
            Outcome::Failed(failure) => {
                Reply::Response(failure_response(OperationClass::from_name(operation), failure))
            }
            Outcome::NeedsInput(question) => Reply::NeedsInput(question),
        }
    }

    fn success(&self, answer: Answer, operation: &str, context: &Context, took: Duration) -> Success {
        if OperationClass::from_name(operation).has_bare_answers() {
            return Success::new(answer.data);
        }
        // The published schema of batch results does not allow it.
        let meta = (self.settings.meta && !context.interaction.is_batch())
            .then(|| Meta { request_id: context.request_id.to_string(), duration_ms: took.as_secs_f64() * 1000.0 });
        Success { data: answer.data, warnings: answer.warnings, attachments: answer.attachments, meta }
    }

    /// Drops warnings that this session has already received (R-RES-2).
    pub(super) async fn drop_repeated_warnings(&self, outcome: &mut Outcome, context: &Context) {
        let (Outcome::Done(answer), Some(session)) = (outcome, context.caller.session.as_deref()) else { return };
        let mut remaining = Vec::with_capacity(answer.warnings.len());
        for warning in std::mem::take(&mut answer.warnings) {
            if warning.once_per_session() {
                let key = format!("warned/{session}/{}", warning.identity());
                // If the store fails, repeating the warning does less harm.
                if let Ok(false) = self.store.compare_and_set(&key, None, Vec::new(), WARNING_TTL).await {
                    continue;
                }
            }
            remaining.push(warning);
        }
        answer.warnings = remaining;
    }

    /// Performs a request that was checked in this snapshot. `grant` confirms it as the operation of a batch with this
    /// index.
    pub(super) async fn perform_checked(
        &self,
        snapshot: &Snapshot,
        request: Checked,
        grant: Option<(&Grant, usize)>,
        context: &Arc<Context>,
    ) -> Outcome {
        let route = snapshot.route(&request.operation().name);
        let decision = match grant {
            Some((grant, index)) => snapshot.gate().decide_confirmed(&request, grant, index, context).await,
            None => self.decide(snapshot, &request, context).await,
        };
        context.trace.end(Stage::Gate);
        self.perform_decided(snapshot, route, request, decision, context).await
    }

    /// Lets the gate decide, with a rehearsal if its source can try the call.
    fn decide<'a>(
        &self,
        snapshot: &'a Snapshot,
        request: &'a Checked,
        context: &'a Context,
    ) -> BoxFuture<'a, Decision> {
        if !can_rehearse(request) {
            return snapshot.gate().decide(request, context);
        }
        async move {
            let rehearsal = SnapshotRehearsal { snapshot };
            snapshot.gate().decide_rehearsed(request, &rehearsal, context).await
        }
        .boxed()
    }

    async fn perform_decided(
        &self,
        snapshot: &Snapshot,
        route: Option<&Route>,
        request: Checked,
        decision: Decision,
        context: &Arc<Context>,
    ) -> Outcome {
        if context.trace.is_recording()
            && let Some((_, catalog)) = snapshot.operation(&request.operation().name)
        {
            context.trace.add_secrets(request.operation(), catalog.types(), request.params());
        }
        match decision {
            // Its parameters were not checked.
            Decision::Allow(_) | Decision::Ask(_) if route.is_some_and(|route| route.is_denied) => {
                Outcome::Failed(Failure::new(Code::PermissionDenied, "This operation cannot be called"))
            }
            Decision::Allow(pass) if self.is_outdated(snapshot, &request) => {
                let outcome = Outcome::Failed(configuration_changed());
                if let Some(receipt) = pass.receipt {
                    receipt.settle(&outcome).await;
                }
                outcome
            }
            Decision::Allow(pass) => self.run(snapshot, route, Cleared { request, pass }, context).await,
            Decision::Refuse(failure) => Outcome::Failed(failure),
            Decision::Ask(question) => Outcome::NeedsInput(question),
        }
    }

    /// Whether a change was decided under a configuration that is no longer in force. A person may have taken minutes
    /// to answer.
    fn is_outdated(&self, snapshot: &Snapshot, request: &Checked) -> bool {
        request.operation().category != Category::Read && snapshot.configuration().is_replaced()
    }

    /// Calls the source and reports the outcome to the gate. After cancellation or a panic the outcome is unknown: the
    /// receipt is dropped, which records that.
    async fn run(
        &self,
        snapshot: &Snapshot,
        route: Option<&Route>,
        cleared: Cleared,
        context: &Arc<Context>,
    ) -> Outcome {
        let Cleared { request, pass } = cleared;
        match self.ask_source(snapshot, route, request, pass.warnings, context).await {
            SourceResult::Answered(outcome) => {
                context.trace.end(Stage::Shape);
                if let Some(receipt) = pass.receipt {
                    receipt.settle(&outcome).await;
                }
                outcome
            }
            SourceResult::Unknown(failure) => Outcome::Failed(failure),
        }
    }

    async fn ask_source(
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
        let collection = operation.shaping.as_ref().and_then(|_| route.source.collection(&route.name));
        let mut shaping =
            match self.shaper.begin(&operation, &mut params, &context.caller, collection, max_tokens).await {
                None => None,
                Some(ShapingStart::CallSource(shaping)) => Some(shaping),
                Some(ShapingStart::Answered(outcome)) => {
                    return SourceResult::Answered(with_warnings(outcome, warnings));
                }
            };
        if let Err(failure) = count_first_read(snapshot, &operation, context).await {
            return SourceResult::Answered(Outcome::Failed(failure));
        }
        let (name, category, is_idempotent) = (operation.name.clone(), operation.category, operation.is_idempotent);
        let (own_name, uri_prefix) = (route.name.clone(), route.uri_prefix.clone());
        let validity = validity(snapshot, category);
        let is_paged = operation.shaping.as_ref().is_some_and(|shaping| shaping.is_paged);
        let repeated_params = is_paged.then(|| params.clone());
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
            };
            let running = AssertUnwindSafe(async { route.source.call(call).await }).catch_unwind();
            let Some(outcome) = run_unless_cancelled(running, &context.cancelled).await else {
                let (request_id, caller) = (&context.request_id, context.as_ref().into());
                self.observer.observe(Event::Cancelled { request_id, operation: &name, caller });
                return SourceResult::Unknown(unknown_outcome_unless_read(category, cancelled_failure()));
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
                        (Some(begun), _) => match self.shaper.finish(begun, answer).boxed().await {
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
                Err(panic) => {
                    let message = panic_message(&*panic);
                    let (request_id, caller) = (&context.request_id, context.as_ref().into());
                    self.observer.observe(Event::Panicked { request_id, operation: &name, message, caller });
                    let failure = unknown_outcome_unless_read(category, Failure::internal(message));
                    SourceResult::Unknown(if is_idempotent { repeatable(failure) } else { failure })
                }
            };
        }
    }

    pub(super) fn observe_failure(&self, context: &Context, operation: &str, failure: &Failure) {
        self.observer.observe(Event::Failed {
            request_id: &context.request_id,
            operation,
            code: failure.code(),
            cause: failure.cause(),
            caller: context.into(),
        });
    }
}

/// Whether the call succeeded with warnings.
pub(super) fn has_warnings(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Done(answer) if !answer.warnings.is_empty())
}

/// Counts the request that reads before an operation writes. If a limit is reached, nothing is sent.
async fn count_first_read(snapshot: &Snapshot, operation: &Operation, context: &Context) -> Result<(), Failure> {
    let Some(own_name) = &operation.reads_first else { return Ok(()) };
    match snapshot.operation_of(&operation.source, own_name) {
        Some((reader, _)) => snapshot.gate().count_page(reader, context).await,
        None => Ok(()),
    }
}

/// A failure, reduced to what answers of this class of operation can contain.
pub(super) fn failure_response(class: OperationClass, failure: Failure) -> Response {
    Response::Failure(if class.has_bare_answers() { failure.without_details() } else { failure })
}

/// The state of a requested operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationState {
    Served,
    Quarantined,
    Unknown,
}

impl OperationState {
    pub(super) fn from_snapshot(snapshot: &Snapshot, name: &str) -> Self {
        match snapshot.operation(name) {
            Some((operation, _)) if operation.quarantine.is_none() => Self::Served,
            Some(_) => Self::Quarantined,
            None => Self::Unknown,
        }
    }
}

/// The result of calling a source.
enum SourceResult {
    /// The source answered.
    Answered(Outcome),
    /// The source did not answer. It may have carried out the call.
    Unknown(Failure),
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
}

/// The message of a panic.
pub fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    panic
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no panic message")
}
